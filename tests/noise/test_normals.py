"""Normals as real numbers: every approximation is within its bound of one z, which is normal and never drawn again."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

from dpframe.noise import Keystream, Normals, Random, rounded_gaussian
from dpframe.noise.normals import CELL_BITS, FIRST_ORDER, SECOND_ORDER

FALSE_ALARM = 1e-6
FARTHEST = 2 ** (CELL_BITS + 7)
PRECISIONS = [-300, -30, -25, -3, 0, 1, 20, 37, 38, 39, 50, 59, 60, 61, 75, 95, 96, 97, 103, 104, 105, 130, 200]
ENDS = [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, 12345678901234567890]
FAR_AND_NEAR = [0, 1, 2, 5, 2**38, 3 * 2**39 + 7, FARTHEST - 1, FARTHEST, 2**46 + 3, 2**50]


def tail(x: Any) -> Any:
    """P(z > x) as a ball; the module inverts it."""
    return (x / arb(2).sqrt()).erfc() / 2


def holds(normals: Normals, index: int, bits: int, value: int) -> bool:
    """Whether z is within 1 of `value`, in units of 2^−bits: the share w of the cell is between those of both ends."""
    cell, place, length = int(normals.cells[index]), int(normals.places[index]), 64
    more = normals.stream.extension(normals.position + index)
    while length < bits + 128:
        place, length = place << 64 | next(more), length + 64
    sign = -1 if cell < 0 else 1  # the tail beyond is computed accurately on the positive side only
    with ctx.workprec(2 * length + 400):
        near, far = (arb((2 * sign * cell + side, -CELL_BITS - 1)) for side in (-1, 1))

        def share(x: Any) -> Any:
            return (tail(near) - tail(x)) / (tail(near) - tail(far))

        w = arb(2 * place + 1, 1) * arb((1, -length - 1))
        outward = 1 - w if cell < 0 else w
        low, high = (arb((sign * value + side, -bits)) for side in (-1, 1))
        return bool(share(low) <= outward) and bool(outward <= share(high))


def made(cells: list[int], places: list[int]) -> Normals:
    both = list(itertools.product(cells, places))
    first, second = (list(each) for each in zip(*both, strict=True))
    return Normals(Keystream.insecure(4), 10**6, np.array(first, np.int64), np.array(second, np.uint64))


@pytest.mark.parametrize("bits", PRECISIONS)
def test_every_approximation_is_within_its_bound(bits: int) -> None:
    drawn = Normals.drawn(Keystream.insecure(1), 60)
    extreme = made([sign * cell for cell in FAR_AND_NEAR for sign in (-1, 1)], ENDS)
    for normals in (drawn, extreme):
        values = normals.scaled(bits)
        assert all(holds(normals, i, bits, int(value)) for i, value in enumerate(values.tolist()))
        if bits > 45:  # it would be noticed: the bound has no room for two more
            assert not any(holds(normals, i, bits, int(value) + 2) for i, value in enumerate(values.tolist()[:9]))


def test_all_approximations_are_of_one_number() -> None:
    for normals in (Normals.drawn(Keystream.insecure(2), 500), made([-FARTHEST + 1, -1, 0, FARTHEST - 1], ENDS)):
        exact = [Fraction(int(value), 2**300) for value in normals.scaled(300).tolist()]
        for bits in PRECISIONS:
            values = [int(value) for value in normals.scaled(bits).tolist()]
            errors = [abs(value - z * Fraction(2) ** bits) for value, z in zip(values, exact, strict=True)]
            assert max(errors) <= 1


def test_some_of_them_at_a_time() -> None:
    normals = Normals.drawn(Keystream.insecure(3), 200)
    which = np.array([7, 199, 7, 0])
    for bits in (5, 50, 60, 90, 120):
        assert normals.scaled(bits)[which].tolist() == normals.scaled(bits, which).tolist()
    assert [] == normals.scaled(120, np.array([], np.intp)).tolist()


def test_integers_are_as_wide_as_they_need() -> None:
    normals = Normals.drawn(Keystream.insecure(3), 1000)
    assert np.int64 == normals.scaled(58).dtype
    for bits in (FIRST_ORDER + 1, SECOND_ORDER, SECOND_ORDER + 1):
        assert object == normals.scaled(bits).dtype
        assert all(type(value) is int for value in normals.scaled(bits, np.arange(9)).tolist())
    far = made([-FARTHEST + 1, FARTHEST - 1], [0]).scaled(FIRST_ORDER)
    assert object == far.dtype
    assert (np.abs(far) > 2**66).all()


def test_words_have_fixed_places() -> None:
    random, stream = Random(Keystream.insecure(7)), Keystream.insecure(7)
    random.words(3)
    normals = random.normals(1000)
    assert 2003 == random.tell()
    stream.seek(3)
    assert rounded_gaussian(stream, 2.0**CELL_BITS, 1000).tolist() == normals.cells.tolist()
    assert stream.words(1000).tolist() == normals.places.tolist()
    before = normals.scaled(130).tolist()
    random.words(11)
    assert before == normals.scaled(130).tolist()  # whatever else was read
    random.seek(3)
    assert before == random.normals(1000).scaled(130).tolist()
    with pytest.raises(ValueError, match="size must be a non-negative integer"):
        random.normals(-1)


def test_the_law_is_normal_also_within_cells() -> None:
    normals = Random(Keystream.insecure(5)).normals(300_000)
    z = normals.scaled(58) / 2.0**58
    assert stats.kstest(z, "norm").pvalue > FALSE_ALARM
    for wrong in (0.95, 1.05):
        assert stats.kstest(wrong * z, "norm").pvalue < FALSE_ALARM
    below_the_cell = normals.scaled(58) & (2 ** (58 - CELL_BITS) - 1)  # 20 bits, of a nearly uniform law
    counts = np.bincount(below_the_cell >> 12, minlength=256)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert abs(np.corrcoef(z, below_the_cell)[0, 1]) * np.sqrt(len(z)) < stats.norm.isf(FALSE_ALARM / 2)
