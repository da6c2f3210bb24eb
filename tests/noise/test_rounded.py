"""The two paths of the sampler: what floats accept is proved by the tail itself, and so is everything else."""

import itertools
import math

import attrs
import numpy as np
import pytest
from flint import arb, ctx

from dpframe.noise import rounded
from dpframe.noise.keystream import Keystream
from dpframe.noise.quantiles import RELATIVE, table
from dpframe.noise.rounded import decide, guess, sample
from tests.support.exact import CASES, SIGN, Case, Recorded

ONES = 2**64 - 1

each_law = pytest.mark.parametrize("case", CASES, ids=lambda case: case.law.draws)


def accepted(case: Case, scale: float, words: list[int]) -> dict[int, int]:
    """What the float path decides: word to result."""
    out = np.empty(len(words), np.int64)
    rest = set(guess(case.law, scale, np.array(words, np.uint64), out).tolist())
    return {word: int(value) for i, (word, value) in enumerate(zip(words, out, strict=True)) if i not in rest}


def proved(case: Case, scale: float, word: int, more: Recorded) -> int:
    """The result of the exact path, checked by the tail at the bits that it took."""
    (value,) = decide(case.law, scale, [word], [more])
    assert case.proves(scale, word, more.taken, value)
    return value


@each_law
@pytest.mark.parametrize("scale", [0.7, 3.0, 2.0**20, 2.0**34, 2.0**41])
def test_float_path_equals_exact_path(case: Case, scale: float) -> None:
    words = Keystream.insecure(11).words(20_000).tolist()
    fast = accepted(case, scale, words)
    assert len(fast) > 0.9 * len(words)
    assert all(case.proves(scale, word, (), value) for word, value in fast.items())
    exact = decide(case.law, scale, words, [iter(())] * len(words))
    assert list(fast.values()) == [value for word, value in zip(words, exact, strict=True) if word in fast]
    for word in set(words) - set(fast):
        proved(case, scale, word, Recorded(()))


# Cells from the one that holds a boundary: (cells away) covers below, at and above what the float path accepts.
AWAY = [0, *(sign * round(2**power) for power in np.arange(0, 46, 0.5) for sign in (-1, 1))]


def boundaries(case: Case, scale: float) -> list[int]:
    """Sizes m such that the boundary m + 1/2 lies in the range of the float path."""
    x = np.concatenate([[0.0], np.geomspace(1e-9, 4.1, 12), [0.67, 1.1, 1.11, 4.16]])
    sizes = {int(value * scale) for value in x}
    return sorted(m for m in sizes if case.straddling(scale, m) > 2**48)


@each_law
@pytest.mark.parametrize("scale", [0.3, 3.0, 2.0**20, 2.0**34, 3.3e10, 2.0**41])
def test_around_rounding_boundaries(case: Case, scale: float) -> None:
    refused = 0
    for m in boundaries(case, scale):
        cell = case.straddling(scale, m)
        words = sorted({cell + away for away in AWAY if 0 <= cell + away < SIGN})
        words += [word + SIGN for word in words]
        fast = accepted(case, scale, words)
        assert not fast.keys() & {cell, cell - 1, cell + 1, cell + SIGN}, "accepted within the margin"
        assert [word for word, value in fast.items() if not case.proves(scale, word, (), value)] == []
        for word in words:
            if word not in fast:
                refused += 1
                proved(case, scale, word, Recorded([0] if word % 2 else [ONES]))
    assert refused > 6 * len(boundaries(case, scale))


@each_law
@pytest.mark.parametrize("scale", [3.0, 2.0**34, 2.0**41])
def test_margin_is_as_wide_as_stated(case: Case, scale: float) -> None:
    # At the distance d of scale·x from the boundary, 0.7·margin is refused and 1.3·margin accepted.
    for m in [int(scale), int(2 * scale)]:
        x = (m + 0.5) / scale
        margin = RELATIVE * x + table(case.law.series).absolute
        density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) if case is CASES[0] else math.exp(-x) / 2
        cell = case.straddling(scale, m)
        for side in (-1, 1):
            # x as computed may be off by most of the margin, hence the room on both sides.
            near, far = (cell + side * round(factor * margin * density * 2**64) for factor in (0.7, 1.3))
            assert near not in accepted(case, scale, [near])
            assert far in accepted(case, scale, [far])


@each_law
@pytest.mark.parametrize("scale", [0.7, 2.0**20, 2.0**34, 2.0**41])
@pytest.mark.parametrize("sign", [0, SIGN])
def test_bits_are_appended_to_the_cell_on_a_boundary(case: Case, scale: float, sign: int) -> None:
    for m in boundaries(case, scale):
        word = case.straddling(scale, m) + sign
        out, back = (proved(case, scale, word, more) for more in (Recorded([0] * 9), Recorded([ONES] * 9)))
        assert (m + 1, m) == (abs(out), abs(back))  # the least U of the cell is the farther out
        # The next 64 bits of the boundary itself decide nothing, and one more word does.
        with ctx.workprec(256):
            at = (case.tail((2 * m + 1) / (2 * arb(scale))) * arb((1, 128))).floor().unique_fmpz()
        more = Recorded([int(at) % 2**64, 0])
        assert m + 1 == abs(proved(case, scale, word, more))
        assert len(more.taken) == 2


@each_law
@pytest.mark.parametrize("scale", [1e-300, 0.05, 1.0, 2.0**34, 2.0**52])
def test_deep_tail(case: Case, scale: float) -> None:
    cells = [0, 1, 2, 3, 1000, 2**20, 2**30 + 1, 2**44 - 1, 2**44, 2**47 + 12345, 2**48 - 1]
    words = [cell + sign for cell in cells for sign in (0, SIGN)]
    assert accepted(case, scale, words) == {}
    for word, extra in itertools.product(words, [[1, 5], [0, 7], [0, 0, 3], [ONES, ONES], [SIGN, 1]]):
        value = proved(case, scale, word, Recorded([*extra, 12345, 67890]))
        assert scale > 1e-9 or value == 0
    # From U = 0 on nothing is proved before a bit of U is known.
    more = Recorded([0, 0, 9, 9, 9, 9])
    proved(case, scale, 0, more)
    assert len(more.taken) >= 3


@each_law
def test_float_path_begins_at_its_tail(case: Case) -> None:
    assert {2**48: 0}.keys() == accepted(case, 0.01, [2**48 - 1, 2**48]).keys()


@each_law
def test_what_is_not_a_number_is_not_accepted(case: Case) -> None:
    broken = attrs.evolve(case.law, series=lambda u, length: [arb("nan")] * length)
    with np.errstate(invalid="ignore"):
        assert [0, 1] == guess(broken, 1.0, np.array([2**60, 2**63 + 2**61], np.uint64), np.empty(2, np.int64)).tolist()


@each_law
def test_middle_of_the_range(case: Case) -> None:
    words = [SIGN - 1 - cell for cell in [0, 1, 2, 511, 512, 513, 1024, 2**20, 2**35]]
    words += [2**power + step for power in range(48, 63) for step in (-1, 0, 1)]
    for scale in (0.3, 2.0**34, 2.0**40):
        for word, value in accepted(case, scale, words).items():
            assert case.proves(scale, word, (), value)
        for word in words:
            proved(case, scale, word, Recorded([123, 456]))


@each_law
@pytest.mark.parametrize("scale", [1e-300, 0.7, 2.0**34, 2.0**41, 2.0**52])
def test_sample_does_not_depend_on_the_path(case: Case, scale: float) -> None:
    size = 3_000 if scale > 2**45 else 20_000
    stream = Keystream.insecure(5)
    words = stream.words(size).tolist()
    expected = decide(case.law, scale, words, [stream.extension(position) for position in range(size)])
    assert expected == sample(case.law, Keystream.insecure(5), scale, size).tolist()


@each_law
def test_sample_is_a_function_of_the_position(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # So wide a scale needs the extension of many words: each must be that of its own position.
    scale = 2.0**52
    stream = Keystream.insecure(5)
    words, results = stream.words(6_000).tolist(), sample(case.law, Keystream.insecure(5), scale, 6_000).tolist()
    extended = 0
    for position in range(0, 6_000, 2):
        more = Recorded(stream.extension(position))
        assert results[position] == proved(case, scale, words[position], more)
        extended += len(more.taken)
    assert extended > 5
    monkeypatch.setattr(rounded, "_BLOCK", 700)
    stream.seek(33)
    assert results[33:] == sample(case.law, stream, scale, 5_967).tolist()
    assert stream.tell() == 6_000


def test_results_beyond_int64_wrap() -> None:
    # With U = 2^-128·(1 + 3·2^-64 + 5·2^-128) x is about 88, and 2^62·x about 2^68.5.
    case, scale = CASES[1], 2.0**62
    (positive,), (negative,) = (decide(case.law, scale, [word], [iter([1, 3, 5, 7])]) for word in (0, SIGN))
    with ctx.workprec(512):
        u = arb((1, -128)) + arb((3, -192)) + arb((5, -256))
        nearest = int((scale * case.law.ball(u) + 0.5).floor().unique_fmpz())
    assert nearest > 2**68
    assert -(2**63) <= positive < 2**63
    assert (nearest - positive) % 2**64 == 0
    assert (nearest + negative) % 2**64 == 0


def test_balls_invert_the_tail() -> None:
    for case, bits in itertools.product(CASES, [2, 3, 20, 48, 64, 200, 1000]):
        with ctx.workprec(bits + 200):
            for u in (arb((1, -bits)), arb((5, -bits - 3)), arb((1, -bits)) + arb((1, -bits - 70))):
                if u <= 0.5:
                    assert case.tail(case.law.ball(u)).overlaps(u)
                    assert case.law.ball(u).rel_accuracy_bits() > 100
