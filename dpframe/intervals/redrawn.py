"""Intervals from releases that were drawn again as if what was released were the truth."""

from __future__ import annotations

import attrs
import numpy as np

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import Law, refuse_sampling, sentences
from dpframe.kinds import ComplexSubspace, Kind
from dpframe.lattice import FloatArray


@attrs.frozen(kw_only=True, eq=False)
class RedrawnLaw(Law):
    """A derived value, and the same derivation of redrawn releases.

    The interval is the value and, to both sides, the distance that a share of the redrawn values keeps. It is
    approximate: where the derivation is far from linear within the noise, it may cover less than it states.

    Args:
        value: the derived value.
        draws: its redrawn values, one after the other.
    """

    value: FloatArray
    draws: FloatArray

    @classmethod
    def of(cls, value: Kind, draws: list[Kind]) -> RedrawnLaw | None:
        """The law of a derived value; None if it is not real, or if its shape depends on the noise.

        Args:
            value: the derived value.
            draws: its redrawn values.
        """
        arrays = [_like(value, draw) for draw in draws if draw.array.shape == value.array.shape]
        if value.array.dtype.kind != "f" or len(arrays) < len(draws) or not arrays:
            return None
        return cls(value=value.array, draws=np.array(arrays))

    def interval(self, confidence: float, *, sampled: bool = False) -> Interval:
        refuse_sampling(sampled, "a value without a stated law")
        reach = np.quantile(np.abs(self.draws - self.value), confidence, axis=0)
        words = (
            f"Releases were drawn again {len(self.draws)} times as if what was released were the truth, and the "
            "derivation was applied to each: approximate."
        )
        return Interval(
            low=self.value - reach,
            high=self.value + reach,
            confidence=confidence,
            method=sentences(words, sampled),
            determined=np.ones(self.value.shape, dtype=bool),
            approximate=True,
        )

    def standard_error(self) -> FloatArray:
        return np.asarray(np.sqrt(np.square(self.draws - self.value).mean(axis=0)))


def _like(value: Kind, draw: Kind) -> FloatArray:
    """The array of a redrawn value; the signs of directions are those nearest to the released ones."""
    if not isinstance(value, ComplexSubspace):
        return draw.array
    signs = np.where(np.einsum("ij,ij->j", value.array.real, draw.array.real) < 0.0, -1.0, 1.0)
    return np.asarray(draw.array * signs)
