"""Accountants that add up one exact number per loss. Ledgers keep that number, since it outlives the losses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpframe.errors import PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss
from dpframe.validators import check_delta


class ScalarAccountant(Accountant):
    """Composition by the sum of one cost per loss, without rounding."""

    @abstractmethod
    def cost(self, loss: PrivacyLoss) -> Fraction | None:
        """What a loss adds to the sum, never too little; None where the loss cannot be composed here."""

    @abstractmethod
    def epsilon_of(self, total: Fraction, delta: float) -> float:
        """An epsilon for which everything that adds up to this total is (epsilon, delta)-private."""

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
        return self.cost(loss) is not None

    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        check_delta(delta)
        return self.epsilon_of(self.total(losses), delta)
