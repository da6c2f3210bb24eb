"""The quantile functions in floats: their error is proved when the table is made, and holds."""

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flint import arb, ctx

from dpframe.noise import quantiles
from dpframe.noise.keystream import Keystream
from dpframe.noise.quantiles import RELATIVE, SMALLEST, table
from dpframe.noise.rounded import decide, sample
from tests.support.exact import CASES, SIGN, Case

UNIT = 2.0**-53

each_law = pytest.mark.parametrize("case", CASES, ids=lambda case: case.law.draws)


def points(seed: int) -> npt.NDArray[np.float64]:
    """Tail probabilities from 2^-16 to 1/2: spread, random, towards both ends, and at the ends of intervals."""
    rng = np.random.default_rng(seed)
    spread = [np.geomspace(SMALLEST, 0.5, 2_000), rng.uniform(SMALLEST, 0.5, 3_000)]
    middle = [0.5 - 2.0 ** rng.uniform(-54, -2, 1_000), 0.5 - np.arange(100) * 2.0**-54]
    starts = np.concatenate([octave * (1 + np.arange(64) / 64) for octave in 2.0 ** np.arange(-16, -1)])
    ends = [starts, np.nextafter(starts[1:], 0.0), starts * (1 + 2.0**-7), SMALLEST * (1 + np.arange(300) * 2.0**-52)]
    return np.concatenate([*spread, *middle, *ends])


@each_law
def test_the_proved_error_holds_over_the_cell(case: Case) -> None:
    """The bound is the allowance without what the product and the comparison need; the tests come near it."""
    proved = table(case.law.series)
    cells = [int(u * 2.0**64) for u in points(4) if u < 0.5] + [2**48 + step for step in range(500)]
    cells += [SIGN - step for step in range(1, 2000, 7)]
    x = proved((np.array(cells).astype(np.float64) + 0.5) * 2.0**-64).tolist()
    worst = 0.0
    with ctx.workprec(160):
        for cell, near in zip(cells, x, strict=True):
            for end in (cell, cell + 1):
                true = case.law.ball(arb(end) * arb((1, -64)))
                bound = (RELATIVE - 6 * UNIT) * true + 0.999 * proved.absolute
                assert abs(true - near) <= bound
                worst = max(worst, float(abs(true - near) / bound))
    assert worst > 0.2


@each_law
def test_the_error_is_as_documented(case: Case) -> None:
    documented = "5.3e-16" if case is CASES[0] else "5.0e-16"
    assert documented == f"{table(case.law.series).absolute:.1e}"


@each_law
def test_series_are_those_of_the_quantile_function(case: Case) -> None:
    """Each coefficient against the same series at a nearby point: x(u + h) = sum of a_j h^j, to all digits."""
    with ctx.workprec(400):
        for u in (arb(0.5), arb(0.3), arb(2.0**-16), arb((3, -9))):
            h = u * arb((1, -20))
            total = sum((a * h**j for j, a in enumerate(case.law.series(u, 12))), arb(0))
            assert abs(total - case.law.ball(u + h)) < arb((1, -220))


@each_law
def test_coarser_tables_accept_less_and_stay_right(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    scale, size = 2.0**20, 2_000
    stream = Keystream.insecure(5)
    words = stream.words(size).tolist()
    expected = decide(case.law, scale, words, [stream.extension(position) for position in range(size)])
    sharp = table(case.law.series).absolute
    for degree, leading in ((2, 4), (1, 3), (0, 2)):
        monkeypatch.setattr(quantiles, "_DEGREE", degree)
        monkeypatch.setattr(quantiles, "_LEADING", leading)
        table.cache_clear()
        try:
            assert table(case.law.series).absolute > 1e6 * sharp
            assert expected == sample(case.law, Keystream.insecure(5), scale, size).tolist()
        finally:
            table.cache_clear()


@each_law
def test_no_function_of_another_library_decides(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantiles of scipy and logarithms of NumPy that are off by 1e-9 change no integer: they are not used."""
    import scipy.special

    true_ndtri, true_log = scipy.special.ndtri, np.log

    def wrong(function: Any) -> Any:
        def off(x: Any, out: Any = None) -> Any:
            result = np.multiply(function(x), 1 + 1e-9)
            if out is None:
                return result
            out[...] = result
            return out

        return off

    scale, size = 2.0**34, 3_000
    stream = Keystream.insecure(5)
    words = stream.words(size).tolist()
    expected = decide(case.law, scale, words, [stream.extension(position) for position in range(size)])
    monkeypatch.setattr(sys.modules["scipy.special"], "ndtri", wrong(true_ndtri))
    monkeypatch.setattr(np, "log", wrong(true_log))
    assert math.isclose(np.log(2.0), (1 + 1e-9) * math.log(2.0), rel_tol=1e-12)
    assert expected == sample(case.law, Keystream.insecure(5), scale, size).tolist()


def test_a_table_that_cannot_be_proved_accepts_nothing() -> None:
    def wide(u: Any, length: int) -> list[Any]:
        return [CASES[0].law.ball(u), *(arb("+inf") for _ in range(1, length))]

    assert math.isinf(table(wide).absolute)
