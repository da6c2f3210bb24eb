"""Synthetic rows: of a model with a given second moment, or of a table made up from the ranges of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from dpframe.lattice import FloatArray
from dpframe.spec.columns import Category, Column

OFF_CENTER = 0.9  # of the root mean square along the first direction: the mean of off-center rows
DEGREES = {"model": 5.0, "table": 3.0}  # of freedom of heavy-tailed rows; fewer are heavier
FACTORS = 3  # that the columns of a table have in common
COMMON = 0.6  # the share of their variance that columns of a table have in common, on average
NEAREST, FARTHEST = 0.2, 0.8  # the center of a column, as a distance from the middle of its range
SMALLEST, LARGEST = 0.03, 0.3  # the spread of a column, of half its range
CODED = 0.5  # the share of columns of a coded table that have two values
RAREST = 0.98  # of rows have the more frequent value, at most


def factors(numbers: Generator, count: int, dim: int, shape: str | None) -> FloatArray:
    """Rows whose second moment is the identity on average, of the shape of a model's rows.

    Args:
        numbers: the source of random numbers.
        count: the number of rows.
        dim: the number of coordinates.
        shape: "off-center", "skewed" or "heavy-tailed"; anything else for normal rows.
    """
    if shape == "skewed":
        return numbers.exponential(size=(count, dim)) - 1.0
    rows = numbers.standard_normal((count, dim))
    if shape == "off-center":
        rows[:, 0] = OFF_CENTER + np.sqrt(1.0 - OFF_CENTER**2) * rows[:, 0]
    if shape == "heavy-tailed":
        rows *= _tails(numbers, count, DEGREES["model"])
    return rows


def _tails(numbers: Generator, count: int, degrees: float) -> FloatArray:
    """Factors, one for each row, that turn normal rows into Student's with the same variance."""
    squares = numbers.chisquare(degrees, size=(count, 1))
    return np.asarray(np.sqrt((degrees - 2.0) / squares))


def table(numbers: Generator, columns: Sequence[Column | Category], count: int, shape: str) -> FloatArray:
    """The mapped rows of a made-up table: numbers within [-1, 1], and one level of each category.

    Columns have a few factors in common, and centers and spreads that differ. Nothing but the columns, the number of
    rows and the random numbers is used.

    Args:
        numbers: the source of random numbers.
        columns: the columns of the table.
        count: the number of rows.
        shape: "off-center", "skewed", "heavy-tailed" or "coded".
    """
    latent = _correlated(numbers, count, len(columns))
    if shape == "heavy-tailed":
        latent *= _tails(numbers, count, DEGREES["table"])
    parts = []
    for column, values in zip(columns, latent.T, strict=True):
        if isinstance(column, Category):
            parts.append(_levels(numbers, values, len(column.levels)))
        else:
            parts.append(_numbers(numbers, values, shape)[:, None])
    return np.hstack(parts)


def _correlated(numbers: Generator, count: int, width: int) -> FloatArray:
    """Standard normal columns that have a few factors in common."""
    loadings = numbers.standard_normal((FACTORS, width)) * 0.7 ** np.arange(FACTORS)[:, None]
    share = COMMON * 2 * numbers.random(width)
    return with_factors(numbers, count, loadings, np.minimum(share, 0.95))


def with_factors(numbers: Generator, count: int, loadings: FloatArray, share: float | FloatArray) -> FloatArray:
    """Standard normal columns that have factors in common.

    Args:
        numbers: the source of random numbers.
        count: the number of rows.
        loadings: the weight of each factor, a row, in each column, up to a factor of that column.
        share: the share of the variance of each column that is due to the factors.
    """
    loadings = loadings * np.sqrt(share / np.square(loadings).sum(axis=0))
    own = np.sqrt(1.0 - np.square(loadings).sum(axis=0))
    common = numbers.standard_normal((count, len(loadings))) @ loadings
    return np.asarray(common + own * numbers.standard_normal((count, loadings.shape[1])))


def _numbers(numbers: Generator, values: FloatArray, shape: str) -> FloatArray:
    """A numeric column on [-1, 1], from standard values."""
    side = 1.0 if numbers.random() < 0.5 else -1.0
    place, spread = numbers.uniform(NEAREST, FARTHEST), SMALLEST * (LARGEST / SMALLEST) ** numbers.random()
    if shape == "coded" and numbers.random() < CODED:
        return np.asarray(side * np.where(values > np.quantile(values, numbers.uniform(0.5, RAREST)), 1.0, -1.0))
    moved = spread * np.exp(values) - 1.0 if shape == "skewed" else spread * values - place
    return np.asarray(side * np.clip(moved, -1.0, 1.0))


def _levels(numbers: Generator, values: FloatArray, count: int) -> FloatArray:
    """Indicators of the levels of a category, by where a value is among the others; some levels are rare."""
    shares = np.cumsum(numbers.dirichlet(np.ones(count)))
    ranks = np.argsort(np.argsort(values)) / len(values)
    chosen = np.minimum(np.searchsorted(shares, ranks, side="right"), count - 1)
    return np.eye(count)[chosen]
