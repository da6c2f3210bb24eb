"""The accountant: closed forms where they exist, and composed privacy-loss distributions otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

import dpframe.plugin as dp
from dpframe_pld.composition import delta_of, epsilon_of
from dpframe_pld.mixture import SUPPORTED, Mixture

SLIGHT = 2.0**-4
"""If the Gaussian or the bounded losses are below this share of the others, both epsilons are also simply added."""


@attrs.frozen
class PldAccountant(dp.Accountant):
    """Tight composition of Gaussian, Laplace and pure losses.

    Each loss has a dominating pair: two distributions that are at least as easy to distinguish as the releases on any
    two neighboring data sets, in either order. They are two unit Gaussians mu apart, two Laplace variables epsilon
    scales apart, or randomized response, the worst of all epsilon-private mechanisms (Kairouz, Oh and Viswanath 2015).
    Each of these pairs is symmetric, so one direction suffices. The product of the pairs dominates the composition, and
    its privacy curve is that of a sum of independent losses. The pairs are fixed before anything is drawn, whatever the
    releases turn out to be, so later steps of one plan may depend on earlier results (Zhu, Dong and Wang 2022). The
    argument does not hold for a filter, where the levels of later runs are chosen after seeing earlier results.

    A bounded-range loss has no single tight pair, and counts as randomized response. An approximate loss is randomized
    response that fails with probability delta.

    Guarantee:
        Never below the truth. The lattice on which losses are added only raises the curve, truncation and rounding are
        bounded and added to delta, and the answer is checked against the curve before it is returned. For Gaussian
        losses alone it is the answer of ``gdp``. If all losses are bounded, it is never above the sum of the epsilons,
        and equal to it at delta = 0.

    References:
        Kairouz, Oh and Viswanath, "The composition theorem for differential privacy", ICML 2015.
        Zhu, Dong and Wang, "Optimal accounting of differential privacy via characteriztic function", AISTATS 2022.
        Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the dots", PoPETs 2022.
        Ghazi, Kamath, Kumar and Manurangsi, "Faster privacy accounting via evolving discretization", ICML 2022.

    >>> from dpframe.losses import Gaussian, Laplace, Pure
    >>> mixed = [Gaussian(mu=0.172), Laplace(epsilon=0.172), Pure(epsilon=0.172)]
    >>> round(PldAccountant().epsilon(mixed, delta=1e-6), 4)
    1.0023
    >>> PldAccountant().epsilon([Pure(epsilon=0.5), Pure(epsilon=0.25)], delta=0.0)
    0.75
    """

    name = "pld"

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, SUPPORTED)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        dp.validators.check_delta(delta)
        mixture = Mixture.of(losses)
        left = mixture.without_failure(delta)
        if left < 0.0:
            return math.inf
        if not mixture.bounded:
            return dp.accountant("gdp").epsilon(_gaussians(losses), left)
        total = mixture.total()
        if left == 0.0:
            return total if mixture.mu == 0.0 else math.inf
        single = mixture.single_epsilon(left)
        composed = epsilon_of(mixture.finite, left) if single is None else single
        if mixture.mu == 0.0:
            return min(total, composed)
        if _lopsided(mixture.mu, total):
            simple = total + dp.accountant("gdp").epsilon(_gaussians(losses), left)
            return min(composed, math.nextafter(simple, math.inf))
        return composed

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        if not epsilon >= 0.0:
            raise dp.PlanError(f"epsilon must be a number of at least 0; got {epsilon!r}.")
        mixture = Mixture.of(losses)
        return mixture.with_failure(self._finite(mixture, losses, epsilon))

    def _finite(self, mixture: Mixture, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        """The curve at epsilon, given that no approximate loss fails."""
        if math.isinf(epsilon):
            return 0.0
        if not mixture.bounded:
            return dp.accountant("gdp").delta(_gaussians(losses), epsilon)
        total = mixture.total()
        if mixture.mu == 0.0 and epsilon >= total:
            return 0.0
        single = mixture.single_delta(epsilon)
        composed = delta_of(mixture.finite, epsilon) if single is None else single
        if mixture.mu == 0.0:
            return min(composed, dp.accountant("pure").delta([dp.losses.Pure(epsilon=total)], epsilon) * (1 + 2.0**-50))
        if _lopsided(mixture.mu, total) and epsilon >= total:
            return min(composed, dp.accountant("gdp").delta(_gaussians(losses), math.nextafter(epsilon - total, 0.0)))
        return composed


def _lopsided(mu: float, total: float) -> bool:
    return min(mu, total) < SLIGHT * max(mu, total) <= 1e5


def _gaussians(losses: Sequence[dp.PrivacyLoss]) -> list[dp.PrivacyLoss]:
    return [loss for loss in losses if isinstance(loss, dp.losses.Gaussian)]
