"""Eigenvalues and gaps of the Adult, KDD Cup and ACS data sets, and what Assumption 2.1 asks of them.

Everything here is computed from public data sets as they are. None of it is private.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.demo import datasets
from dpframe_gaussian import rates

Floats = NDArray[np.float64]

FOLDER = "DPFRAME_DATA"  # names a folder with data sets that are not shipped
EPSILON, DELTA = 1.0, 0.01


@attrs.frozen(kw_only=True, eq=False)
class Covariance:
    """A data set after normalization.

    Args:
        rows: how many there are.
        spectrum: eigenvalues of the sum of x xᵀ, from the largest.
        as_printed: the largest eigenvalue when rows are divided by the largest norm before they are centered.
    """

    rows: int
    spectrum: Floats
    as_printed: float

    @property
    def gaps(self) -> Floats:
        found: Floats = -np.diff(self.spectrum)
        return found

    def share(self, k: int) -> float:
        """Of the Frobenius norm, how much the k leading eigenvalues hold."""
        return float(np.linalg.norm(self.spectrum[:k]) / np.linalg.norm(self.spectrum))

    def threshold(self, k: int, *, root: bool = True) -> float:
        return threshold(len(self.spectrum), self.spectrum[0], k, root=root)

    def largest_rank(self, *, root: bool = True) -> int:
        """The largest k for which Assumption 2.1 holds."""
        ranks = range(1, len(self.spectrum))
        return max((k for k in ranks if self.gaps[:k].min() >= self.threshold(k, root=root)), default=0)


def threshold(dim: int, largest: float, k: int, *, root: bool = True) -> float:
    """What Assumption 2.1 asks for with λ_1 = σ_1; without the root in it, which is what the printed figures are."""
    asked = rates.needed_gap(dim, k, largest, epsilon=EPSILON, delta=DELTA)
    logarithm = math.log(1.25 / DELTA)
    return asked if root else asked + 8 * (logarithm - math.sqrt(logarithm)) * math.sqrt(dim) / EPSILON


def normalized(table: Floats) -> Covariance:
    """Each column to [0, 1], constant ones left out; centered; then all rows divided by the largest norm among them."""
    low, width = table.min(axis=0), np.ptp(table, axis=0)
    scaled = (table[:, width > 0] - low[width > 0]) / width[width > 0]
    longest = math.sqrt(np.einsum("ij,ij->i", scaled, scaled).max())
    scaled -= scaled.mean(axis=0)
    longest_centered = math.sqrt(np.einsum("ij,ij->i", scaled, scaled).max())
    spectrum = np.linalg.eigvalsh(scaled.T @ scaled)[::-1]
    return Covariance(
        rows=len(table), spectrum=spectrum / longest_centered**2, as_printed=float(spectrum[0] / longest**2)
    )


def adult() -> Covariance:
    """The six numeric columns of Adult, which ships with dpframe."""
    return normalized(np.column_stack(list(datasets.adult().values())))


def kdd() -> Covariance | None:
    """The numeric columns of the 10 % file of KDD Cup 1999; None where it is not at hand.

    The paper counts one row fewer than the file has, as if its first line had been taken for a header.
    """
    path = Path(os.environ.get(FOLDER, "")) / "kddcup99_10pct.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as archive:
        return normalized(archive["X"][1:])


MEASURED = ("AGEP", "NOC", "NPF", "DENSITY", "EDU", "PINCP", "POVPIP", "PWGTP", "WGTP")  # the rest are categories


def acs() -> Covariance | None:
    """The numeric columns of the NIST excerpts of the American Community Survey 2019; None where they are not at hand.

    They stand in for the 1990 Census of the paper. A value that does not apply counts as the mean of its column.
    """
    path = Path(os.environ.get(FOLDER, "")) / "acs2019_nist.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as archive:
        table, names = archive["X"].astype(np.float64), archive["columns"].tolist()
    chosen = table[:, [names.index(name) for name in MEASURED]]
    return normalized(np.where(np.isnan(chosen), np.nanmean(chosen, axis=0), chosen))
