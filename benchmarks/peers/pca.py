"""Principal components of a library; runs in the peer environment.

Arguments: library, epsilon, k, norm of the rows, the .npy file of the rows, the .npy file to write.
"""

import sys
import warnings
from typing import Any

import numpy as np


def model(library: str, epsilon: float, k: int, norm: float, rows: Any) -> Any:
    if library == "diffprivlib":
        from diffprivlib.models import PCA  # type: ignore[import-not-found]

        return PCA(n_components=k, epsilon=epsilon, data_norm=norm, centered=True)
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious", "floating-point")
    count, dim = rows.shape
    return dp.sklearn.decomposition.PCA(epsilon=epsilon, row_norm=norm, n_samples=count, n_features=dim, n_components=k)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library, epsilon, k, norm, source, target = sys.argv[1:]
    rows = np.load(source)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True) / float(norm), 1.0)
    np.save(target, model(library, float(epsilon), int(k), float(norm), rows).fit(rows).components_[: int(k)].T)
