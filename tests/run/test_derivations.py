"""Derivations are tried on made-up values before the charge: what can only fail is refused, what may succeed is not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.run.derivations import LARGEST, rehearse
from tests.support.mechanisms import registered
from tests.support.refusals import Watch

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
MOMENT = dp.release("moment", "gaussian")
COLUMNS = [dp.Column("age", 17, 90), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"])]


@attrs.frozen(kw_only=True)
class Strict(dp.PostProcessor):
    """Fails in the way that it is told to."""

    name = "test-strict"
    gives = dp.SymmetricMatrix

    of: Any = dp.input(dp.SymmetricMatrix)
    way: str = "fine"

    def apply(self) -> dp.Kind:
        matrix = self.of.array
        if self.way == "shape":
            return dp.SymmetricMatrix(matrix @ np.ones(3))
        if self.way == "kind":
            return dp.Vector(np.diag(matrix))
        if self.way == "misspelled":
            return dp.SymmetricMatrix(self.of.arrray)
        if self.way == "exit":
            raise SystemExit(2)
        if self.way == "cholesky":
            np.linalg.cholesky(matrix)
        values = np.linalg.eigvalsh(matrix)
        share, rows = values[-1] / values.sum(), np.trace(matrix)
        wanted = {"strong": share > 0.8, "weak": share < 0.3, "negative": values[0] < 0.0, "many": rows > 1000}
        if not wanted.get(self.way, True):
            raise ValueError(f"not {self.way}")
        if self.way == "warns":
            warnings.warn("old", DeprecationWarning, stacklevel=2)
        return self.of  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    with registered(Strict):
        yield


def plan(way: str, *more: dp.Step, dim: int = 5, norm: float = 1.0) -> dp.Plan:
    rows = dp.Rows(norm=norm, neighbors="add-remove", dim=dim)
    strict = dp.derive("strict", "test-strict", of="moment", way=way)
    return dp.Plan(rows=rows, budget=BUDGET, steps=[MOMENT, strict, *more])


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("shape", "ValueError: matmul"),
        ("kind", "it gave a Vector instead of a symmetric matrix"),
        ("misspelled", "AttributeError: 'SymmetricMatrix' object has no attribute 'arrray'"),
        ("exit", "SystemExit: 2"),
    ],
)
def test_what_can_only_fail_costs_nothing(watch: Watch, way: str, words: str) -> None:
    with pytest.raises(dp.PlanError, match="step 'strict' fails on made-up values") as caught:
        plan(way).run(np.zeros((10, 5)))
    assert words in str(caught.value)
    assert "Nothing was charged, read or drawn." in str(caught.value)
    assert (0, 0, 0) == (watch.charges, watch.reads, watch.draws)


@pytest.mark.parametrize("way", ["fine", "cholesky", "strong", "weak", "negative", "many", "warns"])
@pytest.mark.parametrize("norm", [1e-3, 1.0, 1e6])
def test_what_may_succeed_is_not_refused(way: str, norm: float) -> None:
    """A derivation may want data of some shape; it is refused only if none is right."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rehearse(plan(way, norm=norm if way != "many" else max(norm, 1.0)))


def test_a_step_that_needs_the_one_that_fails_is_not_blamed() -> None:
    after = dp.derive("after", "psd", of="strict")
    with pytest.raises(dp.PlanError, match="step 'strict' fails"):
        plan("misspelled", after).run(np.zeros((10, 5)))


def test_wide_rows_are_not_tried() -> None:
    with pytest.raises(dp.DerivationFailed):
        plan("misspelled", dim=LARGEST + 1).run(np.zeros((1, LARGEST + 1)))


@attrs.frozen(kw_only=True)
class Untold(dp.Mechanism):
    """A release whose shape is not told, and a failing derivation of it is found in the run."""

    name = "test-untold"
    unit = "mu"
    gives = dp.SymmetricMatrix

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.SymmetricMatrix(np.eye(2))


def test_a_shape_that_is_not_told_is_not_guessed() -> None:
    with registered(Untold):
        steps = [dp.release("m", "test-untold"), dp.derive("bad", "test-strict", of="m", way="shape")]
        rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=5)
        with pytest.raises(dp.DerivationFailed):
            dp.Plan(rows=rows, budget=BUDGET, steps=steps).run(np.zeros((1, 5)))


CHOICE = {"center": "center", "radius": "count", "columns": (1, 1, 2)}
RELEASED = {"sum": "sum", "moment": "moment", "about": "center"}
RADII = {"radius": "count", "pilot": "moment", "pilot_radius": "count"}
SUBJECTS: dict[str, dict[str, Any]] = {
    "adaptive-count": RELEASED,
    "adaptive-covariance": RELEASED,
    "adaptive-mean": RELEASED,
    "affordable-radius": {**RADII, "scale": "divisors", "targets": (1,)},
    "ball-or-box-center": CHOICE,
    "ball-or-box-norm": CHOICE,
    "column-scales": {"of": "moment"},
    "correlation": {"of": "covariance"},
    "count": {"of": "moment"},
    "covariance": {"of": "moment"},
    "denoise": {"of": "covariance"},
    "eigen-ratio-rank": {"of": "spectrum"},
    "eigenvalue-shrinkage": {"of": "spectrum", "n": 100, "dim": 4, "noise": 1.0},
    "eigenvalues": {"of": "covariance"},
    "explained-variance": {"of": "covariance", "components": "components"},
    "kept-share": {"of": "sum", "beyond_per_noise": 5.0},
    "mean": {"of": "moment"},
    "preconditioner": RELEASED,
    "psd": {"of": "covariance"},
    "range-radii": {"of": "components", "columns": (1, 1, 2)},
    "rank-k": {"of": "covariance", "k": 2},
    "real-part": {"of": "covariance"},
    "discriminant": {"of": "moment", "target": "sex"},
    "regression": {"of": "moment", "target": "hours"},
    "regression-scales": {"of": "moment", "targets": (0,)},
    "scales": {"of": "covariance"},
    "spiked-covariance": {"of": "covariance", "rank": 1, "n": 100},
    "to-units": {"of": "components"},
    "top-subspace": {"of": "covariance", "k": 2},
    "with-spectrum": {"of": "covariance", "spectrum": "spectrum"},
}


def test_every_derivation_of_the_project_passes() -> None:
    names = {cls.name for cls in registry.classes("postprocessor") if cls is not Strict}
    assert names == {*SUBJECTS, "block-estimate"}  # of a kind that cannot be made up
    before = [
        MOMENT,
        dp.release("sum", "gaussian-sum"),
        dp.derive("center", "mean", of="sum"),
        dp.derive("count", "count", of="sum"),
        dp.derive("covariance", "covariance", of="moment"),
        dp.derive("divisors", "column-scales", of="moment"),
        dp.derive("components", "top-subspace", of="covariance", k=2),
        dp.derive("spectrum", "eigenvalues", of="covariance"),
    ]
    for center, columns in ((True, COLUMNS),):
        rows = dp.Rows(columns=columns, neighbors="replace", center=center)
        for name, parameters in SUBJECTS.items():
            if name == "range-radii":
                continue  # refuses centered rows
            steps = [*before, dp.derive("result", name, **parameters)]
            table = {"age": np.zeros(0), "hours": np.zeros(0), "sex": np.zeros(0, dtype=str)}
            assert "result" in dp.Plan(rows=rows, budget=BUDGET, steps=steps).run(table)
    rows = dp.Rows(columns=COLUMNS, neighbors="replace")
    steps = [MOMENT, dp.derive("components", "top-subspace", of="moment", k=2)]
    radii = dp.derive("result", "range-radii", **SUBJECTS["range-radii"])
    assert "result" in dp.Plan(rows=rows, budget=BUDGET, steps=[*steps, radii]).run(table)


def test_rows_scaled_to_a_released_norm() -> None:
    rows = dp.Rows(norm=dp.ref("radius"), neighbors="add-remove", dim=5)
    steps = [dp.release("radius", "private-quantile", quantile=0.9, high=10.0), MOMENT]
    bad = dp.derive("bad", "test-strict", of="moment", way="shape")
    with pytest.raises(dp.PlanError, match="step 'bad' fails on made-up values"):
        dp.Plan(rows=rows, budget=BUDGET, steps=[*steps, bad]).run(np.zeros((1, 5)))
