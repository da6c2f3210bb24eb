"""How an engine writes what the map of rows needs, and what it must promise for the integers to be exact.

The map uses IEEE doubles in a fixed order: comparison, difference, product, quotient, root and rounding to the nearest
integer, ties to even. All but the last must be correctly rounded. Rounding is written as y + C − C with C = 1.5 · 2⁵²,
which is exact for |y| < 2⁵¹ wherever addition is, unless an engine has a cast that does the same. What is cast is an
integer then, so whether a cast truncates, or how it rounds ties, does not matter.

A cell never makes a statement fail, because that would depend on the data: operands are brought into range before they
are used, and where an engine raises an error for a product that underflows (``traps_underflow``), cells that are mapped
to 0 anyway are replaced first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar

import attrs

MAGIC = 3 << 51  # 1.5 · 2⁵²: doubles from 2⁵² to 2⁵³ are the integers


@attrs.frozen
class Field:
    """A column of a table, as the engine declares it.

    Args:
        kind: "float" (at most 64 bits), "integer" (at most 64 bits), "exact" (decimals and longer integers), "truth",
            "text", or "other", which nothing can be made of.
        type_name: the engine's word for its type, without parameters.
    """

    kind: str
    type_name: str


class Dialect:
    """The SQL of one engine. The methods here are those of the standard; engines override what they do differently."""

    name: ClassVar[str]
    run_here: ClassVar[bool] = True
    """Whether a plan can run in this engine; if not, `docs/explanation/sql.md` says what its SQL relies on."""
    double: ClassVar[str] = "DOUBLE PRECISION"
    integer: ClassVar[str] = "BIGINT"
    """Of coordinates, at most 2²⁶ in size, and of products of two coordinates of one lattice row, or of two of its
    doubles (`RowMap.doubled`), below 2³¹."""
    wide: ClassVar[str] = "BIGINT"
    """Of sums of squares, below 2⁶³, and of squares of coordinates whose ranges allow 2³¹ and more."""
    fence: ClassVar[str] = ""
    """Ends a subquery whose columns must be computed once, not once for each use of them."""
    nests: ClassVar[bool] = True
    """Whether a dozen and more subqueries can be in each other."""
    traps_underflow: ClassVar[bool] = False
    most_sums: ClassVar[int]
    """The most sums of a statement."""

    def quoted(self, name: str) -> str:
        """A name of a table or a column."""
        return '"' + name.replace('"', '""') + '"'

    def word(self, text: str) -> str:
        """A constant text, to be compared with `word_cell`."""
        return "'" + text.replace("'", "''") + "'"

    def number(self, value: float | None) -> str:
        """A constant double, exactly; NULL for None."""
        return f"CAST({'NULL' if value is None else repr(_text(value))} AS {self.double})"

    def as_double(self, cell: str) -> str:
        """An integer below 2⁵³ in size as a double."""
        return f"CAST({cell} AS {self.double})"

    def as_wide(self, cell: str) -> str:
        """An integer in the type of squares."""
        return cell if self.wide == self.integer else f"CAST({cell} AS {self.wide})"

    def rounded(self, y: str) -> str:
        """The integer nearest to a double of at most 2²⁶ in size, ties to even."""
        return f"(CAST({y} + {self.number(float(MAGIC))} AS {self.integer}) - {MAGIC})"

    def larger(self, a: str, b: str) -> str:
        """The larger one of two numbers that are not NULL."""
        return f"GREATEST({a}, {b})"

    def number_cell(self, cell: str, field: Field) -> str:
        """The cell of a numeric column as a double, correctly rounded; NULL, NaN or infinite if it is missing."""
        return f"CAST({cell} AS {self.double})"

    def level_cell(self, cell: str, field: Field) -> str:
        """The cell of a category of numbers as a double; NULL if it is missing, or else no level."""
        return self.number_cell(cell, field)

    def is_finite(self, cell: str) -> str:
        """The condition that a double is a finite number."""
        least, most = self.number(-sys.float_info.max), self.number(sys.float_info.max)
        return f"{cell} BETWEEN {least} AND {most}"  # NaN is not: it is larger than all numbers, or compares false

    def are_finite(self, cells: Sequence[str]) -> list[str]:
        """Conditions that together say that all of these doubles are finite numbers."""
        return [self.is_finite(cell) for cell in cells]

    def clipped(self, cell: str, low: float, high: float) -> tuple[list[str], str]:
        """Branches of a CASE, and its ELSE: a finite double, or the end of the range that it is beyond."""
        low_, high_ = self.number(low), self.number(high)
        return [f"WHEN {cell} < {low_} THEN {low_}", f"WHEN {cell} > {high_} THEN {high_}"], cell

    def within(self, cell: str, field: Field, low: float, high: float) -> str | None:
        """The condition that a cell of a numeric column is a number from low to high; None for an engine or a column
        for which it would prove nothing (`RowMap.near`)."""
        return None

    def word_cell(self, cell: str) -> str:
        """The cell of a column of text; two of them are equal only if all their bytes are."""
        return cell

    def id_cell(self, cell: str, field: Field) -> tuple[str, str]:
        """The id of a person, to be compared bytewise; and the condition that it is one."""
        known, word = f"{cell} IS NOT NULL", self.word_cell(cell)
        return (cell, known) if field.kind == "integer" else (word, f"{known} AND {word} <> {self.word('')}")

    def sums(self, term: str) -> tuple[str, ...]:
        """Columns of a SELECT from which `total` computes the exact sum of an integer below 2³³ in size."""
        return (f"SUM({term})",)

    def total(self, parts: Sequence[object]) -> int:
        """The exact sum, from the columns of `sums`; there are NULLs where there was no row."""
        return sum(_integer(part) << (20 * place) for place, part in enumerate(parts))


def halved(terms: Sequence[str], joined: Callable[[str, str], str]) -> str:
    """Terms joined in a balanced tree: engines limit the depth of an expression."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return joined(halved(terms[:middle], joined), halved(terms[middle:], joined))


def _text(value: float) -> str:
    """The shortest decimal that is correctly rounded to this double."""
    if math.isfinite(value):
        return repr(value)
    return str(value)  # nan, inf, -inf: as all engines read them


def _integer(part: object) -> int:
    """An integer of an engine: a Python integer, or a decimal without a fraction."""
    if part is None:
        return 0
    found = int(part)  # type: ignore[call-overload]
    if found != part:
        raise ValueError("a sum of integers is not an integer")
    return int(found)
