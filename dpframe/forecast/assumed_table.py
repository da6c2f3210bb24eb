"""A table made up from what a plan assumes about its columns: the only data that forecasts for columns read.

Each numeric column is normal and clipped to its range, as cells are, with the assumed mean and standard deviation:
bell-shaped for small deviations, with many cells at an end of the range if the mean is near it, two-valued in the
limit. Every mean and deviation that is possible within a range is that of such a column. Levels of a category are
equally frequent. Columns depend on each other through a few common factors, since radii and corrections for noise
depend on correlations.

A large table is not kept whole. Few rows are beyond a released radius, so the longest rows are kept one by one, and
each of the others stands for many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dpframe.forecast.error_norms import SEED
from dpframe.forecast.population import Sample
from dpframe.forecast.synthetic_rows import FACTORS, with_factors
from dpframe.lattice import FloatArray
from dpframe.spec.columns import Category, Column

SHARE = 0.35  # of the variance of a column is due to the common factors
CORRELATION = (
    0.2  # the size of correlations that follows from it: 0.35 times the cosine of directions in three dimensions
)
MOST_NUMBERS = 4_000_000  # that are drawn; of a larger table each row stands for several
LONGEST = 4096  # rows that are kept one by one
THINNED = 16  # of the next 16 times as many one in 16 is kept, of the others one in 256
WIDEST = 1e6  # the deviation before clipping, of the range: hardly any values are left but its ends
UNCLIPPED = 40  # deviations to the nearer end of the range from which nothing is clipped
STEPS = 60  # that halve what is possible for the mean and the deviation before clipping


def assumed_table(columns: Sequence[Column | Category], count: int) -> Sample:
    """The mapped rows of a table of so many rows, up to one in some thousands; always the same for the same arguments.

    Args:
        columns: the columns, with what is assumed about them.
        count: the number of rows.
    """
    numbers = np.random.default_rng([SEED, 0xC01])
    width = sum(len(column.labels) for column in columns)
    each = -(-count // max(MOST_NUMBERS // width, LONGEST))  # rows that each row drawn stands for
    latent = with_factors(numbers, count // each, numbers.standard_normal((FACTORS, len(columns))), SHARE)
    parts = [
        _levels(column, values) if isinstance(column, Category) else _numbers(column, values)[:, None]
        for column, values in zip(columns, latent.T, strict=True)
    ]
    return _thinned(np.hstack(parts), each)


def _numbers(column: Column, latent: FloatArray) -> FloatArray:
    """A numeric column on [-1, 1] with the assumed mean and deviation, from standard normal values."""
    mean, sd = (figure / (2 * column.half_width) for figure in _of_range(column))
    middle, spread = before_clipping(mean, sd)
    return np.asarray(2 * np.clip(middle + spread * latent, 0.0, 1.0) - 1)


@lru_cache(maxsize=4096)
def before_clipping(mean: float, sd: float) -> tuple[float, float]:
    """The mean and the deviation of normal values that have these figures when they are clipped to [0, 1].

    Clipping makes a deviation smaller. For each deviation before it there is one mean that leaves the given one, and
    among these the deviation that is left grows with that before.

    Args:
        mean: the mean, between 0 and 1.
        sd: the standard deviation, at most √(mean(1 − mean)).

    >>> [round(figure, 3) for figure in before_clipping(0.1, 0.2)]
    [-0.221, 0.479]
    """
    if mean > 0.5:  # so that nothing cancels
        middle, spread = before_clipping(1 - mean, sd)
        return 1 - middle, spread
    if mean > UNCLIPPED * sd:
        return mean, sd
    low, high = math.log(sd), math.log(WIDEST)
    for _ in range(STEPS):
        log = (low + high) / 2
        middle = _middle(mean, math.exp(log))
        low, high = (log, high) if _clipped(middle, math.exp(log))[1] < sd else (low, log)
    return middle, math.exp(log)


def _middle(mean: float, spread: float) -> float:
    """The mean before clipping, from that after it and the deviation before it."""
    low, high = mean - UNCLIPPED * spread, mean + UNCLIPPED * spread
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _clipped(middle, spread)[0] < mean else (low, middle)
    return middle


def _clipped(middle: float, spread: float) -> tuple[float, float]:
    """The mean and the deviation of normal values after clipping them to [0, 1], from those before."""
    start, end = -middle / spread, (1 - middle) / spread
    above = math.erfc(end / math.sqrt(2)) / 2
    inside = math.erfc(start / math.sqrt(2)) / 2 - above
    first, last = (math.exp(-(each**2) / 2) / math.sqrt(2 * math.pi) for each in (start, end))
    mean = middle * inside + spread * (first - last) + above
    square = middle * mean + spread**2 * inside + (1 - middle) * above - spread * last
    return mean, math.sqrt(max(square - mean**2, 0.0))


def _of_range(column: Column) -> tuple[float, float]:
    """The assumed mean, from the lower end of the range, and the assumed deviation."""
    mean, sd = column.assumed
    return mean - column.low, sd


def _levels(column: Category, latent: FloatArray) -> FloatArray:
    """Indicators of equally frequent levels, from standard normal values."""
    from scipy.special import ndtr

    count = len(column.levels)
    return np.eye(count)[np.minimum((ndtr(latent) * count).astype(np.int64), count - 1)]


def _thinned(values: FloatArray, each: int) -> Sample:
    """The longest rows about the mean, as they are or with columns divided by their deviations, and a part of the rest.

    Args:
        values: the mapped rows.
        each: how many rows of the table each of them stands for.
    """
    if len(values) <= LONGEST:
        return Sample(values, np.full(len(values), each, dtype=np.int64))
    squares = np.square(values - values.mean(axis=0))
    variances = squares.mean(axis=0)
    lengths = [squares.sum(axis=1), squares @ (1 / np.where(variances > 0.0, variances, 1.0))]
    long = np.maximum.reduce([length / np.partition(length, -LONGEST)[-LONGEST] for length in lengths])
    order = np.argsort(-long)
    bounds = [0, LONGEST, (1 + THINNED) * LONGEST, len(values)]
    kept, times = [], []
    for power, (start, end) in enumerate(pairwise(bounds)):
        step = THINNED**power
        places = order[start + step // 2 : end : step]
        kept.append(places)
        times.append(np.full(len(places), step * each, dtype=np.int64))
    return Sample(values[np.concatenate(kept)], np.concatenate(times))
