"""Private data on its way from the rows to a mechanism. Nothing here shows a value when printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe import lattice
from dpframe.display.redacted import Redacted
from dpframe.lattice import FloatArray, IntArray
from dpframe.reading.scratch import Scratch
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.reading.int16 import Narrow


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to: what one statistic or mechanism is shown, others are shown too."""
    view = array.view()
    view.flags.writeable = False
    return view


Values = NDArray[Any] | Callable[[], NDArray[Any]]


def _read_only_if_known(values: Values) -> Values:
    return values if callable(values) else read_only(values)


@attrs.frozen(repr=False, eq=False)
class Chunk(Redacted):
    """Some rows, mapped to coordinates, for a statistic to look at.

    Args:
        rows: the promise, with its dimension known.
        values: (rows, dim), NaN in rows that contribute nothing; or what gives them if a statistic asks.
        within: whether every row is known to be finite and no longer than the promise says.
        count: how many rows there are, where the values are not there yet.
        rounded: gives room for the integers that holds the values in lattice steps, rounded, where there is a faster
            way to them than from the values.
        narrow: the integers in 16 bits, where they are known by now and fit.
        gram: adds the exact Gram matrix of the integer rows, where there is a faster way than from them.
        scratch: where integer rows are held; memory of its own unless given.
    """

    rows: Rows
    _values: Values = attrs.field(alias="values", converter=_read_only_if_known)
    within: bool = attrs.field(default=False, kw_only=True)
    _count: int | None = attrs.field(default=None, alias="count", kw_only=True)
    _rounded: Callable[[], FloatArray] | None = attrs.field(default=None, alias="rounded", kw_only=True)
    _narrow: Narrow | None = attrs.field(default=None, alias="narrow", kw_only=True)
    _gram: Callable[[IntArray], None] | None = attrs.field(default=None, alias="gram", kw_only=True)
    _scratch: Scratch = attrs.field(factory=Scratch, alias="scratch", kw_only=True)
    _integers: FloatArray | None = attrs.field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.values) if self._count is None else self._count

    @property
    def values(self) -> NDArray[Any]:
        """The coordinates, neither clipped to the norm nor rounded; NaN in rows that contribute nothing."""
        if callable(self._values):
            object.__setattr__(self, "_values", read_only(self._values()))
        assert not callable(self._values)  # by now
        return self._values

    def integers(self) -> FloatArray:
        """Lattice rows of length at most RADIUS, followed by the constant coordinate where the plan is centred.

        They are computed once, for all statistics that look at these rows, and cannot be written to.
        """
        if self._integers is None:
            object.__setattr__(self, "_integers", read_only(self._to_lattice()))
        assert self._integers is not None  # by now
        return self._integers

    def add_gram(self, total: IntArray) -> None:
        """Add the exact Gram matrix of the integer rows."""
        if self._gram is not None:
            self._gram(total)
        else:
            lattice.add_gram(self.integers(), total)

    def _to_lattice(self) -> FloatArray:
        dim = self.rows.known_dim
        if self._narrow is not None:
            room = self._scratch.integers(self._narrow.count, self.rows, by_columns=True)
            self._narrow.widen(room)
            return room
        if self._rounded is not None:
            room = self._rounded()
            lost = None if self.within else lattice.shorten(room[:, :dim], lambda: self.values)
        else:
            room = self._scratch.integers(len(self.values), self.rows, by_columns=self.values.flags.fnc)
            _, lost = lattice.integer_rows(self.values, self.rows.length, room[:, :dim], within=self.within)
        if self.rows.center:
            room[:, dim] = self.rows.constant
            if lost is not None:
                room[lost, dim] = 0.0
        return room

    def finite(self) -> NDArray[Any]:
        """The rows that contribute, neither clipped nor rounded."""
        keep = np.isfinite(self.values).all(axis=1)
        return self.values if keep.all() else self.values[keep]
