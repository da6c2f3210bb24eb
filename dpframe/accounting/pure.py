"""Pure differential privacy: losses add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import attrs

from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss, Pure
from dpframe.validators import check_delta

ROUNDING = 1e-12  # far above the rounding of a few operations


@attrs.frozen
class PureAccountant(Accountant):
    """Basic composition of losses that are, or imply, pure differential privacy.

    >>> PureAccountant().epsilon([Pure(epsilon=0.5), Pure(epsilon=0.25)], delta=0.0)
    0.75
    """

    name = "pure"

    def supports(self, loss: PrivacyLoss) -> bool:
        return _pure(loss) is not None

    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        check_delta(delta)
        total = sum((Fraction(pure.epsilon) for loss in losses if (pure := _pure(loss))), Fraction(0))
        rounded = float(total)
        return rounded if Fraction(rounded) >= total else math.nextafter(rounded, math.inf)

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        total = self.epsilon(losses, 0.0)
        if total <= epsilon:
            return 0.0
        exact = -math.expm1(epsilon - total) / (1.0 + math.exp(-total))  # randomised response is the worst case
        return min(1.0, exact * (1.0 + ROUNDING))


def _pure(loss: PrivacyLoss) -> Pure | None:
    return next((weaker for weaker in (loss, *loss.implies()) if isinstance(weaker, Pure)), None)
