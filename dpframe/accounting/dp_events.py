"""Privacy losses as events of Google's dp_accounting, so that its accountants can check or continue an account.

A loss already contains the neighboring relation of its plan, and dp_accounting's GaussianDpEvent means a shift of 1 for
its default relation, ADD_OR_REMOVE_ONE. So that relation is the one to compose these events under, whatever the plan
states: REPLACE_ONE would double every shift once more.

=====================  ==========================================================================================
loss                   event
=====================  ==========================================================================================
Gaussian, mu           GaussianDpEvent(1/mu)
Laplace, epsilon       LaplaceDpEvent(1/epsilon)
Pure, epsilon          DiscreteLaplaceDpEvent(epsilon, 1): its privacy loss is +epsilon with probability
                       e^epsilon/(1 + e^epsilon) and otherwise -epsilon, which is randomized response, the worst of
                       all epsilon-private mechanisms. (RandomizedResponseDpEvent, of the same law, is refused under
                       ADD_OR_REMOVE_ONE.)
BoundedRange, epsilon  the same: no event of a bounded range is known there, and it implies epsilon-DP
ZCDP, rho              ZCDpEvent(rho), which its RDP accountant composes and its PLD accountant refuses
Approx                 the event of Pure where delta is 0; otherwise UnsupportedDpEvent, which every accountant refuses
ModelBased             NonPrivateDpEvent: there is no worst-case guarantee
=====================  ==========================================================================================

A loss of zero is a NoOpDpEvent, and one of a plugin is what it implies, or unsupported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dpframe.errors import PlanError
from dpframe.losses import ZCDP, Approx, BoundedRange, Gaussian, Laplace, ModelBased, PrivacyLoss, Pure


def composed_event(losses: Sequence[PrivacyLoss]) -> Any:
    """One ComposedDpEvent of all losses, in their order.

    Args:
        losses: what the releases of a plan cost.
    """
    events = _library()
    return events.ComposedDpEvent(tuple(_event(events, loss) for loss in losses))


def _library() -> Any:
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise PlanError(
            "events for dp_accounting need that library, which is not installed; say pip install 'dpframe[pld]'."
        ) from None


def _event(events: Any, loss: PrivacyLoss) -> Any:
    """The event of one loss; its figures are rounded to the side of more loss."""
    match loss:
        case ModelBased():
            return events.NonPrivateDpEvent()
        case Gaussian(mu=cost):
            made = events.GaussianDpEvent(_inverse(cost))
        case Laplace(epsilon=cost):
            made = events.LaplaceDpEvent(_inverse(cost))
        case Pure(epsilon=cost) | BoundedRange(epsilon=cost) | Approx(epsilon=cost, delta=0.0):
            made = events.DiscreteLaplaceDpEvent(cost, 1)
        case ZCDP(rho=cost):
            made = events.ZCDpEvent(cost)
        case _:
            return next((_event(events, weaker) for weaker in loss.implies()), events.UnsupportedDpEvent())
    return made if cost else events.NoOpDpEvent()


def _inverse(shift: float) -> float:
    """A noise multiplier of at most 1/shift, and at least the smallest float."""
    return max(math.nextafter(1.0 / shift, 0.0), 5e-324) if shift else math.inf
