"""Data shipped with the package, for demonstrations and tests."""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from dpframe.spec.columns import Column

# Public ranges, from the census documentation and common sense, never from the rows.
ADULT_COLUMNS = [
    Column("age", 17, 90, unit="years"),  # adults; the census top-codes age at 90
    Column("fnlwgt", 0, 1_500_000, unit="people"),  # sampling weight
    Column("education_num", 1, 16, unit="level"),  # an ordered code of sixteen levels
    Column("capital_gain", 0, 99_999, unit="USD"),  # top-coded at 99,999
    Column("capital_loss", 0, 5_000, unit="USD"),
    Column("hours_per_week", 1, 99, unit="hours"),  # two digits
]


def adult() -> dict[str, NDArray[np.float64]]:
    """The six numeric columns of the Adult data set: 48,842 people of the 1994 US census.

    Becker and Kohavi (1996), UCI Machine Learning Repository, CC BY 4.0. ``ADULT_COLUMNS`` holds public ranges.

    >>> {len(values) for values in adult().values()}
    {48842}
    """
    with resources.files("dpframe").joinpath("data/adult.npz").open("rb") as file, np.load(file) as archive:
        return {name.replace("-", "_"): archive[name].astype(np.float64) for name in archive.files}
