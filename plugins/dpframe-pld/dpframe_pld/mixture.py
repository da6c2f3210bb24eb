"""The normal form of a list of losses, in which all that have a closed form are composed already."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp

SUPPORTED = (dp.losses.Gaussian, dp.losses.Laplace, dp.losses.Pure, dp.losses.BoundedRange, dp.losses.Approx)

Group = tuple[tuple[float, int], ...]  # (level, count) for levels above zero, in increasing order


@attrs.frozen(kw_only=True)
class Mixture:
    """Losses grouped by their dominating pair, in any order.

    Args:
        mu: the composition of all Gaussians, mu² = Σ mu_i² (Dong, Roth and Su 2022, Corollary 3.3), rounded up.
        laplace: shifts of Laplace variables, in units of their scale.
        response: epsilons of randomized responses, the dominating pairs of losses of which only pure privacy is used.
        failure: the probability that at least one approximate loss fails, rounded up.
    """

    mu: float
    laplace: Group
    response: Group
    failure: float

    @classmethod
    def of(cls, losses: Sequence[dp.PrivacyLoss]) -> Mixture:
        """Sort and count the losses; raises PlanError for a loss without a dominating pair."""
        laplace: Counter[float] = Counter()
        response: Counter[float] = Counter()
        mus, failures = [], []
        for loss in losses:
            match loss:
                case dp.losses.Gaussian():
                    mus.append(loss.mu)
                case dp.losses.Laplace():
                    laplace[loss.epsilon] += 1
                case dp.losses.Pure() | dp.losses.BoundedRange():
                    response[loss.epsilon] += 1
                case dp.losses.Approx():
                    response[loss.epsilon] += 1
                    failures.append(loss.delta)
                case _:
                    raise dp.PlanError(
                        f"the accountant 'pld' cannot compose {type(loss).__name__} losses: they have no "
                        "dominating pair. It composes Gaussian, Laplace, Pure, BoundedRange and Approx losses."
                    )
        return cls(
            mu=_up(math.hypot(*mus)),
            laplace=_group(laplace),
            response=_group(response),
            failure=_failure(failures),
        )

    @property
    def bounded(self) -> Group:
        """The losses that are bounded by their level."""
        return self.laplace + self.response

    @property
    def finite(self) -> Mixture:
        """The same losses, given that none fails."""
        return attrs.evolve(self, failure=0.0)

    def without_failure(self, delta: float) -> float:
        """The delta that failures leave for the other losses, rounded down; negative if failures alone exceed it."""
        if self.failure == 0.0:
            return delta
        if delta < self.failure:
            return -1.0
        return (delta - self.failure) / (1.0 - self.failure) * (1.0 - 2.0**-50)

    def with_failure(self, delta: float) -> float:
        """The total delta, rounded up, from the delta given that nothing fails."""
        if 0.0 in (self.failure, delta):
            return max(self.failure, delta)
        return min(1.0, _up(self.failure + (1.0 - self.failure) * delta))

    @property
    def scale(self) -> float:
        """The scale of the composed loss; it grows with every level and every further loss."""
        return math.hypot(self.mu, self.bounded_scale)

    @property
    def bounded_scale(self) -> float:
        """The scale of the bounded losses alone."""
        return math.hypot(*(level * math.sqrt(count) for level, count in self.bounded))

    def total(self) -> float:
        """The sum of the bounded losses, rounded up."""
        return _float_up(sum((count * Fraction(level) for level, count in self.bounded), Fraction(0)))

    def single_epsilon(self, delta: float) -> float | None:
        """The epsilon at delta of a single bounded loss, rounded up; None for any other mixture."""
        match self:
            case Mixture(mu=0.0, laplace=((epsilon, 1),), response=()):
                below = 2 * math.log1p(-delta)
            case Mixture(mu=0.0, laplace=(), response=((epsilon, 1),)):
                share = delta * (1.0 + math.exp(-epsilon))
                below = math.log1p(-share) if share < 1.0 else -math.inf
            case _:
                return None
        return max(0.0, epsilon * (1.0 + 2.0**-50) + below * (1.0 - 2.0**-48))

    def single_delta(self, at: float) -> float | None:
        """The delta at an epsilon of a single bounded loss, rounded up; None for any other mixture."""
        match self:
            case Mixture(mu=0.0, laplace=((epsilon, 1),), response=()):
                return _up(-math.expm1(_up(min(0.0, at - epsilon)) / 2))
            case Mixture(mu=0.0, laplace=(), response=((epsilon, 1),)):
                return _up(-math.expm1(_up(min(0.0, at - epsilon))) / (1.0 + math.exp(-epsilon)))
            case _:
                return None

    def log_moment(self) -> Callable[[float], float]:
        """K(t) = ln E exp(t L) of the composed loss L: t times the Rényi divergence of order t + 1."""
        (shifts, shift_counts), (epsilons, epsilon_counts) = _arrays(self.laplace), _arrays(self.response)
        wrong = 1.0 / (1.0 + np.exp(np.minimum(epsilons, 700.0)))

        def value(tilt: float) -> float:
            gaussian = self.mu * tilt * (self.mu * (1 + tilt)) / 2
            share = tilt / (2 * tilt + 1)
            laplace = tilt * shifts + np.log1p(share * np.expm1(-(2 * tilt + 1) * shifts))
            response = tilt * epsilons + np.log1p(wrong * np.expm1(-2 * tilt * epsilons))
            return gaussian + float(shift_counts @ laplace) + float(epsilon_counts @ response)

        return value


def _up(value: float) -> float:
    """An upper bound on the exact value, for a result of a few roundings."""
    return value * (1.0 + 2.0**-48)


def _float_up(value: Fraction) -> float:
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)


def _failure(deltas: list[float]) -> float:
    """1 − Π (1 − delta), rounded up; the sum is an upper bound too, and exact for a single delta."""
    product = _up(-math.expm1(math.fsum(map(math.log1p, (-delta for delta in deltas)))))
    return min(1.0, product, _float_up(sum(map(Fraction, deltas), Fraction(0))))


def _group(levels: Counter[float]) -> Group:
    return tuple(sorted((level, count) for level, count in levels.items() if level > 0.0))


def _arrays(group: Group) -> tuple[NDArray[Any], NDArray[Any]]:
    pairs = np.array(group, dtype=float).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
