"""Gelfand–Tsetlin patterns with a given top row: their free entries, and the shallowest and deepest pattern.

Row j of the pattern of a Hermitian matrix holds the eigenvalues x_{j,1} ≥ … ≥ x_{j,j} of its leading block of size j;
rows interlace, x_{j+1,l} ≥ x_{j,l} ≥ x_{j+1,l+1}, and the top row is the spectrum. Spectra are shifted and scaled here
so that the largest eigenvalue is 1 and the smallest 0. With k positive eigenvalues only the first min(j, k) entries of
a row can be other than zero.

Entries are held as depths y_{j,l} = λ_l − x_{j,l} ≥ 0, which are small where the density is large and so keep their
relative precision there. With g_l = λ_l − λ_{l+1} the constraints on one depth given the others are

    max(y_{j+1,l}, y_{j−1,l−1} − g_{l−1}) ≤ y_{j,l} ≤ min(y_{j−1,l}, y_{j+1,l+1} + g_l).

Depths are stored in an array of d + 1 rows and k + 2 columns, indexed by (j, l) as above; column k + 1 stands for the
eigenvalues that are zero.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Chain(NamedTuple):
    """A density ∏ exp(−rates[j]·y_{j,l}) over the patterns below one spectrum, as compiled code takes it.

    Args:
        gaps, rows, columns: those of the pattern.
        rates: c_j at index j, from 1 to d − 1; none negative.
        ranges: the largest depth of each free entry.
    """

    gaps: Floats
    rates: Floats
    rows: Integers
    columns: Integers
    ranges: Floats


@attrs.frozen(kw_only=True, eq=False)
class Pattern:
    """The shape of all patterns below one spectrum.

    Args:
        spectrum: d eigenvalues from the largest, which is 1, to the smallest, which is 0.
        gaps: g_l at index l, from 1 to k.
        rows: j of each free entry, in the order of a sweep.
        columns: l of each free entry.
    """

    spectrum: Floats
    gaps: Floats
    rows: Integers
    columns: Integers

    @classmethod
    def below(cls, spectrum: Floats) -> Pattern:
        """The patterns with this top row."""
        dim, rank = len(spectrum), int(np.count_nonzero(spectrum))
        padded = np.concatenate([spectrum, np.zeros(rank + 1)])
        free = [
            (j, column)
            for parity in (1, 0)  # rows of one parity depend on rows of the other alone
            for j in range(dim - 1, 0, -1)
            if j % 2 == parity
            for column in range(1, min(j, rank) + 1)
            if padded[column - 1] > padded[column - 1 + dim - j]  # otherwise it lies between equal eigenvalues
        ]
        gaps = np.zeros(rank + 2)
        gaps[1:-1] = padded[:rank] - padded[1 : rank + 1]
        rows, columns = np.array(free, dtype=np.int64).reshape(-1, 2).T
        return cls(spectrum=spectrum, gaps=gaps, rows=rows.copy(), columns=columns.copy())

    @property
    def dim(self) -> int:
        """d, the number of eigenvalues."""
        return len(self.spectrum)

    @property
    def rank(self) -> int:
        """k, the number of positive eigenvalues."""
        return len(self.gaps) - 2

    @property
    def size(self) -> int:
        """The number of free entries."""
        return len(self.rows)

    def chain(self, rates: Floats) -> Chain:
        """The density with these rates."""
        return Chain(self.gaps, rates, self.rows, self.columns, self.deepest()[self.rows, self.columns])

    def shallowest(self) -> Floats:
        """The pattern with every entry as large as can be."""
        return np.zeros((self.dim + 1, self.rank + 2))

    def deepest(self) -> Floats:
        """The pattern with every entry as small as can be."""
        depths = self.shallowest()
        padded = np.concatenate([self.spectrum, np.zeros(self.rank)])
        columns = self.columns - 1
        depths[self.rows, self.columns] = padded[columns] - padded[columns + self.dim - self.rows]
        return depths
