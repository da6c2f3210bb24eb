"""Models of the data that a user accepts as the basis of a guarantee."""

from __future__ import annotations

from typing import Any

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.losses import ModelBased, PrivacyLoss


@attrs.frozen
class Model:
    """A model of the data.

    Args:
        name: the name of the model.
    """

    name: str = attrs.field(validator=validators.text)


def model(name: str) -> Model:
    """A model to accept: ``dp.Plan(..., accept=[dp.model("spiked-covariance")])``.

    A release whose guarantee holds only for data drawn from a model is refused unless its plan accepts that model.

    >>> model("spiked-covariance")
    Model(name='spiked-covariance')
    """
    return Model(name)


def as_models(values: Any) -> Any:
    """Convert names, as in plan files, to models; leave anything else unchanged, for the validator to refuse."""
    values = validators.as_tuple(values)
    if not isinstance(values, tuple):
        return values
    return tuple(Model(value) if isinstance(value, str) else value for value in values)


def check_accepted(step: str, losses: tuple[PrivacyLoss, ...], accepted: tuple[Model, ...]) -> None:
    """Raise PlanError if a loss holds only under a model that the plan does not accept."""
    for loss in losses:
        if isinstance(loss, ModelBased) and Model(loss.model) not in accepted:
            raise PlanError(
                f"step {step!r} is private only for data drawn from the model {loss.model!r}, and then except with "
                f"probability {loss.failure}: not a worst-case guarantee. To accept that, say "
                f'dp.Plan(..., accept=[dp.model("{loss.model}")]), or accept = ["{loss.model}"] in a plan file.'
            )
