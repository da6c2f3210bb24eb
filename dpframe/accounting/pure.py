"""Pure differential privacy: losses add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import attrs

from dpframe.accounting.scalar import ScalarAccountant
from dpframe.losses import PrivacyLoss, Pure

ROUNDING = 1e-12  # far above the rounding of a few operations


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
        rounded = float(total)
        return rounded if Fraction(rounded) >= total else math.nextafter(rounded, math.inf)

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        total = self.epsilon(losses, 0.0)
        if total <= epsilon:
            return 0.0
        exact = -math.expm1(epsilon - total) / (1.0 + math.exp(-total))  # randomised response is the worst case
        return min(1.0, exact * (1.0 + ROUNDING))
