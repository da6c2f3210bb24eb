"""Public ranges of features, as users of scikit-learn write them, and the columns that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import dpframe as dp

ADVICE = (
    "Say bounds=(low, high) for all features, bounds=([low, ...], [high, ...]) or bounds={name: (low, high)}. They are "
    "public and never read off the data. Nothing was charged, read or drawn."
)


def columns(bounds: Any, names: Sequence[str]) -> list[dp.Column]:
    """One column for each feature; raises PlanError where the bounds are missing or do not fit.

    Args:
        bounds: (low, high), each a number or one number per feature; or (low, high) by name.
        names: the names of the features.
    """
    if bounds is None:
        raise dp.PlanError(f"bounds are missing. {ADVICE}")
    if isinstance(bounds, Mapping):
        if absent := [name for name in names if name not in bounds]:
            raise dp.PlanError(f"bounds have no range for {absent[0]!r}. {ADVICE}")
        return [dp.Column(name, *_pair(bounds[name])) for name in names]
    low, high = (_each(end, len(names)) for end in _pair(bounds))
    return [dp.Column(*each) for each in zip(names, low, high, strict=True)]


def _pair(bounds: Any) -> tuple[Any, Any]:
    if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise dp.PlanError(f"bounds must be a pair (low, high); got {type(bounds).__name__}. {ADVICE}")
    return bounds[0], bounds[1]


def _each(end: Any, count: int) -> list[Any]:
    """One number for each feature."""
    if np.ndim(end) == 0:
        return [end] * count
    if np.shape(end) != (count,):
        raise dp.PlanError(f"bounds have {np.size(end)} numbers for {count} columns. {ADVICE}")
    return list(np.asarray(end).tolist())
