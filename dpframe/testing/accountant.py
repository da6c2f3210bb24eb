"""Checks of an accountant: never below the truth, monotone, and independent of the order of the losses.

Each reference is the privacy curve epsilon ↦ delta of some mechanism with the given losses, so that every valid
accountant is at or above it: one Gaussian with mu = √Σμ²; one Laplace variable; randomized response; the dominating
pair of the exponential mechanism; and, for a zCDP loss, the Gaussian mechanism with this loss. For other compositions
it is the lower bound of :mod:`dpframe.accounting.lower_bound`, by which plans refuse the answers of an accountant.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import attrs
import numpy as np

from dpframe.accounting.lower_bound import contradicted, least_delta
from dpframe.interfaces import Accountant
from dpframe.losses import ZCDP, Approx, BoundedRange, Gaussian, Laplace, ModelBased, PrivacyLoss, Pure
from dpframe.testing.checks import Failed, NotRun, check

Curve = Callable[[float], float]
SLACK = 1e-9  # relative tolerance, since the references are computed in floats
DELTAS = (1e-2, 1e-4, 1e-6, 1e-9)
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 8.0)


@attrs.frozen(eq=False)
class AccountantStage:
    """An accountant under test, and reference curves that it must not be below."""

    subject: Accountant

    def cases(self) -> list[tuple[Sequence[PrivacyLoss], Curve]]:
        """The references whose losses the accountant supports."""
        supported = [case for case in references() if all(map(self.subject.supports, case[0]))]
        if not supported:
            raise NotRun("it supports none of the losses that have references")
        return supported


def references() -> list[tuple[Sequence[PrivacyLoss], Curve]]:
    """Lists of losses, each with the privacy curve of a mechanism that has them."""
    gaussians = ([1e-3], [0.3], [1.0], [5.0], [20.0], [0.2] * 16, [0.05] * 300, [0.1, 0.7, 0.4])
    concentrated = ([0.02], [0.1, 0.3])
    cases: list[tuple[Sequence[PrivacyLoss], Curve]] = [
        *(([Gaussian(mu=mu) for mu in mus], _gaussian(math.hypot(*mus))) for mus in gaussians),
        *(([ZCDP(rho=rho) for rho in rhos], _gaussian(math.sqrt(2 * sum(rhos)))) for rhos in concentrated),
    ]
    for epsilon in (0.2, 1.0):
        cases += [
            ([Laplace(epsilon=epsilon)], _laplace(epsilon)),
            ([BoundedRange(epsilon=epsilon)], _bounded_range(epsilon)),
            ([Approx(epsilon=epsilon, delta=1e-3)], _approx(epsilon, 1e-3)),
            *(([Pure(epsilon=epsilon)] * times, _responses(epsilon, times)) for times in (1, 10)),
        ]
    mixtures: list[list[PrivacyLoss]] = [
        [Gaussian(mu=0.5), Laplace(epsilon=0.5)],
        [Laplace(epsilon=0.3)] * 8,
        [BoundedRange(epsilon=0.5)] * 6,
        [Pure(epsilon=0.2), Gaussian(mu=0.4), Pure(epsilon=0.7), Gaussian(mu=0.3)],
        [Laplace(epsilon=1.0), Pure(epsilon=0.5), BoundedRange(epsilon=0.8)],
        [ZCDP(rho=0.05), Gaussian(mu=0.5), Pure(epsilon=0.3)],
        [Laplace(epsilon=0.05)] * 100,
        [Pure(epsilon=0.02)] * 200,
        [Pure(epsilon=3.0), Gaussian(mu=2.0), Laplace(epsilon=0.1)],
        [Approx(epsilon=0.3, delta=1e-5), Approx(epsilon=0.5, delta=1e-7), Gaussian(mu=0.2)],
    ]
    return [*cases, *((mixture, partial(least_delta, mixture)) for mixture in mixtures)]


def _gaussian(mu: float) -> Curve:
    from scipy.special import log_ndtr

    def delta(epsilon: float) -> float:
        first = math.exp(log_ndtr(mu / 2 - epsilon / mu))
        return max(first - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)), 0.0)

    return delta


def _laplace(shift: float) -> Curve:
    return lambda epsilon: -math.expm1(min(epsilon - shift, 0.0) / 2)


def _bounded_range(span: float) -> Curve:
    def delta(epsilon: float) -> float:
        return max(math.exp(span / 2) - math.exp(epsilon / 2), 0.0) ** 2 / math.expm1(span)

    return delta


def _approx(epsilon0: float, delta0: float) -> Curve:
    def delta(epsilon: float) -> float:
        left = (math.exp(epsilon0) - math.exp(epsilon)) / (1 + math.exp(epsilon0)) if epsilon < epsilon0 else 0.0
        return delta0 + (1 - delta0) * left

    return delta


def _responses(epsilon0: float, times: int) -> Curve:
    """Repeated randomized response: the likelihood ratio depends on the number of true answers only."""
    true = 1 / (1 + math.exp(-epsilon0))
    weights = [math.comb(times, k) * true**k * (1 - true) ** (times - k) for k in range(times + 1)]

    def delta(epsilon: float) -> float:
        return sum(max(w - math.exp(epsilon) * weights[times - k], 0.0) for k, w in enumerate(weights))

    return delta


@check("accountant")
def never_below_the_truth(stage: AccountantStage) -> str:
    """Neither epsilon nor delta is below that of a mechanism with these losses."""
    for losses, curve in stage.cases():
        for delta in DELTAS:
            epsilon = stage.subject.epsilon(losses, delta)
            if math.isfinite(epsilon) and curve(epsilon) > delta * (1 + SLACK) + 1e-15:
                raise Failed(f"{_listed(losses)}: epsilon={epsilon:.6g} at delta={delta:g} does not hold")
        pure = stage.subject.epsilon(losses, 0.0)
        if contradicted(losses, pure, 0.0):
            raise Failed(f"{_listed(losses)}: epsilon={pure:.6g} at delta=0 does not hold")
        for epsilon in EPSILONS:
            if stage.subject.delta(losses, epsilon) < curve(epsilon) * (1 - SLACK) - 1e-15:
                raise Failed(f"{_listed(losses)}: delta at epsilon={epsilon:g} is too small")
    return f"{len(stage.cases())} mixtures"


@check("accountant")
def monotone(stage: AccountantStage) -> None:
    """Epsilon never rises with delta, delta never rises with epsilon, and more losses never cost less."""
    for losses, _ in stage.cases():
        epsilons = [stage.subject.epsilon(losses, delta) for delta in np.geomspace(1e-8, 0.1, 15)]
        _never_rises(epsilons, f"{_listed(losses)}: epsilon rises with delta")
        deltas = [stage.subject.delta(losses, epsilon) for epsilon in np.linspace(0.05, 4.0, 15)]
        _never_rises(deltas, f"{_listed(losses)}: delta rises with epsilon")
        repeated = [stage.subject.epsilon([*losses] * times, 1e-2) for times in (4, 3, 2, 1)]
        _never_rises(repeated, f"{_listed(losses)}: repeating it costs less")
        if 0.0 < repeated[0] < math.inf and not repeated[0] > repeated[-1]:
            raise Failed(f"{_listed(losses)}: four times costs as much as once")


def _never_rises(values: Sequence[float], message: str) -> None:
    if any(after > before * (1 + SLACK) + 1e-300 for before, after in itertools.pairwise(values)):
        raise Failed(message)


@check("accountant")
def order_free(stage: AccountantStage) -> None:
    """The order of the losses does not matter."""
    for losses, _ in stage.cases():
        mixed = [*losses, *losses[:1], *losses]
        for some in (losses, mixed):
            forward, backward = (stage.subject.epsilon(each, 1e-5) for each in (some, some[::-1]))
            if not math.isclose(forward, backward, rel_tol=1e-6):
                raise Failed(f"{_listed(some)}: epsilon={forward:.9g}, in reverse {backward:.9g}")


@check("accountant")
def two_ways_agree(stage: AccountantStage) -> None:
    """The delta that it returns for epsilon(losses, delta) is at most delta, up to 0.1 %."""
    for losses, _ in stage.cases():
        for delta in DELTAS:
            epsilon = stage.subject.epsilon(losses, delta)
            if math.isfinite(epsilon) and (returned := stage.subject.delta(losses, epsilon)) > delta * (1 + 1e-3):
                raise Failed(
                    f"{_listed(losses)}: epsilon={epsilon:.6g} at delta={delta:g}, but delta={returned:.6g} there"
                )


@check("accountant")
def models_kept_apart(stage: AccountantStage) -> None:
    """It supports no loss that holds only under a model of the data, so none enters a worst-case guarantee."""
    if stage.subject.supports(ModelBased(loss=Gaussian(mu=1.0), model="any", failure="0.01")):
        raise Failed("it supports model-based losses, whose guarantee is not a worst-case one")


def _listed(losses: Sequence[PrivacyLoss]) -> str:
    return f"{len(losses)} × {losses[0]}" if len(set(losses)) == 1 else ", ".join(map(str, losses))
