"""Tilted privacy-loss distributions on a lattice.

The loss L of a dominating pair has a law p under the upper distribution, the law of a composition is the convolution,
and its privacy curve is delta(epsilon) = E (1 − e^(epsilon − L))₊. Everything here works with the tilted law

    q(l) = p(l) e^(t l) / Z,    delta(epsilon) = Z e^(−t epsilon) Σ_{l > epsilon} w(l − epsilon) q(l),
    w(x) = (1 − e^(−x)) e^(−t x) ≤ w_max = t^t / (1 + t)^(1 + t),

which also composes by convolution. With t near the best order for Rényi accounting, q is centered where it determines
delta, so that an error of 1e-10 in q is an error of about 1e-9 *relative to delta*, however small delta is. An error of
q in total variation, whatever its place and its cause, changes delta by at most Z e^(−t epsilon) w_max times itself;
each distribution carries such a bound, and the curve includes it.

A mass between two lattice points is split between them so that its probability under both distributions of the pair is
preserved. This is the pessimistic "connect the dots" (Doroshenko et al. 2022): the curve is unchanged at lattice points
and becomes the chord, in e^epsilon, between them; since curves are convex in e^epsilon, it never decreases. A pair is
thus replaced by one that dominates it, and composition preserves domination.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 2.0**-53
CUT = 1e-15  # mass that the library may truncate at the ends of a law in each composition
BUILT = 1e-12  # an upper bound on the quadrature, truncation and rounding errors of one law
NODES = 8  # of Gauss's rule in each cell of a Gaussian
REACH = 8.5  # deviations of a Gaussian on either side; 2e-17 lies beyond


@attrs.frozen(kw_only=True, eq=False)
class Distribution:
    """A tilted law on multiples of a spacing.

    Args:
        pmf: dp-accounting's distribution; its masses add up to about 1.
        spacing: the spacing of the lattice, a power of two.
        tilt: t above.
        log_mass: ln Z.
        error: a bound on the total variation between these masses and the exact ones of a dominating pair.
        scale: the scale of the loss, which sets the spacing of lattices.
    """

    pmf: Any
    spacing: float
    tilt: float
    log_mass: float
    error: float
    scale: float

    @classmethod
    def of(
        cls,
        points: Array,
        masses: Array,
        *,
        spacing: float,
        tilt: float,
        scale: float,
        log_mass: float,
        error: float = 0.0,
    ) -> Distribution:
        """Move tilted masses, which are to be multiplied by e^log_mass, to the lattice."""
        first, on_points = connect_dots(points, masses, spacing, tilt)
        return cls.on_lattice(first, on_points, spacing=spacing, tilt=tilt, scale=scale, log_mass=log_mass, error=error)

    @classmethod
    def on_lattice(
        cls,
        first: int,
        masses: Array,
        *,
        spacing: float,
        tilt: float,
        scale: float,
        log_mass: float,
        error: float = 0.0,
    ) -> Distribution:
        """Normalize masses on consecutive lattice points from ``first`` on, which are to be multiplied by e^log_mass.

        A rounding error of a point l, relative to the spacing, moves that share of its mass to the next point.
        """
        from dp_accounting.pld.pld_pmf import DensePLDPmf  # type: ignore[import-untyped]

        total = float(masses.sum())
        return cls(
            pmf=DensePLDPmf(spacing, first, masses / total, 0.0, True),
            spacing=spacing,
            tilt=tilt,
            log_mass=log_mass + math.log(total),
            error=error + BUILT + 16 * ROUNDING * (abs(first) + len(masses)),
            scale=scale,
        )

    @property
    def points(self) -> Array:
        """The losses, in increasing order."""
        first, size = self.pmf._lower_loss, self.pmf.size
        return np.arange(first, first + size, dtype=np.float64) * self.spacing

    @property
    def masses(self) -> Array:
        """Their tilted masses, from a private attribute, since the library has no public one."""
        masses: Array = self.pmf._probs
        return masses

    def coarsened(self, spacing: float) -> Distribution:
        """The same law on a coarser lattice: splitting is linear and enlarges a mass by at most e^(t spacing)."""
        if spacing == self.spacing:
            return self
        return Distribution.of(
            self.points,
            self.masses,
            spacing=spacing,
            tilt=self.tilt,
            scale=self.scale,
            log_mass=self.log_mass,
            error=self.error * math.exp(self.tilt * spacing),
        )

    def compose(self, other: Distribution, spacing: float) -> Distribution:
        """The law of the sum of two independent losses.

        Convolution with a law of mass 1 enlarges no error. A fast Fourier transform of length n has a 2-norm error of
        at most log2(n) times about seven roundings (Higham 2002, chapter 24; twice as many are allowed for radices
        other than two). Three transforms of vectors of norm at most 1, and sums of at most √n times the 2-norm, make
        64 √n log2(n) roundings in total variation, and up to three times that in small masses that are dropped.
        """
        from dp_accounting.pld.pld_pmf import compose_pmfs

        one = self.coarsened(spacing)
        two = one if other is self else other.coarsened(spacing)
        length = 2.0 * (one.pmf.size + two.pmf.size)
        transforms = 256 * ROUNDING * math.sqrt(length) * math.log2(length)
        return Distribution(
            pmf=compose_pmfs(one.pmf, two.pmf, CUT),
            spacing=spacing,
            tilt=self.tilt,
            log_mass=one.log_mass + two.log_mass,
            error=one.error + two.error + one.error * two.error + 2 * CUT + transforms,
            scale=math.hypot(one.scale, two.scale),
        )

    def log_delta(self, epsilon: float) -> float:
        """The logarithm of the privacy curve at epsilon, never below that of the composed losses."""
        above = self.points - epsilon
        start = int(np.searchsorted(above, 0.0, side="right"))
        above = above[start:]
        weighted = -float((np.expm1(-above) * np.exp(-self.tilt * above) * self.masses[start:]).sum())
        bound = max(weighted, 0.0) + math.exp(log_largest_weight(self.tilt)) * self.error
        rounding = 64 * ROUNDING * (1 + abs(self.log_mass) + self.tilt * epsilon)
        return self.log_mass - self.tilt * epsilon + math.log(bound) + rounding


def connect_dots(points: Array, masses: Array, spacing: float, tilt: float) -> tuple[int, Array]:
    """Split tilted masses between lattice points; returns the first multiple of the spacing, and the masses."""
    cells = np.floor(points / spacing)
    lower, upper = shares(points - cells * spacing, spacing, tilt)
    first = int(cells.min())
    index = (cells - first).astype(np.intp)
    size = int(index.max()) + 2
    split: Array = np.bincount(index, masses * lower, minlength=size).astype(np.float64)
    split[1:] += np.bincount(index, masses * upper, minlength=size - 1)
    return first, split


def shares(inside: Any, spacing: float, tilt: float) -> tuple[Any, Any]:
    """The shares of a tilted mass, at a distance ``inside`` from the lower end of its cell, for both ends.

    A mass m at a + r is split into m (1 − u) at a and m u at a + spacing with u = (1 − e^(−r)) / (1 − e^(−spacing)),
    which preserves the sums of m and of m e^(−l); the masses are then tilted at their new points.
    """
    share = np.expm1(-inside) / math.expm1(-spacing)
    return (1 - share) * np.exp(-tilt * inside), share * np.exp(tilt * (spacing - inside))


def log_largest_weight(tilt: float) -> float:
    """The logarithm of the largest (1 − e^(−x)) e^(−t x) over x ≥ 0."""
    return -math.log1p(tilt) - tilt * math.log1p(1 / tilt)


def responses(epsilons: Sequence[float], spacing: float, tilt: float) -> Distribution:
    """Randomized responses: each loss is epsilon with probability e^epsilon / (1 + e^epsilon), otherwise −epsilon."""
    points, masses = np.zeros(1), np.ones(1)
    for epsilon in epsilons:
        right = 1.0 / (1.0 + math.exp(-epsilon))
        wrong = right * math.exp(-epsilon * (1 + 2 * tilt))
        points = np.concatenate((points - epsilon, points + epsilon))
        masses = np.concatenate((masses * wrong, masses * right))
    scale, log_mass = math.hypot(*epsilons), tilt * math.fsum(epsilons)
    return Distribution.of(points, masses, spacing=spacing, tilt=tilt, scale=scale, log_mass=log_mass)


def laplace(epsilon: float, spacing: float, tilt: float) -> Distribution:
    """A Laplace variable shifted by epsilon scales.

    The loss is epsilon with probability 1/2, −epsilon with e^(−epsilon)/2, and has the density e^((l − epsilon)/2)/4
    between. Over an interval, the probability under the lower distribution is that under the upper one times
    e^(−midpoint), so that connecting the dots gives the same for the interval as for its mass at the midpoint.
    """
    inner = np.arange(math.floor(-epsilon / spacing) + 1, math.ceil(epsilon / spacing)) * spacing
    edges = np.concatenate(([-epsilon], inner, [epsilon]))
    middles = (edges[1:] + edges[:-1]) / 2
    between = np.exp((middles - epsilon) * (0.5 + tilt)) * np.sinh(np.diff(edges) / 4)
    points = np.concatenate(([-epsilon], middles, [epsilon]))
    masses = np.concatenate(([math.exp(-epsilon * (1 + 2 * tilt)) / 2], between, [0.5]))
    return Distribution.of(points, masses, spacing=spacing, tilt=tilt, scale=epsilon, log_mass=tilt * epsilon)


def gaussian(mu: float, spacing: float, tilt: float) -> Distribution:
    """A unit Gaussian shifted by mu: the loss is normal with mean mu²/2 and deviation mu.

    Tilting moves the mean by t mu². In each cell the density, times the shares of both ends, is integrated by Gauss's
    rule. Where that changes by a factor of e^a over a cell, n nodes have a relative error of about
    a^(2n) (n!)⁴ / ((2n + 1) (2n)!³): for n = 8 below 1e-13 up to a = 4. With a spacing of at most mu/128, a is at most
    (t mu + REACH)/128, and t mu at most 39 if delta is a double. Closed forms would subtract nearly equal numbers.
    """
    center, reach = mu * (mu * (0.5 + tilt)), REACH * mu
    first, last = math.floor((center - reach) / spacing), math.ceil((center + reach) / spacing)
    starts = np.arange(first, last) * spacing - center
    totals = np.zeros(last - first + 1)
    for node, weight in zip(*np.polynomial.legendre.leggauss(NODES), strict=True):
        inside = spacing * (1 + node) / 2
        masses = np.exp(-0.5 * ((starts + inside) / mu) ** 2) * (weight * spacing / (2 * mu * math.sqrt(2 * math.pi)))
        lower, upper = shares(inside, spacing, tilt)
        totals[:-1] += masses * lower
        totals[1:] += masses * upper
    return Distribution.on_lattice(
        first, totals, spacing=spacing, tilt=tilt, scale=mu, log_mass=mu * tilt * (mu * (1 + tilt)) / 2
    )
