"""The accountant that takes the tightest answer of those installed."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from dpframe import registry
from dpframe.errors import PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss


@attrs.frozen
class Auto(Accountant):
    """The smallest answer, in each case, of all accountants that support every loss.

    Each answer is valid by itself, and the losses are public, so the choice costs nothing.
    """

    name = "auto"

    def supports(self, loss: PrivacyLoss) -> bool:
        """Whether an installed accountant supports the loss."""
        return any(candidate.supports(loss) for candidate in _installed())

    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        """The smallest epsilon of the supporting accountants."""
        return min(candidate.epsilon(losses, delta) for candidate in supporting(losses))

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """The smallest delta of the supporting accountants."""
        return min(candidate.delta(losses, epsilon) for candidate in supporting(losses))

    def chosen(self, losses: Sequence[PrivacyLoss], delta: float) -> Accountant:
        """The accountant with the smallest epsilon at this delta."""
        return min(supporting(losses), key=lambda candidate: candidate.epsilon(losses, delta))


def accountant(name: str = "auto") -> Accountant:
    """The accountant with this name; "auto" takes the tightest of those installed.

    >>> from dpframe import losses
    >>> round(accountant("auto").epsilon([losses.Gaussian(mu=0.1)], delta=1e-6), 6)
    0.396857
    """
    return Auto() if name == "auto" else registry.accountant(name)()


def supporting(losses: Sequence[PrivacyLoss]) -> list[Accountant]:
    """The installed accountants that can compose all of these losses."""
    candidates = [candidate for candidate in _installed() if all(map(candidate.supports, losses))]
    if not candidates:
        names = sorted({type(loss).__name__ for loss in losses})
        raise PlanError(f"no installed accountant composes {', '.join(names)} losses in one total.")
    return candidates


def _installed() -> list[Accountant]:
    return [cls() for cls in registry.accountants()]
