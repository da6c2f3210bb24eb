"""Pairs of matrices at the boundary of a promise, and audits that find what is claimed too small."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.auditing.matrix_pairs import of_matrices
from dpframe.auditing.neighbor_pairs import built_in, checked
from dpframe.sources.matrices import open_matrix
from dpframe_gaussian import SymmetricGaussian

PROMISES = [{"frobenius": 1.5}, {"trace_norm": 0.3}, {"frobenius": 1.0, "trace_norm": 1.2}]


def promise(dim: int = 4, **bounds: float) -> dp.Matrix:
    return dp.Matrix(
        neighbors="replace", frobenius=bounds.get("frobenius"), trace_norm=bounds.get("trace_norm"), dim=dim
    )


@pytest.mark.parametrize("bounds", PROMISES, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_pairs_are_neighbors_that_reach_the_bound(bounds: dict[str, float], dim: int) -> None:
    given = promise(dim, **bounds)
    pairs = built_in(given)
    assert [pair.name for pair in pairs] == [pair.name for pair in of_matrices(given)]
    farthest = dict.fromkeys(bounds, 0.0)
    for pair in pairs:
        assert pair is checked(pair, given, 1)
        moments = [
            open_matrix(data, given).moment(given).astype(float) * given.step**2 for data in (pair.one, pair.other)
        ]
        sizes = np.abs(np.linalg.eigvalsh(moments[0] - moments[1]))
        for name in bounds:
            size = math.sqrt((sizes**2).sum()) if name == "frobenius" else sizes.sum()
            farthest[name] = max(farthest[name], float(size))
    for name, bound in bounds.items():
        if dim > 1 or bound == min(bounds.values()):
            assert farthest[name] > 0.99 * bound


@pytest.mark.parametrize(
    ("one", "other"), [(np.eye(3), np.zeros((3, 3))), (np.diag([1.1, 0.0, 0.0]), np.zeros((3, 3)))]
)
def test_matrices_that_are_too_far_apart_are_refused(one: Any, other: Any) -> None:
    with pytest.raises(dp.PlanError, match="these are not neighbors under a promise of frobenius=1"):
        checked((one, other), promise(3, frobenius=1.0), 1)


@attrs.frozen(kw_only=True)
class HalfTheNoise(SymmetricGaussian):
    """Planted: it forgets that off-diagonal entries count twice, and takes half of the bound."""

    name = "half-the-noise"

    def _lattice_scales(self, rows: dp.Rows, level: float) -> tuple[float, float]:
        diagonal, off_diagonal = super()._lattice_scales(rows, level)
        return diagonal / 2, off_diagonal / 2


def test_half_the_noise_is_found() -> None:
    """The kit audits the shipped mechanisms on these pairs, and finds no more than they state."""
    given = promise(2, frobenius=1.0)
    assert dp.audit(HalfTheNoise(), rows=given, epsilon=3.0, trials=3000, insecure_seed=3).violated


def test_a_bound_in_frobenius_norm_is_reached_by_the_largest_trace_norm() -> None:
    """So an audit can tell a mechanism that takes one for the other."""
    pairs = of_matrices(promise(9, frobenius=1.0))
    assert max(
        np.linalg.norm(np.nan_to_num(pair.one) - np.nan_to_num(pair.other), "nuc") for pair in pairs
    ) == pytest.approx(3.0)
