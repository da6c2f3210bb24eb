"""The privacy a user is willing to spend."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import attrs

from dpframe import validators

LARGEST = 1e6  # nothing of that size protects anybody


def told(value: float, *, up: bool = True) -> str:
    """A guarantee in six digits, rounded up: what is read is never stronger than what holds.

    What is left of a budget is rounded down instead: what is read is never more than there is.

    >>> told(1.0), told(1.0000001), told(1e-6), told(0.9999999, up=False)
    ('1', '1.00001', '1e-06', '0.999999')
    """
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    return f"{float(Context(prec=6, rounding=rounding).create_decimal_from_float(value)):.6g}"


@attrs.frozen(kw_only=True)
class Budget:
    """An (epsilon, delta) guarantee: a promise when asked for, a fact when reported as spent.

    Args:
        epsilon: how far one person may shift the odds of any outcome, on the log scale. A plan needs more than 0.
        delta: the probability mass exempt from that bound; 0 asks for pure differential privacy.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    """

    epsilon: float = attrs.field(
        converter=validators.as_float, validator=validators.number(at_least=0.0, below=LARGEST)
    )
    delta: float = attrs.field(
        default=0.0, converter=validators.as_float, validator=validators.number(at_least=0.0, below=1.0)
    )

    def __str__(self) -> str:
        return f"epsilon={told(self.epsilon)}, delta={told(self.delta)}"
