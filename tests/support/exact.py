"""What the samplers are tested against: tails in ball arithmetic, and tests whose false-alarm rate is proved."""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from flint import arb, ctx
from scipy import special, stats

from dpframe.noise.gaussian import _GAUSSIAN, rounded_gaussian
from dpframe.noise.keystream import Keystream
from dpframe.noise.laplace import _LAPLACE, rounded_laplace
from dpframe.noise.rounded import Law

FALSE_ALARM = 1e-6
SIGN = 2**63


@attrs.frozen
class Case:
    """A law with its tail by its textbook definition: the sampler only uses the inverse of it."""

    law: Law

    def tail(self, x: Any) -> Any:
        """P(X > x) as a ball, for any x."""
        if self.law is _GAUSSIAN:
            return (x / arb(2).sqrt()).erfc() / 2
        return (-x).exp() / 2 if x >= 0 else 1 - x.exp() / 2

    def draw(self, stream: Keystream, scale: float, size: int) -> npt.NDArray[np.int64]:
        return (rounded_gaussian if self.law is _GAUSSIAN else rounded_laplace)(stream, scale, size)

    def proves(self, scale: float, word: int, more: Iterable[int], value: int) -> bool:
        """Whether every U in the cell of the word and its extension gives `value`."""
        cell, bits = word % SIGN, 64
        for extra in more:
            cell, bits = cell << 64 | extra, bits + 64
        size = abs(value)
        if (value < 0) != (word >= SIGN and value != 0):
            return False
        with ctx.workprec(bits + 80):
            lower, upper = (2 * size - 1) / (2 * arb(scale)), (2 * size + 1) / (2 * arb(scale))
            unit = arb((1, -bits))
            return bool(self.tail(upper) <= cell * unit) and bool(size == 0 or (cell + 1) * unit <= self.tail(lower))

    def straddling(self, scale: float, size: int) -> int:
        """The 63-bit cell that holds the boundary between `size` and size + 1."""
        with ctx.workprec(256):
            cell = (self.tail((2 * size + 1) / (2 * arb(scale))) * arb((1, 64))).floor().unique_fmpz()
        assert cell is not None
        return int(cell)

    def probabilities(self, scale: float, edges: Iterable[int]) -> npt.NDArray[np.float64]:
        """Of the results below the first edge, from each edge up to the next, and from the last one on."""
        with ctx.workprec(128):
            above = [arb(1), *(self.tail((2 * edge - 1) / (2 * arb(scale))) for edge in edges), arb(0)]
            return np.array([float(a - b) for a, b in itertools.pairwise(above)])


CASES = [Case(_GAUSSIAN), Case(_LAPLACE)]


class Recorded(Iterator[int]):
    """An iterator that remembers what was taken from it."""

    def __init__(self, words: Iterable[int]) -> None:
        self.words, self.taken = iter(words), list[int]()

    def __next__(self) -> int:
        self.taken.append(next(self.words))
        return self.taken[-1]


def multinomial_alarm(counts: npt.NDArray[Any], probabilities: npt.NDArray[np.float64]) -> float:
    """A proved upper bound of the probability of counts this far from what is expected.

    The likelihood-ratio statistic n·KL(counts/n, p) over k bins has at most the moment generating function of a gamma
    variable of shape k − 1 (Agrawal, Finite-sample concentration of the multinomial in relative entropy, 2020), at any
    n; this is the Chernoff bound that follows.
    """
    n, shape = counts.sum(), len(counts) - 1
    statistic = float(special.xlogy(counts, counts / (n * probabilities)).sum())
    return math.exp(shape - statistic + shape * math.log(statistic / shape)) if statistic > shape else 1.0


def cdf_alarm(uniform: npt.NDArray[np.float64]) -> float:
    """The same for the largest distance of an empirical distribution function, by Massart's 2·exp(−2n·distance²)."""
    n, ordered = len(uniform), np.sort(uniform)
    above, below = np.arange(1, n + 1) / n - ordered, ordered - np.arange(n) / n
    return float(min(1.0, 2 * math.exp(-2 * n * max(above.max(), below.max()) ** 2)))


def size_alarm(case: Case, relative: npt.NDArray[np.float64]) -> float:
    """The same for the sum of squares (chi-squared) of Gaussian samples or of sizes (gamma) of Laplace samples."""
    n = len(relative)
    law = stats.chi2(n) if case.law is _GAUSSIAN else stats.gamma(n)
    total = float((relative**2).sum() if case.law is _GAUSSIAN else np.abs(relative).sum())
    return float(2 * min(law.cdf(total), law.sf(total)))
