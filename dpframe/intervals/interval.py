"""An interval for each number of a released value."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import PlanError
from dpframe.validators import is_finite


def _read_only(values: Any) -> NDArray[Any]:
    array = np.array(values)
    array.setflags(write=False)
    return array


@attrs.frozen(kw_only=True, eq=False)
class Interval:
    """Where the value without noise is, for each number of a released value, with a stated confidence.

    Args:
        low: the lower ends, an array like the value; -inf where nothing is known.
        high: the upper ends; inf where nothing is known.
        confidence: the share of releases in which an interval covers the value without noise, each for itself unless
            `simultaneous`.
        method: how the interval was found and what it does not include, in sentences.
        determined: where the interval says anything beyond what holds for every data set.
        simultaneous: whether all intervals hold together with that confidence.
        approximate: whether the confidence is not proved, not even for small noise: releases were redrawn.
        angle_degrees: of a subspace, the largest angle to the one without noise, at that confidence; 90 where it is not
            determined, and None for other values.
    """

    low: NDArray[Any] = attrs.field(converter=_read_only)
    high: NDArray[Any] = attrs.field(converter=_read_only)
    confidence: float
    method: str
    determined: NDArray[Any] = attrs.field(converter=_read_only)
    simultaneous: bool = False
    approximate: bool = False
    angle_degrees: float | None = None

    def __attrs_post_init__(self) -> None:
        if not self.low.shape == self.high.shape == self.determined.shape:
            raise PlanError(
                f"an interval needs low, high and determined of one shape; got {self.low.shape}, {self.high.shape} and "
                f"{self.determined.shape}."
            )

    @property
    def excludes_zero(self) -> NDArray[Any]:
        """Where the interval tells the value from zero."""
        return (self.low > 0.0) | (self.high < 0.0)


def check_confidence(confidence: Any) -> float:
    """The confidence as a float; raises PlanError unless it is between 0 and 1.

    >>> check_confidence(0.9)
    0.9
    """
    if not (is_finite(confidence) and 0.0 < confidence < 1.0):
        raise PlanError(f"confidence must be a number between 0 and 1, such as 0.95; got {confidence!r}.")
    return float(confidence)
