"""Pure differential privacy: epsilon adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import attrs

from dpframe.accounting.scalar import ScalarAccountant
from dpframe.losses import PrivacyLoss, Pure

ROUNDING = 1e-12  # far above the rounding error of a few operations


@attrs.frozen
class PureAccountant(ScalarAccountant):
    """Basic composition of losses that are, or imply, pure differential privacy.

    >>> PureAccountant().epsilon([Pure(epsilon=0.5), Pure(epsilon=0.25)], delta=0.0)
    0.75
    """

    name = "pure"

    def cost(self, loss: PrivacyLoss) -> Fraction | None:
        """epsilon."""
        pure = next((weaker for weaker in (loss, *loss.implies()) if isinstance(weaker, Pure)), None)
        return None if pure is None else Fraction(pure.epsilon)

    def epsilon_of(self, total: Fraction, delta: float) -> float:
        """The total, rounded up to a double."""
        rounded = float(total)
        return rounded if Fraction(rounded) >= total else math.nextafter(rounded, math.inf)

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """(1 − e^(epsilon − total)) / (1 + e^−total), rounded up; 0 if epsilon is at least the total."""
        total = self.epsilon(losses, 0.0)
        if total <= epsilon:
            return 0.0
        exact = -math.expm1(epsilon - total) / (1.0 + math.exp(-total))  # randomized response is the worst case
        return min(1.0, exact * (1.0 + ROUNDING))
