"""The engines: their SQL, and why it is exact.

Rules of engines that no plan runs in were taken from their documentation, or are assumed where that is silent:
`docs/explanation/sql.md` says which.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from dpframe.sources.sql.dialect import MAGIC, Dialect, Field, halved

BEYOND_DOUBLES = 2**1024 - 2**970
"""Decimals of this size and more are infinite as doubles."""


class DuckDB(Dialect):
    """DuckDB: a cast of a double to an integer rounds to the nearest, ties to even; sums of integers have 128 bits.

    Products of two different coordinates are INTEGERs: rows have at most length 2¹⁶, so such a product is below 2³¹
    (2|ab| ≤ a² + b² ≤ 2³², with equality only for a² = 2³¹, which no integer satisfies). The factors of
    `RowMap.doubled` are at most 46340. DuckDB checks for overflow.
    """

    name = "duckdb"
    double = "DOUBLE"
    integer = "INTEGER"
    most_sums = 3000

    def rounded(self, y: str) -> str:
        """By the cast alone."""
        return f"CAST({y} AS {self.integer})"

    def number_cell(self, cell: str, field: Field) -> str:
        """Decimals and 128-bit integers by way of text: their direct cast may be off by the last bit."""
        if field.kind == "exact":
            cell = f"CAST({cell} AS VARCHAR)"
        return cell if field.type_name == "double" else f"CAST({cell} AS {self.double})"

    def level_cell(self, cell: str, field: Field) -> str:
        """Of a CASE, so that NaN equals no level; see `is_finite`."""
        number = self.number_cell(cell, field)
        return self._without_nan(number) if field.kind == "float" else number

    def is_finite(self, cell: str) -> str:
        """Of a CASE. The statistics of a Parquet file leave NaN out, and DuckDB decides comparisons and even ISNAN by
        these statistics: what a NaN gives would depend on the other rows of its file. It has none of a CASE with a NULL
        in it, so that the cell itself is compared."""
        return super().is_finite(self._without_nan(cell))

    def are_finite(self, cells: Sequence[str]) -> list[str]:
        """One condition, which takes less time than many. A sum is finite only if each of its terms is; and doubles
        divided by more than twice their number have a finite sum if they are finite. The first term is a CASE, so that
        there are no statistics of the sum either; see `is_finite`."""
        if len(cells) == 1:
            return super().are_finite(cells)
        share = self.number(2.0 ** -(len(cells).bit_length() + 1))
        terms = [f"({each} * {share})" for each in (self._without_nan(cells[0]), *cells[1:])]
        return [Dialect.is_finite(self, halved(terms, lambda a, b: f"({a} + {b})"))]

    @staticmethod
    def _without_nan(number: str) -> str:
        return f"CASE WHEN ISNAN({number}) THEN NULL ELSE {number} END"

    def clipped(self, cell: str, low: float, high: float) -> tuple[list[str], str]:
        """By functions of which DuckDB knows what range they give, whatever is in the column. So it can prove that no
        product and no sum overflows, checks none and adds in 64 bits, which takes less time."""
        return [], f"LEAST(GREATEST({cell}, {self.number(low)}), {self.number(high)})"

    def within(self, cell: str, field: Field, low: float, high: float) -> str | None:
        """In the type of the column, whose statistics decide it where they can. Otherwise it is tested, and then DuckDB
        knows the range of the column, which it would not if a cast of the column were compared."""
        if field.kind in ("integer", "truth"):
            return f"{cell} BETWEEN {max(math.ceil(low), -(2**63))} AND {min(math.floor(high), 2**63)}"
        if field.kind != "float":
            return None
        kind: type[np.floating] = np.float32 if field.type_name == "float" else np.float64
        ends = [f"CAST({str(end)!r} AS {field.type_name})" for end in _inside(low, high, kind)]
        return f"{cell} BETWEEN {ends[0]} AND {ends[1]}"

    def word_cell(self, cell: str) -> str:
        """As bytes, whatever the collation of the column."""
        return f"ENCODE(CAST({cell} AS VARCHAR))"

    def word(self, text: str) -> str:
        """As bytes."""
        return f"ENCODE({super().word(text)})"


class Postgres(Dialect):
    """PostgreSQL: a cast of a double to an integer rounds to the nearest, ties to even; a sum of bigint is numeric.

    Products that overflow or underflow raise errors, so neither may occur.
    """

    name = "postgres"
    fence = " OFFSET 0"  # otherwise the planner copies the map of a cell into every product
    traps_underflow = True
    most_sums = 1600  # a SELECT has at most 1664 columns

    def rounded(self, y: str) -> str:
        """By the cast alone."""
        return f"CAST({y} AS {self.integer})"

    def word(self, text: str) -> str:
        """Escapes are those of E'', whatever the server's settings."""
        return "E" + super().word(text.replace("\\", "\\\\"))

    def number_cell(self, cell: str, field: Field) -> str:
        """A decimal that no double holds is missing where it is too large, and 0 where it is below 1e-300 in size:
        its cast would raise an error. NaN is larger than all numbers."""
        if field.kind == "truth":
            return f"CAST(CAST({cell} AS integer) AS {self.double})"
        plain = f"CAST({cell} AS {self.double})"
        if field.kind != "exact":
            return plain
        size, zero = f"abs({cell})", self.number(0.0)
        return f"CASE WHEN {size} < 1e-300 THEN {zero} WHEN {size} < {BEYOND_DOUBLES} THEN {plain} END"

    def word_cell(self, cell: str) -> str:
        """Bytewise, whatever the collation of the column."""
        return f'CAST({cell} AS text) COLLATE "C"'


class SQLite(Dialect):
    """SQLite: 64-bit integers and doubles; a sum of integers fails if it overflows, so it is split into two.

    A decimal in SQL is not always correctly rounded, so doubles are parameters, whose names are their bits. A column
    can hold cells of any type: one that is no number is missing in a numeric column, one that is no text is no level.
    """

    name = "sqlite"
    double = "REAL"
    integer = "INTEGER"
    wide = "INTEGER"
    fence = " LIMIT -1"  # otherwise the map of a cell is copied into every product
    nests = False  # its parser has a stack of 100 symbols
    most_sums = 900  # two columns each, of at most 2000

    def number(self, value: float | None) -> str:
        """A parameter; see `parameters`."""
        return "NULL" if value is None else f":n{struct.pack('>d', value).hex()}"

    @staticmethod
    def parameters(sql: str) -> dict[str, float]:
        """The doubles of a statement, by the names of its parameters."""
        names: Iterable[str] = set(re.findall(r":(n[0-9a-f]{16})\b", sql))
        return {name: struct.unpack(">d", bytes.fromhex(name[1:]))[0] for name in names}

    def larger(self, a: str, b: str) -> str:
        """MAX of two arguments is no aggregate."""
        return f"MAX({a}, {b})"

    def number_cell(self, cell: str, field: Field) -> str:
        """What is stored as a number."""
        return f"CASE WHEN typeof({cell}) IN ('integer', 'real') THEN CAST({cell} AS REAL) END"

    def word_cell(self, cell: str) -> str:
        """What is stored as text, bytewise."""
        return f"CASE WHEN typeof({cell}) = 'text' THEN {cell} END COLLATE BINARY"

    def id_cell(self, cell: str, field: Field) -> tuple[str, str]:
        """Integers and text, as text: 17 and '17' are one id, as elsewhere."""
        word = f"CAST({cell} AS TEXT) COLLATE BINARY"
        return word, f"typeof({cell}) IN ('integer', 'text') AND {word} <> ''"

    def sums(self, term: str) -> tuple[str, ...]:
        """The sum of the low 20 bits, and that of the others."""
        return f"SUM(({term}) & 1048575)", f"SUM(({term}) >> 20)"


class Snowflake(Dialect):
    """Snowflake: FLOAT is a double, INTEGER is NUMBER(38, 0), and a sum of those has 38 digits."""

    name = "snowflake"
    run_here: ClassVar[bool] = False
    double = "DOUBLE"
    integer = "NUMBER(38, 0)"
    wide = "NUMBER(38, 0)"
    most_sums = 1000

    def rounded(self, y: str) -> str:
        """Taken back to at most 2²⁶ before the cast: about 15 digits of a double are promised, and C has 16."""
        magic = self.number(float(MAGIC))
        return f"CAST(({y} + {magic}) - {magic} AS {self.integer})"

    def number_cell(self, cell: str, field: Field) -> str:
        """A truth value becomes an integer first: it has no cast to a double."""
        if field.kind == "truth":
            cell = f"CAST({cell} AS {self.integer})"
        return super().number_cell(cell, field)

    def word(self, text: str) -> str:
        """A backslash escapes the next character."""
        return f"'{_escaped(text)}'"

    def word_cell(self, cell: str) -> str:
        """By code points, whatever the collation of the column; as bytes, a cell could be too long."""
        return f"COLLATE({cell}, 'utf8')"


class BigQuery(Dialect):
    """BigQuery: FLOAT64 is a double; INT64 fails on overflow, so sums are of NUMERIC, which holds 29 digits."""

    name = "bigquery"
    run_here: ClassVar[bool] = False
    double = "FLOAT64"
    integer = "INT64"
    wide = "INT64"
    most_sums = 1000

    def quoted(self, name: str) -> str:
        """Between backquotes, with the escapes of words."""
        return f"`{_escaped(name, '`')}`"

    def number_cell(self, cell: str, field: Field) -> str:
        """NaN is NULL, since its cast to an integer fails. A truth value has no cast to a double. An integer becomes
        the closest double by way of NUMERIC; its own cast is only said to be close."""
        if field.kind == "float":
            cell = f"CASE WHEN IS_NAN({cell}) THEN NULL ELSE {cell} END"
        if field.kind == "truth":
            cell = f"CAST({cell} AS INT64)"
        if field.kind == "integer":
            cell = f"CAST({cell} AS NUMERIC)"
        return super().number_cell(cell, field)

    def word(self, text: str) -> str:
        """As bytes. A backslash escapes quotes and backslashes; a line has no end in it."""
        return f"CAST('{_escaped(text)}' AS BYTES)"

    def word_cell(self, cell: str) -> str:
        """As bytes, whatever the collation of the column."""
        return f"CAST({cell} AS BYTES)"

    def sums(self, term: str) -> tuple[str, ...]:
        """Of NUMERIC."""
        return (f"SUM(CAST({term} AS NUMERIC))",)


class SparkSQL(Dialect):
    """Spark SQL: a sum of BIGINT may wrap around where ANSI mode is off, so sums are of DECIMAL, with 30 digits."""

    name = "spark"
    run_here: ClassVar[bool] = False
    double = "DOUBLE"
    most_sums = 1000

    def quoted(self, name: str) -> str:
        """Between backquotes, which are doubled."""
        return "`" + name.replace("`", "``") + "`"

    def word(self, text: str) -> str:
        """As bytes. A backslash escapes quotes and backslashes; ${name} would be replaced by a variable."""
        escaped = _escaped(text).replace("${", "\\u0024{")
        return f"CAST('{escaped}' AS BINARY)"

    def word_cell(self, cell: str) -> str:
        """As bytes, whatever the collation of the column."""
        return f"CAST({cell} AS BINARY)"

    def sums(self, term: str) -> tuple[str, ...]:
        """Of DECIMAL."""
        return (f"SUM(CAST({term} AS DECIMAL(20, 0)))",)


def _inside(low: float, high: float, kind: type[np.floating]) -> tuple[float, float]:
    """The first and the last finite number of a type between two doubles."""
    most = float(np.finfo(kind).max)
    low, high = max(low, -most), min(high, most)
    first, last = kind(low), kind(high)
    if float(first) < low:
        first = np.nextafter(first, kind(np.inf))
    if float(last) > high:
        last = np.nextafter(last, kind(-np.inf))
    return float(first), float(last)


def _escaped(text: str, quote: str = "'") -> str:
    """Backslashes, quotes and ends of lines by backslashes, as Snowflake, BigQuery and Spark SQL read them."""
    text = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return text.replace("\n", "\\n").replace("\r", "\\r")


DIALECTS: dict[str, Dialect] = {
    each.name: each for each in (DuckDB(), Postgres(), SQLite(), Snowflake(), BigQuery(), SparkSQL())
}
