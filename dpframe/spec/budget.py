"""The privacy a user is willing to spend."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from dpframe import validators
from dpframe.losses import ModelBased, PrivacyLoss
from dpframe.rounding import format_up

LARGEST = 1e6  # nothing of that size protects anybody


@attrs.frozen(kw_only=True)
class Budget:
    """An (epsilon, delta) guarantee: a promise when asked for, a fact when reported as spent.

    Args:
        epsilon: how far one person may shift the odds of any outcome, on the log scale. A plan needs more than 0.
        delta: the probability mass exempt from that bound; 0 asks for pure differential privacy.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    """

    epsilon: float = attrs.field(
        converter=validators.as_float, validator=validators.number(at_least=0.0, below=LARGEST)
    )
    delta: float = attrs.field(
        default=0.0, converter=validators.as_float, validator=validators.number(at_least=0.0, below=1.0)
    )

    def __str__(self) -> str:
        return f"epsilon={format_up(self.epsilon)}, delta={format_up(self.delta)}"


NOT_WORST_CASE = "not a worst-case guarantee"
"""What everything that rests on a model of the data has to say."""


@attrs.frozen(kw_only=True)
class ModelBudget(Budget):
    """What is spent where a release is private under a model of the data only: not a worst-case guarantee.

    Args:
        epsilon, delta: of all releases together, for data drawn from the model.
        model: the model, by name.
        failure: the probability with which even then the guarantee may fail.

    >>> print(ModelBudget(epsilon=1.0, delta=1e-6, model="spiked-covariance", failure="1/n"))
    epsilon=1, delta=1e-06 under the model spiked-covariance, except with probability 1/n: not a worst-case guarantee
    """

    model: str = attrs.field(validator=validators.text)
    failure: str = attrs.field(validator=validators.text)

    @property
    def caveat(self) -> str:
        """What a reader has to know first."""
        return f"{NOT_WORST_CASE}: it holds for data drawn from the model {self._terms}"

    @property
    def _terms(self) -> str:
        return f"{self.model}, except with probability {self.failure}"

    def __str__(self) -> str:
        return f"{Budget.__str__(self)} under the model {self._terms}: {NOT_WORST_CASE}"


def spent_by(losses: Iterable[PrivacyLoss], *, epsilon: float, delta: float) -> Budget:
    """What these losses compose to, which says so where some of them hold under a model only."""
    modelled = [loss for loss in losses if isinstance(loss, ModelBased)]
    if not modelled:
        return Budget(epsilon=epsilon, delta=delta)
    models = dict.fromkeys(loss.model for loss in modelled)
    failures = dict.fromkeys(loss.failure for loss in modelled)
    return ModelBudget(epsilon=epsilon, delta=delta, model=" and ".join(models), failure=" + ".join(failures))
