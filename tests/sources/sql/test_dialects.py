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
exp = sqlglot.exp

NOT_RUN = [each for each in DIALECTS.values() if not each.run_here]

COLUMNS = [dp.Column("age", 17, 90, missing=40), dp.Column('a"b', -1, 1), dp.Category("sex", ["F", "it's \\ M"])]
FIELDS = {
    "age": Field("exact", "numeric"),
    'a"b': Field("float", "double"),
    "sex": Field("text", "text"),
    "who": Field("text", "text"),
}
STATISTICS = [dp.Moment(), RowSum(), NormHistogram(edges=[0.5, 1.0]), ColumnHistogram(column="age", edges=[20, 30])]


LINEAR = [[2.0, -1.0, 0.0, 1e-3]] * 3 + [[0.0, 3.0, 0.0, 1.0]]


@pytest.mark.parametrize("said", [{}, {"norm": 1.0}, {"norm": 1e-7}, {"norm": 1e-7, "linear": LINEAR}])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_statements_can_be_parsed(dialect: Dialect, said: dict[str, Any]) -> None:
    rows = dp.Rows(columns=COLUMNS, neighbors="replace", center=True, person="who", contributions=2, **said)
    cells = Cells(dialect, dialect.quoted("people"), FIELDS, ("age",))
    for statistic in STATISTICS:
        for statement in compiled(statistic, rows, dialect, cells).statements:
            (select,) = statement.selects
            (parsed,) = sqlglot.parse(select.sql, read=dialect.name)
            assert "select" == parsed.key
            inner = {each.alias for each in parsed.find_all(sqlglot.exp.CTE)}
            assert {"people"} == {table.name for table in parsed.find_all(sqlglot.exp.Table)} - inner
            named = {column.name for column in parsed.find_all(sqlglot.exp.Column)}
            assert {"age", 'a"b', "sex", "who"} <= named


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_words_and_names_are_quoted(dialect: Dialect) -> None:
    for text in ("it's", "\\", "\\'; DROP TABLE people; --", 'a"b', "é\n", "\r\n"):
        sql = f"SELECT {dialect.word(text)} AS {dialect.quoted(text)}"
        (parsed,) = sqlglot.parse(sql, read=dialect.name)
        if dialect.name != "postgres":  # sqlglot does not undo the escapes of E''; the server itself is asked elsewhere
            assert text in [literal.this for literal in parsed.find_all(sqlglot.exp.Literal)]
        assert text == parsed.expressions[0].alias


def test_escapes_that_old_parsers_do_not_know() -> None:
    assert "CAST('a\\u0024{b}' AS BINARY)" == DIALECTS["spark"].word("a${b}")  # ${b} would be replaced by a variable
    assert "`a\\`b`" == DIALECTS["bigquery"].quoted("a`b")
    assert "`a``b`" == DIALECTS["spark"].quoted("a`b")


@pytest.mark.parametrize("dialect", NOT_RUN, ids=lambda each: each.name)
@pytest.mark.parametrize("cast", ["TRUNC", "ROUND"])
def test_rounding_is_exact_whatever_a_cast_rounds_to(dialect: Dialect, cast: str) -> None:
    """The SQL runs in DuckDB, with casts to integers that truncate, or that round ties away from zero."""
    duckdb = pytest.importorskip("duckdb")

    def with_this_cast(node: Any) -> Any:
        if isinstance(node, exp.Cast) and not node.is_type("double"):
            return exp.cast(exp.func(cast, node.this), "bigint")
        return node

    random = np.random.default_rng(5)
    y = np.concatenate([np.arange(-6, 7) / 2, random.integers(-(2**26), 2**26, 50) + 0.5, random.normal(0, 1e4, 50)])
    y = np.concatenate([y, np.nextafter(y, np.inf), np.nextafter(y, -np.inf), [2.0**26, -(2.0**26), 5e-324]])

    def rounded(written: str) -> list[int]:
        parsed = sqlglot.parse_one(f"SELECT {written} FROM cells", read=dialect.name).transform(with_this_cast)
        with duckdb.connect() as engine:
            engine.execute("CREATE TABLE cells (y DOUBLE)")
            engine.executemany("INSERT INTO cells VALUES (?)", [[each] for each in y.tolist()])
            return [int(row[0]) for row in engine.execute(parsed.sql("duckdb")).fetchall()]

    nearest = np.rint(y).astype(int).tolist()
    assert nearest == rounded(dialect.rounded("y"))
    assert nearest != rounded(f"CAST(y AS {dialect.integer})")


def test_casts_that_are_documented() -> None:
    """Neither BigQuery nor Snowflake casts truth values to doubles; BigQuery promises the closest one to decimals."""
    for name, kind, by in [
        ("snowflake", "truth", "decimal"),
        ("bigquery", "truth", "bigint"),
        ("bigquery", "integer", "decimal"),
    ]:
        outer = sqlglot.parse_one(DIALECTS[name].number_cell("x", Field(kind, kind)), read=name)
        assert outer.is_type("double")
        assert isinstance(outer.this, exp.Cast)
        assert outer.this.to.is_type(by)
        assert "x" == outer.this.this.name
    nan = sqlglot.parse_one(DIALECTS["bigquery"].number_cell("x", Field("float", "float64")), read="bigquery")
    assert isinstance(nan.this, exp.Case)
    assert isinstance(nan.find(exp.If).this, exp.IsNan)


@pytest.mark.parametrize("dialect", NOT_RUN, ids=lambda each: each.name)
def test_words_are_compared_whatever_the_collation(dialect: Dialect) -> None:
    cell, constant = (
        sqlglot.parse_one(each, read=dialect.name) for each in (dialect.word_cell("x"), dialect.word("é"))
    )
    if isinstance(cell, exp.Collate):
        assert "utf8" == cell.expression.name
    else:
        assert all(isinstance(each, exp.Cast) and each.is_type("binary") for each in (cell, constant))


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
