"""The smallest gap of Wishart matrices, against draws by Bartlett's decomposition.

[Re-Analyze Gauss: Figure 1, Figure 2, Appendix A]. Means allow for DEVIATIONS standard errors: a false alarm below 1e-8
each.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpframe_gaussian import wishart_gaps

DEVIATIONS = 6.0


def drawn(rows: int, dim: int, draws: int, seed: int = 0) -> tuple[float, float]:
    """The mean of the smallest gap, and its doubt."""
    rng = np.random.default_rng([seed, rows, dim])
    lower = np.tril(rng.standard_normal((draws, dim, dim)), -1)
    lower[:, range(dim), range(dim)] = np.sqrt(rng.chisquare(rows - np.arange(dim), (draws, dim)))
    gaps = np.diff(np.linalg.eigvalsh(lower @ lower.transpose(0, 2, 1)), axis=1).min(axis=1)
    return float(gaps.mean()), DEVIATIONS * float(gaps.std()) / math.sqrt(draws)


@pytest.mark.parametrize("rows", [2, 5, 50, 5000])
def test_two_columns_exactly(rows: int) -> None:
    mean, doubt = drawn(rows, 2, 40_000)
    exact = wishart_gaps.two_columns(rows)
    assert abs(mean - exact) <= doubt
    assert abs(mean - 1.1 * exact) > doubt  # ten percent are seen


def test_for_many_rows_gaps_are_those_of_a_symmetric_gaussian_matrix() -> None:
    """(W − mI)/√m tends to a matrix with variance 1 off the diagonal and 2 on it."""
    rng = np.random.default_rng(4)
    draw = rng.standard_normal((4000, 5, 5)) * math.sqrt(2)
    gaps = np.diff(np.linalg.eigvalsh((draw + draw.transpose(0, 2, 1)) / 2), axis=1).min(axis=1)
    mean, doubt = drawn(10**7, 5, 4000)
    assert mean / math.sqrt(10**7) == pytest.approx(
        gaps.mean(), abs=doubt / math.sqrt(10**7) + DEVIATIONS * gaps.std() / math.sqrt(4000)
    )


@pytest.mark.parametrize(("rows", "dim", "draws"), [(20, 10, 3000), (200, 10, 3000), (10**6, 10, 3000), (150, 40, 400)])
def test_what_is_suggested_is_within_three_percent(rows: int, dim: int, draws: int) -> None:
    mean, doubt = drawn(rows, dim, draws)
    assert wishart_gaps.predicted(rows, dim) == pytest.approx(mean, abs=doubt + 0.03 * mean)


def test_the_exponent_of_the_printed_axis_is_not_a_half() -> None:
    """Between m = 20 and 200 at d = 10 the suggested mean grows with the power 0.64, and with 0.50 beyond 10,000."""

    def exponent(low: int, high: int) -> float:
        growth = wishart_gaps.predicted(high, 10) / wishart_gaps.predicted(low, 10)
        return math.log(growth) / math.log(high / low)

    assert [0.64, 0.5] == [round(exponent(20, 200), 2), round(exponent(10_000, 10**6), 2)]
    (low, _), (high, _) = drawn(20, 10, 3000), drawn(200, 10, 3000)
    assert math.log10(high / low) == pytest.approx(exponent(20, 200), abs=0.03)
    assert wishart_gaps.predicted(10**8, 100) == pytest.approx(wishart_gaps.bulk(10**8, 100), rel=1e-3)
