"""Extreme public parameters: a plan is refused before the charge, or it runs, and its result can be written."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import covariance, registry
from dpframe.testing import seeded
from dpframe_laplace import LaplaceEigenvalues
from tests.support.shipped import DRAWN_ELSEWHERE

DIM = 3
BASIS = np.eye(DIM)[:, :1]
LARGE = 1.7976931348623157e308
SMALL = 5e-324
SAMPLE = 150
"""Combinations that are tried of each mechanism, always the same."""

PARAMETERS: dict[str, dict[str, list[Any]]] = {
    "bingham": {"k": [1, 2, 3], "bits": [8, 16, 28]},
    "block-gaussian": {"basis": [BASIS], "radii": [(1.0, 1.0), (1e-140, 1e140), (1e140, 1e-140)]},
    "block-radii": {"basis": [BASIS], "quantile": [1e-6, 0.5, 1 - 1e-6], "high": [1e-139, 1.0, 1e140]},
    "gaussian": {"noise": ["goe", "triangular", "paper"]},
    "gaussian-folds": {"folds": [2, 100], "key": [0, 2**63 - 1]},
    "gaussian-sum": {},
    "laplace-eigenvalues": {"k": [1, 2, 3]},
    "laplace-scores": {"directions": [BASIS, np.eye(DIM)]},
    "laplace-sum": {},
    "matrix-laplace": {},
    "orbit": {
        "spectrum": [[1.0], [1.0, 1.0], [LARGE], [LARGE, 1e308], [SMALL], [1.0] * 3, [0.0], [1e308] * 3, [2.0, 1e-300]],
        "as_printed": [False, True],
        "real": [False, True],
        "bits": [8, 16, 28],
    },
    "private-quantile": {
        "quantile": [1e-6, 0.5, 1 - 1e-6],
        "high": [1.1e-140, 1.0, 1e140, 1e308],
        "low": [-1e308, 1e-140, 0.9999999999],
        "points": [2, 200],
        "column": [None, 0],
    },
    "spiked": {
        "rank": [1],
        "n": [1, 2, 10**6, 10**15, 10**400],
        "spike": [SMALL, 1e-59, 1.0, 1e59, LARGE],
        "noise": [SMALL, 1e-59, 1.0, 1e59, LARGE],
        "constant": [SMALL, 4.0, 1e308],
        "private": [(), ("noise", "rank", "spike")],
        "output": ["covariance", "components"],
    },
}
PROMISES: dict[str, list[Any]] = {
    "neighbors": ["add-remove", "replace"],
    "norm": [1e-140, 1e-50, 1.0, 1e50, 1e140],
    "contributions": [1, 1 << 20],
    "center": [False, True],
}
LEVELS = [SMALL, 1e-300, 1e-20, 2.0**-41, 2.0**-40, 2.0**-22, 2.0**-21, 2.0**-18, 2.0**-3, 1.0, 10.0, 30.0, 1e3]
BUDGETS = [dp.Budget(epsilon=999_999.0, delta=1e-6), dp.Budget(epsilon=1.0, delta=1e-6)]
"""With the first, no level is too high; but what floats move a law by is too much then, for some mechanisms."""


def combinations(choices: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def test_every_mechanism_of_the_project_is_tried() -> None:
    known = {cls.name for cls in registry.classes("mechanism") if issubclass(cls, dp.Mechanism)}
    assert known == set(PARAMETERS) | DRAWN_ELSEWHERE


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about grids that are refused
@pytest.mark.parametrize("name", PARAMETERS)
def test_refused_before_the_charge_or_run(name: str) -> None:
    """Parameters, promise and level are drawn independently of each other."""
    draw = random.Random(name)
    parameters, promises = combinations(PARAMETERS[name]), combinations(PROMISES)
    if name == "spiked":
        promises = [each for each in promises if (each["neighbors"], each["contributions"]) == ("replace", 1)]
    accept = [dp.model("spiked-covariance")] if name == "spiked" else []
    ran = 0
    for _ in range(SAMPLE * (20 if name == "spiked" else 1)):  # it refuses most
        chosen, promise, level = draw.choice(parameters), draw.choice(promises), draw.choice(LEVELS)
        budget = draw.choice(BUDGETS)
        if name not in ("gaussian", "matrix-laplace"):
            promise = promise | {"center": False}
        try:
            step = dp.release("value", name, level=level, **chosen)
            plan = dp.Plan(rows=dp.Rows(**promise, dim=DIM), budget=budget, steps=[step], accept=accept)
            for data in (np.zeros((0, DIM)), np.full((4, DIM), 0.5) * promise["norm"]):
                plan.run(data, insecure_seed=1).to_json()
                ran += 1
        except dp.PlanError:
            continue
        except Exception as error:
            raise AssertionError(f"{chosen}, {promise}, level={level}") from error
    assert ran > SAMPLE / 20


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("contributions", [1, 3, 1 << 20])
@pytest.mark.parametrize("k", [1, 4000, 4096, 5000, 1 << 20])
def test_the_range_of_laplace_noise_is_known_before_the_charge(neighbors: str, contributions: int, k: int) -> None:
    """Whatever the plan lets through, the sampler can draw, and nothing else is refused."""
    rows = dp.Rows(norm=1.0, neighbors=neighbors, contributions=contributions, dim=max(k, 2))
    mechanism = LaplaceEigenvalues(k=k)
    for factor in (1.0, 1.5, 2.0, 4.0, 300.0):
        level = mechanism.smallest_level * contributions * factor
        scale = mechanism._lattice_scale(rows, level)
        if scale <= dp.Random.largest_laplace:
            mechanism.check_level(rows, level)
            seeded(1).laplace(scale, 1)
        else:
            with pytest.raises(dp.PlanError, match=f"k={k} needs a level of at least"):
                mechanism.check_level(rows, level)
            with pytest.raises(ValueError, match="scale must be"):
                seeded(1).laplace(scale, 1)


def test_many_eigenvalues_at_a_small_level_are_refused_when_the_dimension_is_known() -> None:
    step = dp.release("spectrum", "laplace-eigenvalues", k=5000, level=2.0**-18)
    plan = dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=dp.Budget(epsilon=1.0), steps=[step])
    with pytest.raises(
        dp.PlanError, match=r"step 'spectrum': 'laplace-eigenvalues' with k=5000 needs a level of at le"
    ):
        plan.bind(5000)


@pytest.mark.parametrize("width", [2e-140, 2e140])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a_column_with_the_widest_or_narrowest_range_has_a_variance_in_its_units(width: float, neighbors: str) -> None:
    table = {"wide": np.linspace(0.0, width, 5000), "usual": np.linspace(0.0, 1.0, 5000)}
    columns = {"wide": (0.0, width), "usual": (0.0, 1.0)}
    result = covariance(table, columns=columns, epsilon=5.0, delta=1e-6, neighbors=neighbors, insecure_seed=1)
    units = np.array([width, 1.0])
    assert np.full((2, 2), 1 / 12) == pytest.approx(result["covariance_in_units"] / units / units[:, None], rel=0.05)
