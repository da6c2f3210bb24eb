"""Varimax: a known rotation is undone, the subspace stays, and the conventions hold."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.testing import conformance
from dpframe_varimax import Varimax

test_conformance = conformance(Varimax(of=np.linalg.qr(np.vander([1.0, 2.0, 3.0, 4.0, 5.0], 3))[0]))


def orthonormal(dim: int, k: int, seed: int) -> NDArray[Any]:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, k)))[0]


def criterion(basis: NDArray[Any]) -> float:
    return float((basis**2).var(axis=0).sum())


def simple() -> NDArray[Any]:
    """Three components on disjoint columns: no basis of their span is simpler."""
    basis = np.zeros((9, 3))
    for column, rows in enumerate(([0, 1, 2], [3, 4], [5, 6, 7, 8])):
        basis[rows, column] = np.arange(len(rows), 0, -1)
    basis /= np.linalg.norm(basis, axis=0)
    return basis


@pytest.mark.parametrize("seed", range(10))
def test_a_known_rotation_is_undone(seed: int) -> None:
    turned = Varimax(of=simple() @ orthonormal(3, 3, seed)).apply().array
    assert simple() == pytest.approx(turned, abs=1e-7)


@pytest.mark.parametrize(("dim", "k"), [(1, 1), (4, 1), (2, 2), (6, 3), (40, 10)])
def test_the_subspace_stays_and_the_criterion_does_not_fall(dim: int, k: int) -> None:
    basis = orthonormal(dim, k, seed=dim)
    turned = Varimax(of=basis).apply().array
    assert np.eye(k) == pytest.approx(turned.T @ turned, abs=1e-12)
    assert basis @ basis.T == pytest.approx(turned @ turned.T, abs=1e-12)
    assert criterion(turned) >= criterion(basis) - 1e-15


def test_no_plane_can_be_turned_to_something_better() -> None:
    turned = Varimax(of=orthonormal(12, 4, seed=3)).apply().array
    best = criterion(turned)
    for i, j in itertools.combinations(range(4), 2):
        for angle in np.linspace(0.0, math.pi, 181):
            other = turned.copy()
            other[:, i] = math.cos(angle) * turned[:, i] + math.sin(angle) * turned[:, j]
            other[:, j] = math.cos(angle) * turned[:, j] - math.sin(angle) * turned[:, i]
            assert criterion(other) <= best + 1e-12


def test_order_and_signs_are_fixed() -> None:
    turned = Varimax(of=-simple()[:, [2, 0, 1]]).apply().array
    assert simple() == pytest.approx(turned, abs=1e-12)
    places = np.abs(turned).argmax(axis=0)
    assert [0, 3, 5] == places.tolist()
    assert (turned[places, range(3)] > 0).all()


def test_names_stay_and_a_plan_uses_it_for_free() -> None:
    columns = [dp.Column(name, -1, 1) for name in "abcd"]
    rows = dp.Rows(columns=columns, neighbors="add-remove")
    steps = [
        dp.release("moment", "gaussian"),
        dp.derive("components", "top-subspace", of="moment", k=2),
    ]
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    without = dp.Plan(rows=rows, budget=budget, steps=steps)
    plan = dp.Plan(rows=rows, budget=budget, steps=[*steps, dp.derive("simple", "varimax", of="components")])
    result = plan.run(np.random.default_rng(0).uniform(-1, 1, (2000, 4)), insecure_seed=1)
    assert without.spent == plan.spent == result.spent
    assert ("a", "b", "c", "d") == result.record("simple").columns
    expected, found = (result[name] @ result[name].T for name in ("components", "simple"))
    assert expected == pytest.approx(found, abs=1e-12)


def test_complex_subspaces_are_refused() -> None:
    with pytest.raises(dp.PlanError, match="a subspace must have real entries"):
        Varimax(of=np.array([[1j], [0.0]]))
    steps = [
        dp.release("moment", "gaussian"),
        dp.derive("components", "top-subspace", of=dp.HermitianMatrix([[2.0, 1j], [-1j, 3.0]]), k=1),
        dp.derive("simple", "varimax", of="components"),
    ]
    with pytest.raises(dp.PlanError, match=r"needs a subspace in of=, but 'components' gives a complex subspace"):
        dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)


def test_it_takes_nothing_but_a_subspace() -> None:
    steps = [dp.release("moment", "gaussian"), dp.derive("simple", "varimax", of="moment")]
    with pytest.raises(dp.PlanError, match=r"needs a subspace in of=, but 'moment' gives a symmetric matrix"):
        dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
