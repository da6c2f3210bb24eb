"""What surrounds a table changes no integer: statistics of files, encodings, search paths, collations, functions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from tests.support.databases import connected, load, of_arrays, of_engine, run

pytest.importorskip("duckdb")
arrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")

MOMENT: list[dp.Statistic] = [dp.Moment()]
SEX = dp.Rows(columns=[dp.Category("sex", ["é", "Ã©"])], neighbors="add-remove")
PEOPLE = dp.Rows(columns=[dp.Column("x", 0, 4)], neighbors="add-remove", center=True, person="who", contributions=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [None, 0.25])
def test_statistics_of_parquet_files_leave_nan_out(tmp_path: Path, dtype: Any, missing: float | None) -> None:
    """DuckDB drops a comparison that holds by them: NaN counted where its row group had a number, and only there."""
    x = np.array([math.nan, math.nan, 0.5, 0.9, math.nan, math.nan, 0.1, math.nan], dtype=dtype)
    parquet.write_table(arrow.table({"x": x}), tmp_path / "people.parquet", row_group_size=3)
    rows = dp.Rows(columns=[dp.Column("x", 0, 1, missing=missing)], neighbors="add-remove", center=True)
    with connected("duckdb", "") as connection:
        run(connection, f"CREATE VIEW people AS SELECT * FROM '{tmp_path}/people.parquet'")
        assert of_arrays({"x": x}, rows, MOMENT) == of_engine(dp.table(connection, "people"), rows, MOMENT)


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
    cells: dict[str, list[Any]] = {"x": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0], "who": people}
    expected = of_arrays({"x": np.array(cells["x"]), "who": np.array(people)}, PEOPLE, MOMENT)
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", cells, {"who": "TEXT COLLATE RTRIM"})
        assert expected == of_engine(dp.table(connection, "people"), PEOPLE, MOMENT)
    with connected("postgres", postgres) as connection:
        run(connection, "CREATE COLLATION shifted (provider=icu, locale='und-u-ka-shifted', deterministic=false)")
        load(connection, "postgres", cells, {"who": "text COLLATE shifted"})
        try:
            assert expected == of_engine(dp.table(connection, "people"), PEOPLE, MOMENT)
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
