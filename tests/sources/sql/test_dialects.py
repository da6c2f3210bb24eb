"""The SQL of every dialect, also of engines that are not run here: it can be parsed, and its sums are exact."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.sources.sql.cells import Cells
from dpframe.sources.sql.dialect import Dialect, Field
from dpframe.sources.sql.dialects import DIALECTS, SQLite
from dpframe.sources.sql.statements import compiled, last_cell
from dpframe.statistics import ColumnHistogram, NormHistogram, RowSum

sqlglot: Any = pytest.importorskip("sqlglot")

COLUMNS = [dp.Column("age", 17, 90, missing=40), dp.Column('a"b', -1, 1), dp.Category("sex", ["F", "it's \\ M"])]
FIELDS = {
    "age": Field("exact", "numeric"),
    'a"b': Field("float", "double"),
    "sex": Field("text", "text"),
    "who": Field("text", "text"),
}
STATISTICS = [dp.Moment(), RowSum(), NormHistogram(edges=[0.5, 1.0]), ColumnHistogram(column="age", edges=[20, 30])]


@pytest.mark.parametrize("norm", [None, 1.0, 1e-7])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_statements_can_be_parsed(dialect: Dialect, norm: float | None) -> None:
    rows = dp.Rows(columns=COLUMNS, neighbors="replace", norm=norm, center=True, person="who", contributions=2)
    cells = Cells(dialect, dialect.quoted("people"), FIELDS, ("age",))
    for statistic in STATISTICS:
        for statement in compiled(statistic, rows, dialect, cells.subquery).statements:
            (parsed,) = sqlglot.parse(statement.sql, read=dialect.name)
            assert "select" == parsed.key
            assert {"people"} == {table.name for table in parsed.find_all(sqlglot.exp.Table)}
            named = {column.name for column in parsed.find_all(sqlglot.exp.Column)}
            assert {"age", 'a"b', "sex", "who"} <= named


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_words_and_names_are_quoted(dialect: Dialect) -> None:
    for text in ("it's", "\\", "\\'; DROP TABLE people; --", 'a"b', "é\n"):
        sql = f"SELECT {dialect.word(text)} AS {dialect.quoted(text)}"
        (parsed,) = sqlglot.parse(sql, read=dialect.name)
        if dialect.name != "postgres":  # sqlglot does not undo the escapes of E''; the server itself is asked elsewhere
            assert text in [literal.this for literal in parsed.find_all(sqlglot.exp.Literal)]
        assert text == parsed.expressions[0].alias


def test_which_engines_are_run_here() -> None:
    assert ["duckdb", "postgres", "sqlite"] == [name for name, each in DIALECTS.items() if each.run_here]


def test_sums_of_parts() -> None:
    sqlite = DIALECTS["sqlite"]
    for total in (0, 1, -1, 2**63 - 1, -(2**63) - 12345, 10**30):
        assert total == sqlite.total([total & 1048575, total >> 20])
    assert 0 == sqlite.total([None, None])
    assert 10**30 == DIALECTS["postgres"].total([Decimal(10) ** 30])
    with pytest.raises(ValueError, match="not an integer"):
        DIALECTS["duckdb"].total([0.5])


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf])
def test_parameters_of_sqlite_are_exact(value: float) -> None:
    dialect = SQLite()
    (bound,) = dialect.parameters(f"SELECT {dialect.number(value)}").values()
    assert np.array([value]).tobytes() == np.array([bound]).tobytes()


@pytest.mark.parametrize("column", [dp.Column("x", -1e-100, 3.0), dp.Column("x", 0.0, 0.7), dp.Column("x", -5, -2)])
def test_the_last_cell_of_a_bin(column: dp.Column) -> None:
    def coordinate(cell: float) -> float:
        return float(column.map(np.array([cell]))[0, 0])

    for edge in np.random.default_rng(3).uniform(-1.1, 1.1, 50).tolist():
        last = last_cell(column, edge)
        assert last == -math.inf or coordinate(last if last < math.inf else 1e300) <= edge
        assert last == math.inf or coordinate(math.nextafter(last, math.inf)) > edge
