"""Zero-concentrated differential privacy: rho adds up.

The conversion to (epsilon, delta) is that of Canonne, Kamath and Steinke 2020 (Proposition 12 with the Rényi curve
alpha · rho): for every alpha > 1,

    epsilon = alpha · rho + (ln(1/delta) + (alpha − 1) ln(1 − 1/alpha) − ln(alpha)) / (alpha − 1).

Each alpha gives a valid answer, so a numerical search for the best one cannot make it wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs

from dpframe.accounting.scalar import ScalarAccountant
from dpframe.losses import ZCDP, PrivacyLoss

ROUNDING = 1e-12  # far above the rounding error of a few operations
SMALLEST = 5e-324  # for sums below 2^−1022, which have few digits


@attrs.frozen
class ZcdpAccountant(ScalarAccountant):
    """Composition of losses that are, or imply, zero-concentrated differential privacy.

    >>> from dpframe.losses import Gaussian, Pure
    >>> round(ZcdpAccountant().epsilon([Gaussian(mu=0.1), Pure(epsilon=0.1)], delta=1e-6), 4)
    0.6216
    """

    name = "zcdp"

    def cost(self, loss: PrivacyLoss) -> Fraction | None:
        """rho."""
        zcdp = next((weaker for weaker in (loss, *loss.implies()) if isinstance(weaker, ZCDP)), None)
        return None if zcdp is None else Fraction(zcdp.rho)

    def epsilon_of(self, total: Fraction, delta: float) -> float:
        """The smallest epsilon of the formula above over alpha, rounded up."""
        rho = _rounded_up(total)
        if rho == 0.0:
            return 0.0
        if delta == 0.0:
            return math.inf
        best = _smallest(lambda alpha: alpha * rho + (-math.log(delta) + _credit(alpha)) / (alpha - 1))
        return max(0.0, best * (1 + ROUNDING))

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """The smallest delta of the same formula over alpha, rounded up."""
        rho = _rounded_up(self.total(losses))
        if rho == 0.0:
            return 0.0
        best = _smallest(lambda alpha: (alpha - 1) * (alpha * rho - epsilon) + _credit(alpha))
        return min(1.0, math.exp(best + ROUNDING * (1 + abs(best))))


def _credit(alpha: float) -> float:
    return (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)


def _smallest(value: Callable[[float], float]) -> float:
    """The smallest value found over alpha > 1, searched on a logarithmic scale of alpha − 1."""
    from scipy.optimize import minimize_scalar

    def at(log_excess: float) -> float:
        return value(1 + math.exp(log_excess))

    grid = [-18 + 0.5 * i for i in range(109)]
    start = min(range(1, len(grid) - 1), key=lambda i: at(grid[i]))
    best = minimize_scalar(at, bounds=(grid[start - 1], grid[start + 1]), method="bounded", options={"xatol": 1e-10})
    return min(float(best.fun), at(grid[start]))


def _rounded_up(total: Fraction) -> float:
    """A double above the total; 0 if it is 0."""
    return float(total) * (1 + ROUNDING) + SMALLEST if total > 0 else 0.0
