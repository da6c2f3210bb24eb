"""The exponential mechanism's draw against its closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.noise import Keystream, exponential_choice
from dpframe.noise.choice import _certain

FALSE_ALARM = 1e-6
COSTS = [7, 3, 0, 0, 5, 11, 400, 2]
RATE = Fraction(2, 7)


def law(costs: list[int], rate: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.exp(-rate * (np.asarray(costs) - min(costs)))
    return np.asarray(weights / weights.sum())


def pvalue(counts: list[int], expected: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Chi-square over the cells that are expected at least five times, the rest in one."""
    total = sum(counts)
    often = expected * total >= 5
    seen = [*np.asarray(counts)[often], np.asarray(counts)[~often].sum() + 1e-12]
    wanted = [*(expected[often] * total), max(float(expected[~often].sum()) * total, 1e-12)]
    return float(stats.chisquare(seen, wanted).pvalue)


def test_the_law_is_the_closed_form_and_no_other() -> None:
    stream = Keystream.insecure(1)
    drawn = [exponential_choice(stream, COSTS, RATE) for _ in range(40_000)]
    counts = [drawn.count(index) for index in range(len(COSTS))]
    assert pvalue(counts, law(COSTS, 2 / 7)) > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert pvalue(counts, law(COSTS, wrong * 2 / 7)) < FALSE_ALARM


def test_costs_of_any_size_and_shift() -> None:
    huge = [10**30 + cost for cost in COSTS]
    assert [exponential_choice(Keystream.insecure(seed), COSTS, RATE) for seed in range(50)] == [
        exponential_choice(Keystream.insecure(seed), huge, RATE) for seed in range(50)
    ]
    assert exponential_choice(Keystream.insecure(0), [10**40, 0, 10**40], Fraction(1)) == 1
    assert exponential_choice(Keystream.insecure(0), [5], Fraction(1)) == 0


def test_a_cell_that_straddles_a_boundary_is_extended_not_redrawn() -> None:
    # Two equal weights: the boundary is U = 1/2 exactly, so only cells on one side are certain.
    below, above = 2**63 - 1, 2**63
    assert _certain([0, 0], Fraction(1), below, 64) == 0
    assert _certain([0, 0], Fraction(1), above, 64) == 1
    # Weights 1 and e^-1: the cell that holds 1/(1 + 1/e) is undecided until it is split.
    cell = int(2**64 / (1 + np.exp(-1.0)))
    undecided = [k for k in range(cell - 4000, cell + 4001) if _certain([0, 1], Fraction(1), k, 64) is None]
    assert len(undecided) == 1
    (k,) = undecided
    low, high = _certain([0, 1], Fraction(1), k << 64, 128), _certain([0, 1], Fraction(1), (k << 64) + 2**64 - 1, 128)
    assert (low, high) == (0, 1)


def test_one_word_of_the_stream_is_taken() -> None:
    stream = Keystream.insecure(3)
    exponential_choice(stream, COSTS, RATE)
    assert 1 == stream.tell()


@pytest.mark.parametrize(("costs", "rate"), [([], Fraction(1)), ([1, 2], Fraction(0)), ([1], Fraction(-1))])
def test_nonsense_is_refused(costs: list[int], rate: Fraction) -> None:
    with pytest.raises(ValueError, match="exponential_choice: needs costs and a positive rate"):
        exponential_choice(Keystream.insecure(0), costs, rate)
