"""Parameters for every mechanism that is shipped."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpframe as dp

BASIS = np.eye(3)[:, :1]
PARAMETERS: dict[str, dict[str, Any]] = {
    "adaptive": {},
    "bingham": {},
    "bingham-low-rank": {"k": 2},
    "block-gaussian": {"basis": BASIS, "radii": (1.0, 0.5)},
    "block-radii": {"basis": BASIS, "quantile": 0.9, "high": 10.0},
    "deflation": {"k": 2},
    "gaussian": {},
    "gaussian-folds": {"folds": 3},
    "gaussian-sum": {},
    "laplace-eigenvalues": {"k": 2},
    "laplace-scores": {"directions": BASIS},
    "laplace-sum": {},
    "matrix-laplace": {},
    "orbit": {"spectrum": [1.0, 0.5]},
    "orbit-low-rank": {"k": 2},
    "private-quantile": {"quantile": 0.9, "high": 10.0},
    "spiked": {"rank": 1, "n": 50, "spike": 4.0, "noise": 1.0},
    "spiked-block": {"rank": 1, "shares": (0.25, 0.25, 0.5), "radii": (1.0, 0.5)},
}
DRAWN_ELSEWHERE = {"opendp-gaussian", "opendp-laplace"}  # no seed: tested in their plugin
NEED_COLUMNS = {"adaptive"}
MODEL_BASED = {"spiked"}  # and for replaced rows only


def promise(mechanism: str, relation: str, **others: Any) -> dp.Rows:
    """Rows of three coordinates that suit a mechanism."""
    if mechanism in NEED_COLUMNS:
        return dp.Rows(columns=[dp.Column(name, -1, 1) for name in "abc"], neighbors=relation, **others)
    return dp.Rows(norm=1.0, neighbors=relation, **others)
