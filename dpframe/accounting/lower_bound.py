"""A lower bound on the delta of any valid accountant.

An accountant is given losses and nothing else, so its answer must hold for every mechanism that has them. Each loss has
a simple one, a pair of laws that no valid accountant may call harder to tell apart than it is:

* `Gaussian`: unit Gaussians, mu apart;
* `ZCDP`: the same with mu² = 2 rho, since their Rényi divergence of order alpha is alpha · rho;
* `Laplace`: Laplace variables, epsilon scales apart;
* `Pure`: randomized response, with log-likelihood ratios ±epsilon;
* `BoundedRange`: two outcomes, with ratios t and t − epsilon for some 0 < t < epsilon;
* `Approx`: randomized response that reveals everything with probability delta.

Drawn independently, their ratios add up to L, and delta(epsilon) = E (1 − e^(epsilon − L))₊, which grows with L.
Gaussians alone have the exact curve of :mod:`dpframe.accounting.gdp`. Otherwise the sum is computed on a lattice, where
every step can only lower the result: outcomes of a pair are merged, which is post-processing, ratios are rounded down,
and small masses and losses of other types are left out. Masses are positive, and are only added and multiplied, so that
rounding errors are relative to the result; `MARGIN` is far above them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.accounting.gdp import least_gaussian_delta
from dpframe.losses import ZCDP, Approx, BoundedRange, Gaussian, Laplace, PrivacyLoss, Pure

MARGIN = 1e-9  # relative, far above the rounding errors of this bound, and of an accountant that computes in floats
FINENESS = 512  # points of the lattice per scale of the sum
CELLS = 512  # cells of one Laplace variable on either side of 0; fewer where there are many of them
FEWEST_CELLS = 4
COPIES = 4096  # equal losses that are counted; further ones are left out
TINY = 1e-40  # masses below it are left out
SMALLEST = 1e-150  # bounded losses up to it are left out
REACH = 13.0  # deviations of a Gaussian on either side; 1e-38 lies beyond
PLACES = (0.5, 0.7, 0.9)  # t/epsilon of bounded-range losses, besides the best one of a single loss


def contradicted(losses: Sequence[PrivacyLoss], epsilon: float, delta: float) -> bool:
    """Whether a mechanism with these losses is known not to be (epsilon, delta)-private, by more than rounding.

    Args:
        losses: the composed losses.
        epsilon, delta: what an accountant says of them.
    """
    if math.isinf(epsilon):
        return False
    if delta == 0.0:
        return epsilon * (1 + MARGIN) < _largest_ratio(losses)
    return least_delta(losses, epsilon) > delta * (1 + MARGIN)


def least_delta(losses: Sequence[PrivacyLoss], epsilon: float) -> float:
    """A delta that every valid accountant reaches at this epsilon; 0 where nothing is known.

    Args:
        losses: the composed losses.
        epsilon: at least 0.
    """
    mu_squared, failure, bounded = _sorted(losses)
    if not bounded:
        finite = least_gaussian_delta(mu_squared, epsilon)
    else:
        spans = sum(count * level for (kind, level), count in bounded.items() if kind is BoundedRange)
        best = (1 + min(epsilon / spans, 0.999)) / 2 if spans else 0.5
        places = {best, *PLACES} if spans else {best}
        finite = max(_composed(mu_squared, bounded, place).delta(epsilon) for place in places)
    return failure + (1 - failure) * finite


def _largest_ratio(losses: Iterable[PrivacyLoss]) -> float:
    """The supremum of the sum of log-likelihood ratios: the smallest epsilon at delta = 0."""
    mu_squared, failure, bounded = _sorted(losses)
    if mu_squared > 0 or failure > 0.0:
        return math.inf
    return math.fsum(count * level for (_, level), count in bounded.items())


Group = tuple[type[PrivacyLoss], float]


def _sorted(losses: Iterable[PrivacyLoss]) -> tuple[Fraction, float, Counter[Group]]:
    """mu² of all Gaussians, the probability that an `Approx` loss fails, and counts of equal bounded losses.

    A subclass may be known to lose less than its base, so only losses of exactly these types are counted.
    """
    mu_squared, failures, bounded = Fraction(0), [], Counter[Group]()
    for loss in losses:
        kind = type(loss)
        if isinstance(loss, Gaussian) and kind is Gaussian:
            mu_squared += Fraction(loss.mu) ** 2
        elif isinstance(loss, ZCDP) and kind is ZCDP:
            mu_squared += 2 * Fraction(loss.rho)
        elif isinstance(loss, Laplace | Pure | BoundedRange) and kind in (Laplace, Pure, BoundedRange):
            bounded[kind, loss.epsilon] += 1
        elif isinstance(loss, Approx) and kind is Approx:
            failures.append(math.log1p(-loss.delta))
            bounded[Pure, loss.epsilon] += 1
    failure = -math.expm1(math.fsum(failures)) * (1 - MARGIN)
    return mu_squared, failure, Counter({key: count for key, count in bounded.items() if key[1] > SMALLEST})


@attrs.frozen(eq=False)
class _Law:
    """Masses on the points start, start + spacing, …: the law of a log-likelihood ratio, or less."""

    start: float
    spacing: float
    masses: NDArray[np.float64]

    @property
    def points(self) -> NDArray[np.float64]:
        return self.start + self.spacing * np.arange(len(self.masses), dtype=np.float64)

    def trimmed(self) -> _Law:
        """Without tiny masses at the ends."""
        kept = np.flatnonzero(self.masses > TINY)
        if not len(kept):
            return _Law(self.start, self.spacing, np.zeros(1))
        return _Law(self.start + self.spacing * int(kept[0]), self.spacing, self.masses[kept[0] : kept[-1] + 1])

    def plus(self, other: _Law) -> _Law:
        """The law of the sum of two independent ratios on lattices of the same spacing."""
        return _Law(self.start + other.start, self.spacing, np.convolve(self.masses, other.masses)).trimmed()

    def times(self, count: int) -> _Law:
        """The law of a sum of independent copies."""
        if count == 1:
            return self
        half = self.times(count // 2)
        return half.plus(half).plus(self) if count % 2 else half.plus(half)

    def rounded_down(self, spacing: float) -> _Law:
        """The law on multiples of another spacing; 1e-9 of it is allowed for the rounding of points."""
        cells = np.floor(self.points / spacing - 1e-9)
        first = int(cells[0])
        masses: NDArray[np.float64] = np.bincount((cells - first).astype(np.intp), self.masses).astype(np.float64)
        return _Law(first * spacing, spacing, masses)

    def delta(self, epsilon: float) -> float:
        """E (1 − e^(epsilon − L))₊, rounded down."""
        points = self.points
        points -= 1e-12 * np.abs(points).max()
        return (1 - MARGIN) * float((-np.expm1(np.minimum(epsilon - points, 0.0)) * self.masses).sum())


def _composed(mu_squared: Fraction, bounded: Counter[Group], place: float) -> _Law:
    """The law of the sum. Losses that are small against the lattice lower the sum by rounding, and are left out."""
    mu = math.sqrt(mu_squared) * (1 - 1e-15)
    scales = {group: group[1] * math.sqrt(count) for group, count in bounded.items()}
    spacing = math.hypot(mu, *scales.values()) / FINENESS
    large = Counter({group: count for group, count in bounded.items() if scales[group] > spacing})
    laws = list(_bounded_laws(large, place))
    if mu <= spacing and len(laws) == 1:
        return laws[0]
    laws = [law.rounded_down(spacing) for law in laws]
    if mu > spacing:
        laws.append(_gaussian(mu, spacing))
    total = _Law(0.0, spacing, np.ones(1))  # of no losses
    for law in laws:
        total = total.plus(law)
    return total


def _bounded_laws(bounded: Counter[Group], place: float) -> Iterator[_Law]:
    for (kind, level), count in bounded.items():
        copies = min(count, COPIES)
        if kind is Laplace:
            yield _laplace(level, max(CELLS // copies, FEWEST_CELLS)).times(copies)
        else:
            top, span = (level, 2 * level) if kind is Pure else (place * level, level)
            yield _two_outcomes(top, span).times(copies)


def _two_outcomes(top: float, span: float) -> _Law:
    """Ratios top and top − span: the probabilities follow, since those under both laws of the pair add up to 1."""
    high = math.expm1(top - span) / math.expm1(-span)
    low = math.exp(top - span) * math.expm1(-top) / math.expm1(-span)
    return _Law(top - span, span, np.array([low, high]))


def _laplace(epsilon: float, cells: int) -> _Law:
    """The ratio is ±epsilon with probability 1/2 and e^(−epsilon)/2, and has density e^((l − epsilon)/2)/4 between.

    The ratio of an interval of outcomes is its midpoint, so the interval about a lattice point is merged into it. The
    half intervals at both ends are rounded down.
    """
    spacing = epsilon / cells
    ends = spacing * (np.arange(-cells, cells) + 0.5) - epsilon  # of the intervals about all points but the last
    masses = np.append(np.exp(ends / 2) * -math.expm1(-spacing / 2) / 2, 0.5)
    masses[0] = math.exp(spacing / 4 - epsilon) / 2
    masses[-2] -= math.expm1(-spacing / 4) / 2
    return _Law(-epsilon, spacing, masses)


def _gaussian(mu: float, spacing: float) -> _Law:
    """The ratio is normal with mean mu²/2 and deviation mu; each cell is rounded down to its lower end."""
    from scipy.special import ndtr

    mean, reach = mu * mu / 2, REACH * mu
    edges = np.arange(math.floor((mean - reach) / spacing), math.ceil((mean + reach) / spacing) + 1)
    deviations = (edges * spacing - mean) / mu
    low, high = deviations[:-1], deviations[1:]
    masses = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))  # from the smaller tail
    return _Law(float(edges[0]) * spacing, spacing, np.maximum(masses, 0.0)).trimmed()
