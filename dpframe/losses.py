"""Privacy losses: what a release costs, as frozen data.

A loss already accounts for the neighboring relation of its plan: it bounds the effect of one person's data on the
output under that relation. Accountants compose losses; nothing else interprets them.

The rho of `Pure` and `Laplace` is the mean log-likelihood ratio of their worst case: randomized response, and one
Laplace variable. No smaller one holds; that this one does is proved in docs/explanation/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import attrs

from dpframe import validators
from dpframe.rounding import format_up


@attrs.frozen(kw_only=True)
class PrivacyLoss:
    """Base of all losses."""

    def implies(self) -> tuple[PrivacyLoss, ...]:
        """Weaker losses that hold as well; an accountant may use any one of them in place of this one."""
        return ()

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={format_up(value)}" for name, value in attrs.asdict(self).items())
        return f"{type(self).__name__} {parameters}"


def _number(**limits: float) -> Any:
    return attrs.field(validator=validators.number(**limits), converter=validators.as_float)


SMALLEST = 5e-324


def _rounded_up(value: float) -> float:
    """No less than the exact value of a formula of a few operations: a factor of 1 + 2⁻⁴⁴, and 16 smallest doubles.

    The latter are for values below 2⁻¹⁰²², of which an operation may round off half of the smallest double.
    """
    return value * (1.0 + 2.0**-44) + 16 * SMALLEST


def _laplace_rho(epsilon: float) -> float:
    """epsilon + e^−epsilon − 1; for a small epsilon, where this would cancel, an upper partial sum of its series."""
    if epsilon >= 0.25:
        return epsilon + math.expm1(-epsilon)
    return sum((-epsilon) ** k / math.factorial(k) for k in range(12, 1, -1))  # the last term, k = 12, is positive


@attrs.frozen(kw_only=True)
class Approx(PrivacyLoss):
    """(epsilon, delta)-differential privacy.

    Args:
        epsilon: the bound on the log-likelihood ratio, up to delta.
        delta: the probability mass exempt from that bound.
    """

    epsilon: float = _number(at_least=0.0)
    delta: float = _number(at_least=0.0, below=1.0)


@attrs.frozen(kw_only=True)
class ZCDP(PrivacyLoss):
    """rho-zero-concentrated differential privacy (Bun and Steinke 2016).

    Args:
        rho: the Rényi divergence of order alpha is at most alpha · rho, for every alpha > 1.
    """

    rho: float = _number(at_least=0.0)


@attrs.frozen(kw_only=True)
class Pure(PrivacyLoss):
    """epsilon-differential privacy.

    Args:
        epsilon: the bound on the log-likelihood ratio.
    """

    epsilon: float = _number(at_least=0.0)

    def implies(self) -> tuple[PrivacyLoss, ...]:
        """rho = epsilon · tanh(epsilon/2), and (epsilon, 0)."""
        rho = _rounded_up(self.epsilon * math.tanh(self.epsilon / 2))
        return (ZCDP(rho=rho), Approx(epsilon=self.epsilon, delta=0.0))


@attrs.frozen(kw_only=True)
class Laplace(PrivacyLoss):
    """One Laplace variable shifted by epsilon times its scale.

    Args:
        epsilon: the sensitivity divided by the scale of the noise.
    """

    epsilon: float = _number(at_least=0.0)

    def implies(self) -> tuple[PrivacyLoss, ...]:
        """epsilon-DP, rho = epsilon + e^−epsilon − 1, and (epsilon, 0)."""
        rho = _rounded_up(_laplace_rho(self.epsilon))
        return (Pure(epsilon=self.epsilon), ZCDP(rho=rho), Approx(epsilon=self.epsilon, delta=0.0))


@attrs.frozen(kw_only=True)
class BoundedRange(PrivacyLoss):
    """The log-likelihood ratio lies in an interval of length epsilon, as in the exponential mechanism.

    Args:
        epsilon: the length of the interval.
    """

    epsilon: float = _number(at_least=0.0)

    def implies(self) -> tuple[PrivacyLoss, ...]:
        """epsilon-DP, rho = epsilon²/8 (Cesar and Rogers 2021, Lemma 3.4), and (epsilon, 0)."""
        rho = _rounded_up(self.epsilon**2 / 8)
        return (Pure(epsilon=self.epsilon), ZCDP(rho=rho), Approx(epsilon=self.epsilon, delta=0.0))


@attrs.frozen(kw_only=True)
class Gaussian(PrivacyLoss):
    """One unit Gaussian shifted by mu: mu-Gaussian differential privacy (Dong, Roth and Su 2022).

    Args:
        mu: the sensitivity divided by the standard deviation of the noise.
    """

    mu: float = _number(at_least=0.0)

    def implies(self) -> tuple[PrivacyLoss, ...]:
        """rho = mu²/2."""
        return (ZCDP(rho=_rounded_up(self.mu**2 / 2)),)


@attrs.frozen(kw_only=True)
class ModelBased(PrivacyLoss):
    """A loss that holds only for data drawn from a model, and then except with probability ``failure``.

    No accountant includes it in a worst-case guarantee.

    Args:
        loss: the loss under the model.
        model: the name of the model.
        failure: the probability with which the loss may fail to hold even under the model, as a formula.
    """

    loss: PrivacyLoss = attrs.field(validator=attrs.validators.instance_of(PrivacyLoss))
    model: str = attrs.field(validator=validators.text)
    failure: str = attrs.field(validator=validators.text)

    def __str__(self) -> str:
        return f"{self.loss} under the model {self.model}, except with probability {self.failure}"


def under_models(losses: Iterable[PrivacyLoss]) -> tuple[PrivacyLoss, ...]:
    """The losses if every model holds. Their composition is then not a worst-case guarantee."""
    return tuple(loss.loss if isinstance(loss, ModelBased) else loss for loss in losses)


__all__ = ["ZCDP", "Approx", "BoundedRange", "Gaussian", "Laplace", "ModelBased", "PrivacyLoss", "Pure", "under_models"]
