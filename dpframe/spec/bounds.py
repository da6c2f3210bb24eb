"""Forecasts and bounds of an error, and the assumptions they rest on."""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class Assumption:
    """A condition under which a bound holds, and whether the scenario meets it.

    Args:
        text: the condition in words.
        holds: whether the scenario meets it.
    """

    text: str
    holds: bool


@attrs.frozen(kw_only=True)
class Bound:
    """One forecast or bound on the error of a result.

    Args:
        name: the name that the oracle gives it.
        value: the norm itself, not squared; None if a failed assumption leaves no number.
        norm: which norm, of which difference.
        kind: a "forecast" is an expected size; "upper-mean", "upper-probability" and "lower" are proved; a "rate" is
            known up to a constant.
        explicit: whether every constant is known.
        assumptions: the conditions under which it holds.
        citation: where it is proved.
        confidence: the probability with which an "upper-probability" bound or a simulated quantile covers the error.
        interval: a 99 % confidence interval for the true value of a simulated figure.
    """

    name: str
    value: float | None
    norm: str
    kind: Literal["forecast", "upper-mean", "upper-probability", "lower", "rate"]
    explicit: bool
    assumptions: tuple[Assumption, ...] = ()
    citation: str = ""
    confidence: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def valid(self) -> bool:
        """Whether there is a number and every assumption holds."""
        return self.value is not None and all(assumption.holds for assumption in self.assumptions)
