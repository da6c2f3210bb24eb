"""Accountants that add up one exact number per loss. Ledgers store that number, which remains when losses are gone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpframe.errors import PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss
from dpframe.validators import check_delta


class ScalarAccountant(Accountant):
    """Composition by an exact sum of one cost per loss."""

    @abstractmethod
    def cost(self, loss: PrivacyLoss) -> Fraction | None:
        """The term of a loss in the sum, never too small; None if this accountant cannot compose the loss."""

    @abstractmethod
    def epsilon_of(self, total: Fraction, delta: float) -> float:
        """An epsilon for which any composition with this total is (epsilon, delta)-private."""

    def total(self, losses: Iterable[PrivacyLoss]) -> Fraction:
        """The sum of the costs."""
        total = Fraction(0)
        for loss in losses:
            cost = self.cost(loss)
            if cost is None:
                raise PlanError(f"the accountant {self.name!r} cannot compose a {type(loss).__name__} loss.")
            total += cost
        return total

    def supports(self, loss: PrivacyLoss) -> bool:
        """Whether the loss has a cost here."""
        return self.cost(loss) is not None

    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        """The epsilon of the total cost at this delta."""
        check_delta(delta)
        return self.epsilon_of(self.total(losses), delta)
