"""What surrounds a table changes no integer: statistics of files, encodings, search paths, collations, functions."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.sources.sql.cells import Cells
from dpframe.sources.sql.dialect import Field
from dpframe.sources.sql.dialects import DIALECTS
from dpframe.sources.sql.statements import compiled
from tests.support.databases import connected, load, of_arrays, of_engine, run

duckdb: Any = pytest.importorskip("duckdb")
arrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")

MOMENT: list[dp.Statistic] = [dp.Moment()]
SEX = dp.Rows(columns=[dp.Category("sex", ["é", "Ã©"])], neighbors="add-remove")
PEOPLE = dp.Rows(columns=[dp.Column("x", 0, 4)], neighbors="add-remove", center=True, person="who", contributions=1)


@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [None, 0.25])
def test_statistics_of_parquet_files_leave_nan_out(
    tmp_path: Path, dtype: Any, missing: float | None, others: int
) -> None:
    """DuckDB drops a comparison that holds by them: NaN counted where its row group had a number, and only there."""
    x = np.array([math.nan, math.nan, 0.5, 0.9, math.nan, math.nan, 0.1, math.nan], dtype=dtype)
    table = {"x": x} | {f"y{at}": np.roll(x, at) for at in range(others)}
    parquet.write_table(arrow.table(table), tmp_path / "people.parquet", row_group_size=3)
    columns = [dp.Column(name, 0, 1, missing=missing) for name in table]
    rows = dp.Rows(columns=columns, neighbors="add-remove", center=True)
    with connected("duckdb", "") as connection:
        run(connection, f"CREATE VIEW people AS SELECT * FROM '{tmp_path}/people.parquet'")
        assert of_arrays(table, rows, MOMENT) == of_engine(dp.table(connection, "people"), rows, MOMENT)


LARGEST = sys.float_info.max
ODD = [
    (math.inf, -math.inf, 0.5),  # whose sum is NaN
    (0.5, math.nan, 0.5),
    (0.5, 0.5, math.nan),
    (None, 0.5, 0.5),
    (0.5, 0.5, None),
    (0.5, -math.inf, 0.5),
    (LARGEST, LARGEST, LARGEST),  # finite, though a sum of them would not be
    (-LARGEST, LARGEST, -LARGEST),
    (5e-324, -0.0, 1e-310),
    (0.9, 0.1, 0.4),
]


@pytest.mark.parametrize("missing", [None, 0.25])
def test_rows_are_left_out_only_if_a_cell_is_not_finite(tmp_path: Path, missing: float | None) -> None:
    """DuckDB is asked once for all columns; in a table of its own, and in a file whose statistics leave NaN out."""
    columns = [dp.Column("x", 0, 1), dp.Column("y", 0, 1, missing=missing), dp.Column("z", 0, 1)]
    rows = dp.Rows(columns=columns, neighbors="add-remove", center=True)
    table = arrow.table(
        {each.name: arrow.array(cells) for each, cells in zip(columns, zip(*ODD, strict=True), strict=True)}
    )
    parquet.write_table(table, tmp_path / "people.parquet", row_group_size=1)
    expected = of_arrays(table, rows, MOMENT)
    assert (4 if missing is None else 6) * rows.constant**2 == expected[0]["moment"][-1]
    with connected("duckdb", "") as connection:
        run(connection, f"CREATE VIEW file AS SELECT * FROM '{tmp_path}/people.parquet'")
        run(connection, "CREATE TABLE people AS SELECT * FROM file")
        for name in ("file", "people"):
            assert expected == of_engine(dp.table(connection, name), rows, MOMENT)


@pytest.mark.skipif(duckdb.__version__ < "2", reason="before DuckDB 2.0 every sum of integers is checked")
@pytest.mark.parametrize("missing", [None, 0.25])
def test_duckdb_proves_that_nothing_overflows_whatever_a_column_holds(missing: float | None) -> None:
    """From the ranges of the promise, not from the cells: what is not proved is checked, which takes longer."""
    cells: dict[str, list[Any]] = {"x": [0.5, math.nan, math.inf, -1e308, None], "y": [2**62, -7, 0, None, 1]}
    columns = [dp.Column("x", 0, 1, missing=missing), dp.Column("y", -5, 5, missing=missing)]
    rows = dp.Rows(columns=columns, neighbors="add-remove", center=True)
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells)
        source = Cells(DIALECTS["duckdb"], "people", {"x": Field("float", "double"), "y": Field("integer", "bigint")})
        (statement,) = compiled(dp.Moment(), rows, DIALECTS["duckdb"], source).statements
        ((_, shown),) = connection.execute(f"EXPLAIN {statement.selects[0].sql}").fetchall()
        sums = re.findall(r"\bsum\w*", shown)
        assert ["sum_no_overflow"] * 5 == sums


@pytest.mark.parametrize("encoding", ["LATIN1", "GBK", "SQL_ASCII"])
def test_an_encoding_of_the_connection(postgres: str, encoding: str) -> None:
    words = ["é", "é", "Ã©", "x"]
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", {"sex": words})
        run(connection, f"SET client_encoding = '{encoding}'")
        expected = of_arrays({"sex": np.array(words)}, SEX, MOMENT)
        assert expected == of_engine(dp.table(connection, "people"), SEX, MOMENT)
        assert connection.info.parameter_status("client_encoding") == encoding


def test_operators_before_those_of_the_server(postgres: str) -> None:
    words = ["é", "Ã©", "x"]
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", {"sex": words})
        run(connection, "CREATE SCHEMA mine")
        run(connection, "CREATE FUNCTION mine.same(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true'")
        run(connection, "CREATE OPERATOR mine.= (LEFTARG = text, RIGHTARG = text, FUNCTION = mine.same)")
        run(connection, "SET search_path = mine, public, pg_catalog")
        try:
            expected = of_arrays({"sex": np.array(words)}, SEX, MOMENT)
            assert expected == of_engine(dp.table(connection, "people"), SEX, MOMENT)
        finally:
            run(connection, "DROP SCHEMA mine CASCADE")


def test_ids_that_a_collation_takes_for_nothing(postgres: str) -> None:
    people = ["-", ".", "  ", "a", "A", "a ", ""]
    cells: dict[str, list[Any]] = {"x": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0], "who": people, "place": list(range(7))}
    expected = of_arrays({"x": np.array(cells["x"]), "who": np.array(people)}, PEOPLE, MOMENT)
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", cells, {"who": "TEXT COLLATE RTRIM"})
        assert expected == of_engine(dp.table(connection, "people"), PEOPLE, MOMENT)
    with connected("postgres", postgres) as connection:
        run(connection, "CREATE COLLATION shifted (provider=icu, locale='und-u-ka-shifted', deterministic=false)")
        load(connection, "postgres", cells, {"who": "text COLLATE shifted"})
        try:
            assert expected == of_engine(dp.table(connection, "people", order=["place"]), PEOPLE, MOMENT)
        finally:
            run(connection, "DROP TABLE people")
            run(connection, "DROP COLLATION shifted")


@pytest.mark.parametrize("macro", ["ENCODE(x) AS 'é'", '"*"(a, b) AS 77', "Sqrt(x) AS x"])
def test_functions_in_place_of_those_of_duckdb(macro: str) -> None:
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", {"sex": ["é", "x"]})
        run(connection, f"CREATE MACRO {macro}")
        with pytest.raises(dp.DataError, match="not the engine's own"):
            of_engine(dp.table(connection, "people"), SEX, MOMENT)


def test_functions_in_place_of_those_of_sqlite() -> None:
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", {"sex": ["é", "x"]})
        connection.create_function("typeof", 1, lambda cell: "blob")
        with pytest.raises(dp.DataError, match="not the engine's own"):
            of_engine(dp.table(connection, "people"), SEX, MOMENT)


def test_a_search_path_that_our_connection_does_not_have() -> None:
    """The caller's name would be that of another table to us."""
    rows = dp.Rows(columns=[dp.Column("x", 0, 4)], neighbors="add-remove", center=True)
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", {"x": [4.0]})
        run(connection, "CREATE SCHEMA mine")
        load(connection, "duckdb", {"x": [1.0, 2.0]}, name="mine.people")
        run(connection, "SET search_path = 'mine'")
        with pytest.raises(dp.DataError, match="more than one schema"):
            of_engine(dp.table(connection, "people"), rows, MOMENT)
        expected = of_arrays({"x": np.array([1.0, 2.0])}, rows, MOMENT)
        assert expected == of_engine(dp.table(connection, "mine.people"), rows, MOMENT)


def test_a_setting_that_turns_the_order_of_rows() -> None:
    x, who = np.array([1.0, 2.0, 3.0, 4.0]), np.array(["a", "a", "b", "b"])
    with connected("duckdb", "") as connection:
        run(connection, "SET GLOBAL default_order = 'DESC'")
        load(connection, "duckdb", {"x": x.tolist(), "who": who.tolist()})
        expected = of_arrays({"x": x, "who": who}, PEOPLE, MOMENT)
        assert expected == of_engine(dp.table(connection, "people"), PEOPLE, MOMENT)


def test_a_temporary_table_that_our_connection_does_not_see() -> None:
    rows = dp.Rows(columns=[dp.Column("x", 0, 4)], neighbors="add-remove", center=True)
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", {"x": [4.0]})
        run(connection, "CREATE TEMP TABLE people AS SELECT 1.0::DOUBLE AS x")
        with pytest.raises(dp.DataError, match="temporary"):
            of_engine(dp.table(connection, "people"), rows, MOMENT)
        expected = of_arrays({"x": np.array([4.0])}, rows, MOMENT)
        assert expected == of_engine(dp.table(connection, "main.people"), rows, MOMENT)
