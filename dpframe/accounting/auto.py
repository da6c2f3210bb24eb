"""The accountant that takes the tightest answer of the project's own, and accountants by name."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from dpframe import registry
from dpframe.accounting.third_party import ThirdParty
from dpframe.errors import PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss


@attrs.frozen
class Auto(Accountant):
    """The smallest answer, in each case, of the project's own accountants that support every loss.

    Each answer is valid by itself, and the losses are public, so the choice costs nothing. Accountants of third parties
    are not asked: one that understates would weaken every plan. A plan uses one of them only by naming it.
    """

    name = "auto"

    def supports(self, loss: PrivacyLoss) -> bool:
        """Whether one of the accountants supports the loss."""
        return any(candidate.supports(loss) for candidate in _own())

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
    """The accountant with this name; "auto" takes the tightest of the project's own.

    The answers of an accountant of a third party are refused, by PlanError, where a mechanism with the same losses is
    known to be less private.

    >>> from dpframe import losses
    >>> round(accountant("auto").epsilon([losses.Gaussian(mu=0.1)], delta=1e-6), 6)
    0.396857
    """
    if name == "auto":
        return Auto()
    cls = registry.accountant(name)
    if cls in registry.own_accountants():
        return cls()
    return ThirdParty(name=name, provider=registry.provider_label("accountant", name), answering=cls())


def supporting(losses: Sequence[PrivacyLoss]) -> list[Accountant]:
    """The project's own accountants that can compose all of these losses; raises PlanError where there is none."""
    candidates = own_supporting(losses)
    if not candidates:
        names = sorted({type(loss).__name__ for loss in losses})
        foreign = [cls.name for cls in registry.accountants() if cls not in registry.own_accountants()]
        others = f" Accountants of third parties compose only what a plan names them for: {', '.join(foreign)}."
        raise PlanError(
            f"no accountant of the project composes {', '.join(names)} losses in one total.{others if foreign else ''}"
        )
    return candidates


def own_supporting(losses: Sequence[PrivacyLoss]) -> list[Accountant]:
    """The project's own accountants that can compose all of these losses."""
    return [candidate for candidate in _own() if all(map(candidate.supports, losses))]


def _own() -> list[Accountant]:
    return [cls() for cls in registry.own_accountants()]
