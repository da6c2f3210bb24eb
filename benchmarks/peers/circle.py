"""Squares of the first coordinate of Bingham vectors on the circle, density exp(2x²); runs in the peer environment.

Arguments: library, number of draws, the .npy file to write.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

MATRIX = np.diag([1.0, 0.0])
EPSILON = 8.0  # both libraries multiply the matrix by a quarter of it


def sampler(library: str) -> Callable[[], Any]:
    if library == "diffprivlib":
        from diffprivlib.mechanisms import Bingham  # type: ignore[import-not-found]

        mechanism = Bingham(epsilon=EPSILON, sensitivity=1.0)
        return lambda: mechanism.randomize(MATRIX)
    import opendp.prelude as dp
    from opendp.extras.numpy import _sscp_domain
    from opendp.extras.sklearn._make_eigenvector import (
        make_private_eigenvector,
    )

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    domain = _sscp_domain(num_features=2, norm=1.0, p=2, size=1, T="f64")
    measurement = make_private_eigenvector(domain, dp.symmetric_distance(), EPSILON)
    return lambda: measurement(MATRIX)


if __name__ == "__main__":
    draw = sampler(sys.argv[1])
    np.save(sys.argv[3], [draw()[0] ** 2 for _ in range(int(sys.argv[2]))])
