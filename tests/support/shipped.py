"""Parameters for every mechanism that is shipped."""

from __future__ import annotations

from typing import Any

import numpy as np

BASIS = np.eye(3)[:, :1]
PARAMETERS: dict[str, dict[str, Any]] = {
    "bingham": {},
    "block-gaussian": {"basis": BASIS, "radii": (1.0, 0.5)},
    "block-radii": {"basis": BASIS, "quantile": 0.9, "high": 10.0},
    "gaussian": {},
    "gaussian-sum": {},
    "laplace-eigenvalues": {"k": 2},
    "matrix-laplace": {},
    "orbit": {"spectrum": [1.0, 0.5]},
    "private-quantile": {"quantile": 0.9, "high": 10.0},
    "spiked": {"rank": 1, "n": 50, "spike": 4.0, "noise": 1.0},
    "spiked-block": {"rank": 1, "shares": (0.25, 0.25, 0.5), "radii": (1.0, 0.5)},
}
MODEL_BASED = {"spiked"}  # and for replaced rows only
