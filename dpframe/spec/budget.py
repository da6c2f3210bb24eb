"""Privacy budgets: (epsilon, delta), in the worst case or under a model."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from dpframe import validators
from dpframe.losses import ModelBased, PrivacyLoss
from dpframe.rounding import format_given, format_up

LARGEST = 1e6  # a larger epsilon protects nobody


@attrs.frozen
class Budget:
    """An (epsilon, delta) guarantee: the limit that a plan is given, or what its releases spend.

    Args:
        epsilon: how far one person may shift the odds of any outcome, on the log scale. A plan needs more than 0.
        delta: the probability mass exempt from that bound; 0 asks for pure differential privacy.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    >>> Budget(1.0, 1e-6) == Budget(epsilon=1.0, delta=1e-6)
    True
    """

    epsilon: float = attrs.field(
        converter=validators.as_float, validator=validators.number(at_least=0.0, below=LARGEST)
    )
    delta: float = attrs.field(
        default=0.0, converter=validators.as_float, validator=validators.number(at_least=0.0, below=1.0)
    )

    def __str__(self) -> str:
        return self._text(format_up(self.epsilon))

    def within(self, limit: Budget) -> str:
        """The text of what was spent of a limit: epsilon rounded up, but not above the limit where it is within it.

        Args:
            limit: the budget that was given.

        >>> Budget(epsilon=1.0 - 1e-14).within(Budget(epsilon=1.0))
        'epsilon=1, delta=0'
        """
        return self._text(format_up(self.epsilon, limit.epsilon))

    def _text(self, epsilon: str) -> str:
        return f"epsilon={epsilon}, delta={format_given(self.delta)}"


NOT_WORST_CASE = "not a worst-case guarantee"
"""The caveat of every guarantee that rests on a model of the data."""


@attrs.frozen(kw_only=True)
class ModelBudget(Budget):
    """The guarantee of releases that are private only under a model of the data: not a worst-case guarantee.

    Args:
        epsilon, delta: of all releases together, for data drawn from the model.
        model: the name of the model.
        failure: the probability with which the guarantee may fail even under the model, as a formula.

    >>> print(ModelBudget(epsilon=1.0, delta=1e-6, model="spiked-covariance", failure="1/n"))
    epsilon=1, delta=1e-06 under the model spiked-covariance, except with probability 1/n: not a worst-case guarantee
    """

    model: str = attrs.field(validator=validators.text)
    failure: str = attrs.field(validator=validators.text)

    @property
    def caveat(self) -> str:
        """The caveat that a reader must see first."""
        return f"{NOT_WORST_CASE}: it holds for data drawn from the model {self._terms}"

    @property
    def _terms(self) -> str:
        return f"{self.model}, except with probability {self.failure}"

    def _text(self, epsilon: str) -> str:
        return f"{Budget._text(self, epsilon)} under the model {self._terms}: {NOT_WORST_CASE}"


def spent_by(losses: Iterable[PrivacyLoss], *, epsilon: float, delta: float) -> Budget:
    """The composed guarantee of these losses: a :class:`ModelBudget` if one of them holds only under a model."""
    model_based = [loss for loss in losses if isinstance(loss, ModelBased)]
    if not model_based:
        return Budget(epsilon=epsilon, delta=delta)
    models = dict.fromkeys(loss.model for loss in model_based)
    failures = dict.fromkeys(loss.failure for loss in model_based)
    return ModelBudget(epsilon=epsilon, delta=delta, model=" and ".join(models), failure=" + ".join(failures))
