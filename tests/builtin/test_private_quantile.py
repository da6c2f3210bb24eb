"""Private quantiles: the law, the guarantee on neighbors, and a released radius."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpframe.plugin as dp
from dpframe.builtin.private_quantile import PrivateQuantile
from dpframe.noise import Keystream, Random

FALSE_ALARM = 1e-6
RELATIONS = ("add-remove", "replace")
MECHANISM = PrivateQuantile(quantile=0.75, low=1.0, high=4.0, points=5)


def promise(relation: str, contributions: int = 1) -> dp.Rows:
    return dp.Rows(norm=1.0, neighbors=relation, contributions=contributions, dim=1)


def counts(lengths: list[float]) -> Any:
    values = np.asarray(lengths, dtype=np.float64).reshape(-1, 1)
    return MECHANISM.reads()[0].partial(dp.Chunk(promise("replace"), values))["counts"]


def log_law(lengths: list[float], rows: dp.Rows, level: float) -> Any:
    exponents = -level / MECHANISM.cost_range(rows) * np.asarray(MECHANISM.costs(counts(lengths)), dtype=np.float64)
    return exponents - math.log(np.exp(exponents - exponents.max()).sum()) - exponents.max()


LENGTHS = st.lists(st.sampled_from([0.5, 1.2, 1.7, 2.2, 3.0, 9.0]), min_size=0, max_size=7)


@settings(max_examples=300, deadline=None)
@given(lengths=LENGTHS, person=LENGTHS, other=LENGTHS, m=st.sampled_from([1, 3]), relation=st.sampled_from(RELATIONS))
def test_the_log_likelihood_ratio_of_neighbors_has_the_stated_range(
    lengths: list[float], person: list[float], other: list[float], m: int, relation: str
) -> None:
    level, rows = 0.8, promise(relation, m)
    mine, theirs = person[:m], ([] if relation == "add-remove" else other[: len(person[:m])])
    one, two = log_law(lengths + mine, rows, level), log_law(lengths + theirs, rows, level)
    assert np.ptp(one - two) <= level + 1e-12
    assert np.abs(one - two).max() <= level + 1e-12


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_stated_range_is_reached(relation: str) -> None:
    rows, points = promise(relation), [0.5, 1.2, 1.7, 2.2, 3.0, 9.0]
    reached = 0.0
    for base in itertools.combinations_with_replacement(points, 5):
        for mine, theirs in itertools.product(points, points if relation == "replace" else [None]):
            changed = [*base] if theirs is None else [*base, theirs]
            shift = log_law([*base, mine], rows, 1.0) - log_law(changed, rows, 1.0)
            reached = max(reached, float(np.ptp(shift)))
    assert 1.0 == pytest.approx(reached, rel=1e-9)


def test_the_drawn_law_is_the_closed_form_and_no_other() -> None:
    lengths = [1.1] * 4 + [1.9] * 6 + [2.4] * 5 + [3.9] * 3
    rows, level = promise("add-remove"), 0.7
    data = dp.PrivateData(rows, statistics={MECHANISM.reads()[0]: {"counts": counts(lengths)}})
    random = Random(Keystream.insecure(5))
    drawn = [float(MECHANISM.release(data, level, random).array) for _ in range(30_000)]
    seen = [drawn.count(point) for point in MECHANISM.grid]
    assert sum(seen) == len(drawn)

    def pvalue(scale: float) -> float:
        expected = np.exp(log_law(lengths, rows, scale * level)) * len(drawn)
        assert expected.min() > 5
        return float(stats.chisquare(seen, expected).pvalue)

    assert pvalue(1.0) > FALSE_ALARM
    assert pvalue(0.9) < FALSE_ALARM
    assert pvalue(1.1) < FALSE_ALARM


def test_the_grid_is_public_and_spaced_as_documented() -> None:
    lengths = PrivateQuantile(quantile=0.5, high=100.0, points=4).grid
    assert [0.1, 1.0, 10.0, 100.0] == pytest.approx(list(lengths))
    column = PrivateQuantile(quantile=0.5, column="age", low=17, high=90, points=74).grid
    assert [float(age) for age in range(17, 91)] == pytest.approx(list(column))


def test_a_released_radius_bounds_the_rows_of_later_steps() -> None:
    values = np.random.default_rng(0).standard_normal((20_000, 8))
    plan = dp.Plan(
        rows=dp.Rows(norm=dp.ref("radius"), neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("radius", "private-quantile", quantile=0.95, high=50.0, level=0.1),
            dp.release("moment", "gaussian"),
        ],
    )
    assert {"radius": 1, "moment": 2} == plan.passes
    assert "the length that 'radius' releases" in str(plan.explain(dim=8))
    result = plan.run(values, insecure_seed=1)
    radius = float(result["radius"])
    assert np.quantile(np.linalg.norm(values, axis=1), 0.95) == pytest.approx(radius, rel=0.06)
    direct = dp.Plan(
        rows=dp.Rows(norm=radius, neighbors="add-remove"),
        budget=plan.budget,
        steps=[dp.release("moment", "gaussian", level=plan.pricing.levels["moment"])],
    )
    assert np.array_equal(direct.run(values, insecure_seed=1)["moment"], result["moment"])
    assert direct.explain(dim=8).statement.line("moment").noise == result.statement.line("moment").noise
    alone = result.statement.line("radius").epsilon_alone
    assert alone is not None
    assert alone <= 0.1
    assert plan.spent == result.spent


@pytest.mark.parametrize("relation", RELATIONS)
def test_stated_epsilon_is_the_accountants(relation: str) -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors=relation),
        budget=dp.Budget(epsilon=0.7),
        steps=[dp.release("radius", "private-quantile", quantile=0.9, high=2.0)],
    )
    assert dp.accountant("pure").epsilon([dp.losses.BoundedRange(epsilon=plan.pricing.levels["radius"])], 0.0) == 0.7
    assert 0.7 == plan.spent.epsilon


def test_column_quantiles_are_in_the_columns_units() -> None:
    rng = np.random.default_rng(3)
    table = {"sex": rng.choice(["F", "M"], 5000), "age": rng.uniform(20, 80, 5000)}
    rows = dp.Rows(columns=[dp.Category("sex", ["F", "M"]), dp.Column("age", 17, 90)], neighbors="replace")
    step = dp.release("median", "private-quantile", quantile=0.5, column="age", low=17, high=90, points=74)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=2.0), steps=[step])
    assert abs(float(plan.run(table, insecure_seed=2)["median"]) - 50) <= 3
    array = dp.Plan(
        rows=dp.Rows(norm=100.0, neighbors="replace"),
        budget=dp.Budget(epsilon=2.0),
        steps=[dp.release("median", "private-quantile", quantile=0.5, column=0, low=17, high=90, points=74)],
    )
    assert abs(float(array.run(table["age"][:, None], insecure_seed=2)["median"]) - 50) <= 3


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"quantile": 0.0, "high": 1.0}, "quantile must be a finite number above 0 and below 1"),
        ({"quantile": 1e-9, "high": 1.0}, "quantile must be more than 5e-07 away from 0 and 1"),
        ({"quantile": 0.5, "high": -1.0}, "needs 1e-140 <= low < high"),
        ({"quantile": 0.5, "high": 1.0, "low": 2.0}, "needs 1e-140 <= low < high"),
        ({"quantile": 0.5, "high": 1e200}, "needs 1e-140 <= low < high"),
        ({"quantile": 0.5, "high": 1.0, "points": 1}, "points must be an integer from 2 to 100000"),
        ({"quantile": 0.5, "high": 1.0, "points": 10**9}, "points must be an integer from 2 to 100000"),
        ({"quantile": 0.5, "high": 1.0, "column": "age"}, "of a column needs low= and high="),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(dp.PlanError, match=match):
        dp.release("radius", "private-quantile", **parameters)


def test_bad_columns_and_norms_are_refused_when_the_plan_is_built() -> None:
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    quantile: dict[str, Any] = {"quantile": 0.5, "low": 0.0, "high": 1.0}
    for rows, column in (
        (dp.Rows(norm=1.0, neighbors="replace", dim=2), 2),
        (dp.Rows(norm=1.0, neighbors="replace", dim=2), "age"),
        (dp.Rows(columns=[dp.Category("sex", ["F", "M"])], neighbors="replace"), "sex"),
    ):
        with pytest.raises(dp.PlanError, match=r"step 'q': column=.* must be"):
            dp.Plan(rows=rows, budget=budget, steps=[dp.release("q", "private-quantile", column=column, **quantile)])
    released = dp.Rows(norm=dp.ref("radius"), neighbors="replace")
    radius = dp.release("radius", "private-quantile", quantile=0.9, high=1.0)
    with pytest.raises(dp.PlanError, match="step 'm' sees rows whose norm is 'radius', but no earlier step"):
        dp.Plan(rows=released, budget=budget, steps=[dp.release("m", "gaussian"), radius])
    matrix_as_norm = dp.Rows(norm=dp.ref("spectrum"), neighbors="replace")
    derived = dp.derive("spectrum", "eigenvalues", of=dp.SymmetricMatrix(np.eye(2)))
    with pytest.raises(dp.PlanError, match="the norm of rows must be a number, but 'spectrum' gives a spectrum"):
        dp.Plan(rows=matrix_as_norm, budget=budget, steps=[derived, dp.release("m", "gaussian")])


def test_the_density_is_that_of_the_choice() -> None:
    """Differences of log-densities are those of the exponents, whatever the normalization."""
    rows = dp.Rows(norm=1.0, neighbors="replace", dim=1)
    mechanism = PrivateQuantile(quantile=0.25, high=8.0, low=1.0, points=4)
    (histogram,) = mechanism.reads()
    counts = np.array([3, 0, 2, 1, 4])
    data = dp.PrivateData(rows, statistics={histogram: {"counts": counts}})
    logs = [mechanism.log_density(dp.Scalar(point), data, 0.8) for point in mechanism.grid]
    costs = [abs(0.75 * below - 0.25 * (10 - below)) for below in (3, 3, 5, 6)]
    assert [-0.8 * cost / 2 for cost in costs] == pytest.approx(logs)


@pytest.mark.parametrize("quantile", [6e-7, 1e-6, 0.1234567891, 1 - 6e-7])
def test_quantiles_need_not_be_multiples_of_a_millionth(quantile: float) -> None:
    found = PrivateQuantile(quantile=quantile, high=1.0)._fraction
    assert 0 < found < 1
    assert abs(float(found) - quantile) <= 5e-7


@pytest.mark.parametrize("quantile", [4.9e-7, 1 - 4.9e-7])
def test_quantiles_that_would_be_rounded_to_an_end_are_refused(quantile: float) -> None:
    with pytest.raises(dp.PlanError, match="more than 5e-07 away from 0 and 1, since it is rounded"):
        PrivateQuantile(quantile=quantile, high=1.0)
