"""The tightest of the installed accountants."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from dpframe import registry
from dpframe.errors import PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss


@attrs.frozen
class Auto(Accountant):
    """For each question, the smallest answer of all accountants that support every loss. Each answer is a valid one,
    and which losses there are is public, so the choice costs nothing."""

    name = "auto"

    def supports(self, loss: PrivacyLoss) -> bool:
        return any(candidate.supports(loss) for candidate in _installed())

    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        return min(candidate.epsilon(losses, delta) for candidate in supporting(losses))

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        return min(candidate.delta(losses, epsilon) for candidate in supporting(losses))

    def chosen(self, losses: Sequence[PrivacyLoss], delta: float) -> Accountant:
        """The accountant whose answer that is."""
        return min(supporting(losses), key=lambda candidate: candidate.epsilon(losses, delta))


def accountant(name: str = "auto") -> Accountant:
    """An accountant by name.

    >>> from dpframe import losses
    >>> round(accountant("auto").epsilon([losses.Gaussian(mu=0.1)], delta=1e-6), 6)
    0.396857
    """
    return Auto() if name == "auto" else registry.accountant(name)()


def supporting(losses: Sequence[PrivacyLoss]) -> list[Accountant]:
    """The installed accountants that can compose all of these losses."""
    found = [candidate for candidate in _installed() if all(map(candidate.supports, losses))]
    if not found:
        names = sorted({type(loss).__name__ for loss in losses})
        raise PlanError(f"no installed accountant composes {', '.join(names)} losses in one total.")
    return found


def _installed() -> list[Accountant]:
    return [cls() for cls in registry.accountants()]
