"""What the oracle says of private eigenvalues, against draws. [Unitary orbits: Theorem 7.1]"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import dpframe as dp
from dpframe.testing import conformance
from dpframe_laplace import LaplaceErrors, oracle

DRAWS = 100_000
FALSE_ALARM = 1e-8  # of each count; means allow for six standard errors
SPECTRUM = np.linspace(400.0, 20.0, 50)

test_conformance = conformance(
    LaplaceErrors(),
    plan=dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=6),
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("values", "laplace-eigenvalues", k=3)],
    ),
)


def test_the_largest_error_is_covered_as_often_as_said_and_as_printed_hardly_ever() -> None:
    rng = np.random.default_rng(7)
    for k in (1, 5, 50):
        plan = dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="add-remove"),
            budget=dp.Budget(epsilon=1.0),
            steps=[dp.release("values", "laplace-eigenvalues", k=k)],
        )
        mean, sure = LaplaceErrors().bounds(plan, "values", dp.Scenario(dim=50, spectrum=SPECTRUM))
        assert mean.value is not None
        assert sure.value is not None
        draws = SPECTRUM[:k] + rng.laplace(0.0, 1.0, (DRAWS, k))
        errors = np.maximum(np.sort(draws, axis=1)[:, ::-1], 0.0) - SPECTRUM[:k]
        largest = np.abs(errors).max(axis=1)
        exceeded = int(np.count_nonzero(largest > sure.value))
        assert binom.sf(exceeded - 1, DRAWS, oracle.BETA) > FALSE_ALARM
        apart = np.abs(draws - SPECTRUM[:k]).max(axis=1)  # before sorting the quantile is exact
        exact = int(np.count_nonzero(apart > oracle.largest_quantile(k, oracle.BETA)))
        assert FALSE_ALARM < binom.cdf(exact, DRAWS, oracle.BETA) < 1 - FALSE_ALARM
        squares = np.square(errors).sum(axis=1)
        assert mean.value**2 >= squares.mean() - 6 * squares.std() / math.sqrt(DRAWS)
        printed = int(np.count_nonzero(apart <= math.log(1 / oracle.BETA)))
        coverage = oracle.printed_coverage(k, oracle.BETA)
        assert FALSE_ALARM < binom.cdf(printed, DRAWS, coverage) < 1 - FALSE_ALARM
    assert coverage < 0.08


def test_the_exact_quantile_is_a_little_below_the_union_bound() -> None:
    for k in (1, 2, 50, 1000):
        assert math.log(k / 0.05) - 0.03 <= oracle.largest_quantile(k, 0.05) <= math.log(k / 0.05)


def test_nothing_is_said_of_other_steps() -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian")],
    )
    assert [] == LaplaceErrors().bounds(plan, "moment", dp.Scenario(dim=3))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_replaced_rows_have_twice_the_error(neighbors: str) -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=2.0, neighbors=neighbors),
        budget=dp.Budget(epsilon=1.0),
        steps=[dp.release("values", "laplace-eigenvalues", k=2)],
    )
    value = LaplaceErrors().bounds(plan, "values", dp.Scenario(dim=3))[1].value
    scale = 4.0 * (2 if neighbors == "replace" else 1)
    assert value == pytest.approx(scale * oracle.largest_quantile(2, 0.05), rel=5e-3)
