"""dp.Matrix: what it takes and refuses, its lattice, and the plans that it allows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe as dp
from dpframe import sensitivity
from dpframe.interfaces import Mechanism, Statistic
from dpframe.kinds import Scalar
from dpframe.losses import Pure
from dpframe.plan.file import loads
from dpframe.plan.json_schema import schema
from dpframe.statistics import RowSum
from dpframe.testing import seeded
from dpframe.testing.instruments import known

RELATIONS = ("add-remove", "replace")
TAKING: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "matrix-laplace": {},
    "laplace-eigenvalues": {"k": 2},
    "orbit": {"spectrum": [1.0, 0.5]},
    "bingham": {"k": 2},
    "laplace-scores": {"directions": np.eye(4)[:, :2].tolist()},
    "orbit-low-rank": {"k": 2},
    "bingham-low-rank": {"k": 2},
    "deflation": {"k": 2},
}
REFUSED: dict[str, dict[str, Any]] = {
    "private-quantile": {"quantile": 0.5, "high": 1.0},
    "adaptive": {},
    "gaussian-folds": {"folds": 3},
    "gaussian-sum": {},
    "laplace-sum": {},
    "opendp-gaussian": {"neighbors": "replace"},
    "opendp-laplace": {"neighbors": "replace"},
    "spiked": {"rank": 2, "n": 100, "spike": 10.0},
    "spiked-block": {"rank": 2},
    "block-gaussian": {"basis": np.eye(4)[:, :2].tolist(), "radii": [1.0, 1.0]},
    "block-radii": {"basis": np.eye(4)[:, :2].tolist(), "quantile": 0.9},
}


def plan(name: str = "gaussian", relation: str = "replace", **promise: Any) -> dp.Plan:
    bounds = {key: value for key, value in promise.items() if key in ("frobenius", "trace_norm", "dim")}
    parameters = {key: value for key, value in promise.items() if key not in bounds}
    rows = dp.Matrix(neighbors=relation, **(bounds or {"trace_norm": 2.0}))
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    return dp.Plan(rows=rows, budget=budget, steps=[dp.release("release", name, **parameters)])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"neighbors": "replace"}, "needs how far one person moves"),
        ({"frobenius": 1.0}, "Matrix.neighbors must be"),
        ({"frobenius": 0.0, "neighbors": "replace"}, "frobenius must be a finite number"),
        ({"trace_norm": -1.0, "neighbors": "replace"}, "trace_norm must be a finite number"),
        ({"frobenius": math.nan, "neighbors": "replace"}, "frobenius must be a finite number"),
        ({"frobenius": math.inf, "neighbors": "replace"}, "frobenius must be a finite number"),
        ({"frobenius": dp.ref("radius"), "neighbors": "replace"}, "frobenius must be a finite number"),
        ({"frobenius": 1.0, "neighbors": "replace", "dim": 0}, "dim must be"),
        ({"frobenius": 1.0, "neighbors": "replace", "columns": []}, "dp.Matrix has no columns="),
        ({"frobenius": 1.0, "neighbors": "replace", "person": "id"}, "dp.Matrix has no person="),
        ({"frobenius": 1.0, "neighbors": "replace", "contributions": 2}, "dp.Matrix has no contributions="),
        ({"frobenius": 1.0, "neighbors": "replace", "center": True}, "dp.Matrix has no center="),
        ({"frobenius": 1.0, "neighbors": "replace", "norm": 1.0}, "dp.Matrix has no norm="),
    ],
)
def test_what_a_promise_refuses(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.PlanError, match=words):
        dp.Matrix(**wrong)


def test_a_promise_is_a_value() -> None:
    promise = dp.Matrix(frobenius=1, neighbors="replace")
    assert promise == dp.Matrix(frobenius=1.0, neighbors="replace") != dp.Matrix(trace_norm=1.0, neighbors="replace")
    assert repr(promise.bind(3)) == "Matrix(neighbors='replace', frobenius=1.0, dim=3)"
    assert attrs.evolve(promise, dim=3) == promise.bind(3)
    with pytest.raises(dp.PlanError, match="dim=3"):
        promise.bind(3).bind(4)


@pytest.mark.parametrize("bound", [1e-140, 0.3, 1.0, 1.999, 2.0, 3.0, 7e9, 1e140])
def test_a_bound_has_from_31_to_33_bits_on_the_lattice_and_the_unit_is_a_power_of_two(bound: float) -> None:
    promise = dp.Matrix(trace_norm=bound, neighbors="replace", dim=1)
    assert 2**31 <= Fraction(bound) * Fraction(4) ** promise.halvings < 2**33
    assert math.frexp(promise.step)[0] == 0.5
    assert 2.0**29 <= promise.largest / bound <= 2.0**31


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", TAKING)
def test_stated_epsilon_is_the_accountants(name: str, relation: str) -> None:
    made = plan(name, relation, **TAKING[name])
    losses, composer = made.pricing.all_losses, dp.accountant("auto")
    assert made.spent.epsilon == composer.epsilon(losses, 1e-6) <= 1.0
    assert made.spent.epsilon > 0.999
    result = made.run(np.diag([9.0, 4.0, -1.0, -5.0]), insecure_seed=1)
    assert result.spent == made.spent
    assert "matrix that keeps the promise" in result.statement.strength
    assert f"({relation})" in result.statement.protected


def test_every_mechanism_is_decided_upon() -> None:
    from dpframe import registry

    shipped = {cls.name for cls in registry.classes("mechanism") if not cls.__module__.startswith("tests")}
    assert shipped <= {*TAKING, *REFUSED}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_rows_is_refused(name: str) -> None:
    with pytest.raises(dp.PlanError):
        plan(name, **REFUSED[name])


def test_the_refusal_says_what_takes_a_matrix() -> None:
    with pytest.raises(dp.PlanError, match=r"needs the rows of people.*bingham, gaussian, .*matrix-laplace, orbit"):
        plan("gaussian-sum")
    with pytest.raises(dp.PlanError, match="leave rows= out"):
        plan("gaussian", rows={"norm": 1.0})
    with pytest.raises(dp.PlanError, match="augmented moment"):
        dp.Plan(
            rows=dp.Matrix(frobenius=1.0, neighbors="replace"),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("moment", "gaussian"), dp.derive("mean", "mean", of="moment")],
        )


@attrs.frozen(kw_only=True)
class Greedy(Mechanism):
    """It says that it takes a matrix, and reads rows."""

    name = "greedy"
    unit = "epsilon"
    matrix_norm = "trace_norm"
    gives = Scalar

    def reads(self) -> tuple[Statistic, ...]:
        return (RowSum(),)

    def loss(self, rows: dp.Rows, level: float) -> Pure:
        return Pure(epsilon=level)

    def release(self, data: Any, level: float, random: Any) -> Scalar:
        return Scalar(float(data.parts(RowSum())["sum"].sum()))


def test_a_mechanism_that_reads_rows_is_refused_whatever_it_says() -> None:
    """Otherwise it would fail after the charge."""
    with known(Greedy, "mechanism"), pytest.raises(dp.PlanError, match="reads more than the second moment"):
        plan("greedy")


@pytest.mark.parametrize("name", [name for name in TAKING if name != "gaussian"])
def test_a_bound_in_frobenius_norm_serves_the_gaussian_alone(name: str) -> None:
    with pytest.raises(dp.PlanError, match="promises no bound in trace norm"):
        plan(name, frobenius=1.0, **TAKING[name])


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_covers_the_promise_and_the_rounding(relation: str) -> None:
    """The scale times the level is the bound and the rounding, by an argument of its own, and hardly more."""
    dim = 6
    for bounds, moved in (
        ({"frobenius": 1.5}, 1.5),
        ({"trace_norm": 2.5}, 2.5),
        ({"frobenius": 1.5, "trace_norm": 9.0}, 1.5),
        ({"frobenius": 9.0, "trace_norm": 2.5}, 2.5),
    ):
        made = plan("gaussian", relation, **bounds).bind(dim)
        assert isinstance(made.rows, dp.Matrix)
        (step, mechanism), unit = made.releases[0], made.rows.step**2
        level = made.pricing.levels[step.name]
        needed = moved + 2 * dim * unit
        assert needed <= mechanism.noise(made.rows, level)["diagonal"] * level <= needed + 2 * unit
    made = plan("matrix-laplace", relation, trace_norm=2.5).bind(dim)
    (step, mechanism), level = made.releases[0], made.pricing.levels["release"]
    needed = 2.5 + 2 * dim**1.5 * made.rows.step**2
    scale = mechanism.noise(made.rows, level)["diagonal"] / math.sqrt(4 * (dim + 1))
    assert needed <= scale * 2 * level * (1 + 1e-15)
    assert scale * 2 * level <= needed * (1 + 1e-8)


def test_other_statistics_have_no_sensitivity() -> None:
    promise = dp.Matrix(trace_norm=1.0, neighbors="replace", dim=3)
    for undefined in (
        lambda: sensitivity.histogram(promise),
        lambda: sensitivity.augmented_sum(promise, 1),
        lambda: sensitivity.fold_moments(promise),
        lambda: sensitivity.blocks(promise, 2),
        lambda: sensitivity.blocks_together(promise),
    ):
        with pytest.raises(dp.PlanError, match="nothing about rows"):
            undefined()


@pytest.mark.parametrize(
    "promise", [{"frobenius": 1.0}, {"trace_norm": 2.0}, {"frobenius": 1.0, "trace_norm": 3.0, "dim": 4}]
)
def test_plan_files(promise: dict[str, Any]) -> None:
    made = plan("gaussian", **promise)
    text = made.dumps()
    assert "[matrix]" in text
    assert "[rows]" not in text
    again = loads(text)
    assert again == made
    assert again.content_hash == made.content_hash
    assert made.content_hash != plan("gaussian", "add-remove", **promise).content_hash
    with pytest.raises(dp.PlanError, match=r"line 6.*about rows or about a matrix"):
        loads(text + '\n[rows]\nneighbors = "replace"\nnorm = 1.0\n')
    with pytest.raises(dp.PlanError, match="'norm'; allowed: neighbors, dim, complex, frobenius, trace_norm"):
        loads(text.replace("[matrix]\n", "[matrix]\nnorm = 1.0\n"))


def test_the_schema_of_plan_files_knows_matrices() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    import tomllib

    content = tomllib.loads(plan("gaussian", frobenius=1.0).dumps())
    validator = jsonschema.Draft202012Validator(schema())
    assert not list(validator.iter_errors(content))
    for wrong in (
        {**content, "rows": {"neighbors": "replace", "norm": 1.0}},
        {**content, "matrix": {"neighbors": "replace"}},
    ):
        assert list(validator.iter_errors(wrong))
    assert list(validator.iter_errors({key: value for key, value in content.items() if key != "matrix"}))


@pytest.mark.parametrize("name", ["orbit", "bingham"])
def test_a_matrix_of_negative_eigenvalues_is_drawn_as_one_of_positive_ones(name: str) -> None:
    """Its law does not change if a multiple of the identity is added. Means of 400 draws, within 6 deviations."""
    parameters: dict[str, Any] = {"spectrum": [1.0]} if name == "orbit" else {}
    made = plan(name, **parameters)
    matrix = np.array([[9.0, 3.0, 0.0], [3.0, -6.0, 0.5], [0.0, 0.5, -21.0]])
    means, errors = [], []
    for shift in (-64.0, 64.0):
        drawn = [made.run(matrix + shift * np.eye(3), insecure_seed=seed)["release"] for seed in range(400)]
        if name == "bingham":
            drawn = [direction @ direction.T for direction in drawn]
        means.append(np.mean(drawn, axis=0))
        errors.append(np.std(drawn, axis=0) / math.sqrt(len(drawn)))
    assert (np.abs(means[0] - means[1]) <= 6 * np.hypot(*errors) + 1e-9).all()
    assert np.linalg.eigvalsh(means[0])[-1] > 0.6  # it is not uniform: the leading direction is found


def test_forecasts_and_error_bars() -> None:
    steps = [dp.release("matrix", "gaussian"), dp.derive("components", "top-subspace", of="matrix", k=2)]
    made = dp.Plan(
        rows=dp.Matrix(frobenius=1.0, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps
    )
    spectrum = [400.0, 300.0, 10.0, 5.0, -20.0]
    explained = made.explain(dim=5, spectrum=[400.0, 300.0, 10.0, 5.0, 0.0])
    assert explained.tightest("components") is not None
    truth = np.diag(spectrum)
    random = np.random.default_rng(5)
    held = 0
    for _ in range(200):
        result = made.run(truth, insecure_seed=int(random.integers(2**31)))
        bars = result.interval("matrix")
        held += int(((bars.low <= truth) & (truth <= bars.high))[np.triu_indices(5)].sum())
    assert 2700 < held < 2960  # of 3000 at 95 %: 12 deviations below, and 9 above


def test_error_bars_of_pure_noise() -> None:
    made = plan("matrix-laplace", trace_norm=1.0)
    truth, held = np.diag([50.0, 20.0, -5.0, -30.0]), 0
    for seed in range(200):
        bars = made.run(truth, insecure_seed=seed).interval("release")
        held += int(((bars.low <= truth) & (truth <= bars.high))[np.triu_indices(4)].sum())
    assert 1780 < held < 1980  # of 2000 at 95 %: 12 deviations below, and 8 above


def test_a_comparison_takes_what_takes_a_matrix() -> None:
    found = dp.compare(
        "subspace",
        k=1,
        rows=dp.Matrix(trace_norm=1.0, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        scenario=dp.Scenario(dim=3, spectrum=[90.0, 20.0, 10.0]),
        draws=100,
    )
    assert {"gaussian", "matrix-laplace", "bingham"} <= {each.name for each in found.candidates}
    with pytest.raises(dp.PlanError, match=r"leave model= out"):
        plan("gaussian").explain(
            scenario=dp.Scenario(dim=3, n=100, spectrum=[3.0, 2.0, 1.0], model="gaussian"), simulations=200
        )


def test_a_seeded_draw_is_the_sum_of_the_matrix_and_the_noise_of_rows() -> None:
    """The same integers of noise, for the same scale, as where the moment is computed here."""
    made = plan("gaussian", frobenius=1.0).bind(2)
    (_, mechanism), level = made.releases[0], made.pricing.levels["release"]
    assert isinstance(made.rows, dp.Matrix)
    from dpframe.reading.given_matrix import GivenMatrix
    from dpframe.reading.private_data import PrivateData
    from dpframe.statistics import Moment

    values = [np.array([[3.0, 1.0], [1.0, -2.0]]), np.zeros((2, 2))]
    drawn = [
        mechanism.release(
            PrivateData(made.rows, statistics={Moment(): {"moment": GivenMatrix(each).moment(made.rows)}}),
            level,
            seeded(3),
        ).array
        for each in values
    ]
    assert np.abs(drawn[0] - drawn[1] - values[0]).max() < 1e-12
