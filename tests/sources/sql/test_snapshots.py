"""All statements of a run see one state of the table; when the connection drops, the charge stands, nothing leaks."""

from __future__ import annotations

import re
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpframe.plugin as dp
from dpframe.sources import open_source
from dpframe.sources.sql.duckdb import DuckDBEngine
from dpframe.sources.sql.postgres import PostgresEngine
from dpframe.sources.sql.pushed import Pushed
from dpframe.sources.sql.statements import Statement
from dpframe.statistics import RowSum
from tests.support.databases import as_arrays, connected, load, run
from tests.support.ledgers import NAME, kinds, make
from tests.support.refusals import SECRETS

duckdb = pytest.importorskip("duckdb")

split_only = pytest.mark.skipif(duckdb.__version__ < "2", reason="before DuckDB 2.0 no table is split")

PLAN = dp.Plan(
    rows=dp.Rows(columns=[dp.Column("x", 0, 10), dp.Column("y", 0, 10)], neighbors="add-remove", norm=dp.ref("radius")),
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("radius", "private-quantile", quantile=0.9, high=4.0), dp.release("moment", "gaussian")],
)
ROWS = dp.Rows(columns=PLAN.rows.columns, neighbors="add-remove")
CELLS = {"x": [1.0, 2.0, 1234.5678], "y": [4.0, 5.0, 6.0]}
INSERT = "INSERT INTO people VALUES (9, 9)"


def after_the_first_pass(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> list[int]:
    """Something that others do between two passes; the list counts the passes."""
    passes: list[int] = []
    real = Pushed.accumulate

    def planted(pushed: Pushed, *arguments: Any) -> Any:
        if passes:
            act()
        passes.append(1)
        return real(pushed, *arguments)

    monkeypatch.setattr(Pushed, "accumulate", planted)
    return passes


def check_unmoved(connection: Any, others: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = PLAN.run(as_arrays(CELLS, PLAN.rows), insecure_seed=3)["moment"].tobytes()
    passes = after_the_first_pass(monkeypatch, lambda: run(others, INSERT))
    assert wanted == PLAN.run(dp.table(connection, "people"), insecure_seed=3)["moment"].tobytes()
    assert 2 == len(passes)
    passes.clear()
    assert (
        wanted != PLAN.run(dp.table(connection, "people"), insecure_seed=3)["moment"].tobytes()
    )  # the next run sees it


@pytest.mark.parametrize("autocommit", [True, False])
def test_postgres(postgres: str, monkeypatch: pytest.MonkeyPatch, autocommit: bool) -> None:
    with connected("postgres", postgres) as connection, connected("postgres", postgres) as others:
        load(connection, "postgres", CELLS)
        connection.autocommit = autocommit
        check_unmoved(connection, others, monkeypatch)
        assert 0 == connection.info.transaction_status


def test_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", CELLS)
        check_unmoved(connection, connection.cursor(), monkeypatch)


def test_sqlite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    connection, others = sqlite3.connect(path), sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    connection.isolation_level = None
    load(connection, "sqlite", CELLS)
    check_unmoved(connection, others, monkeypatch)
    assert not connection.in_transaction
    connection.close()
    others.close()


def test_statements_that_see_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they might where DuckDB reads files, which no transaction covers."""
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", CELLS)
        source = open_source(dp.table(connection, "people"), ROWS)
        assert source.pushed is not None
        counts = iter([3, 4])
        real = Statement.answer
        monkeypatch.setattr(Statement, "answer", lambda self, row: (next(counts), real(self, row)[1]))
        with pytest.raises(dp.DataError, match="other rows to two statements"):
            source.pushed.accumulate([dp.Moment(), RowSum()], ROWS, source.meter)
        source.close()


def test_a_table_that_is_another_one_after_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", CELLS)
        real = Pushed.check

        def checked(pushed: Pushed, *arguments: Any) -> None:
            real(pushed, *arguments)
            run(connection, "ALTER TABLE people ALTER x TYPE varchar")

        monkeypatch.setattr(Pushed, "check", checked)
        with pytest.raises(dp.ReleaseFailed, match="other types, than when it was checked"):
            PLAN.run(dp.table(connection, "people"))


def test_a_connection_that_drops_between_statements(
    postgres: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger = make(tmp_path / "budget.db")
    with connected("postgres", postgres) as connection, connected("postgres", postgres) as others:
        load(connection, "postgres", CELLS)
        process = connection.info.backend_pid

        def kill() -> None:
            others.execute("SELECT pg_terminate_backend(%s, 5000)", [process])

        after_the_first_pass(monkeypatch, kill)
        with pytest.raises(dp.ReleaseFailed) as caught:
            PLAN.run(dp.table(connection, "people"), ledger=ledger, dataset=NAME)
    error = caught.value
    assert re.search(r"the table could not be computed by its engine \((AdminShutdown|OperationalError)\)", str(error))
    assert ["radius"] == list(error.result or {})  # what was released before is not lost
    assert ["reserved", "failed"] == kinds(ledger)
    shown = "".join(traceback.format_exception(error))
    assert [] == [secret for secret in (*SECRETS, "pg_terminate", "server closed") if secret in shown]


def closing(monkeypatch: pytest.MonkeyPatch, after: int) -> list[str]:
    """Close the connection of DuckDB after so many statements about people; gives those that were asked."""
    asked: list[str] = []
    real = DuckDBEngine.row

    def row(engine: DuckDBEngine, sql: str) -> Any:
        if "people" in sql:
            if len(asked) == after:
                engine._connection.close()
            asked.append(sql)
        return real(engine, sql)

    monkeypatch.setattr(DuckDBEngine, "row", row)
    return asked


@pytest.mark.parametrize("columns", [2, pytest.param(9, marks=split_only)])
def test_a_connection_of_duckdb_that_closes_between_statements(
    columns: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Between two passes, and between two SELECTs of one pass over eight columns and more."""
    ledger = make(tmp_path / "budget.db")
    rows = dp.Rows(columns=[dp.Column(f"x{at}", 0, 10) for at in range(columns)], neighbors="add-remove")
    releases = [dp.release("moment", "gaussian")]
    if columns == 2:
        rows, releases = PLAN.rows, list(PLAN.steps)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=releases)
    cells = CELLS if columns == 2 else {f"x{at}": [1.0, 2.0, 1234.5678] for at in range(columns)}
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells)
        asked = closing(monkeypatch, after=1)
        with pytest.raises(dp.ReleaseFailed) as caught:
            plan.run(dp.table(connection, "people"), ledger=ledger, dataset=NAME)
    assert 2 == len(asked)
    assert ["radius"][: columns == 2] == list(caught.value.result or {})
    assert ["reserved", "failed"] == kinds(ledger)
    shown = "".join(traceback.format_exception(caught.value))
    assert [] == [secret for secret in SECRETS if secret in shown]


def test_an_error_of_the_engine_shows_no_cell(postgres: str) -> None:
    """A view that fails on a row: its message would hold the cell."""
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", {"x": [1.0, 2.0], "y": ["1", "hush-hush"]})
        run(connection, "CREATE VIEW cast_ones AS SELECT x, y::float8 AS y FROM people")
        with pytest.raises(dp.ReleaseFailed) as caught:
            PLAN.run(dp.table(connection, "cast_ones"))
        shown = "".join(traceback.format_exception(caught.value))
        assert [] == [secret for secret in SECRETS if secret in shown]
        assert "(InvalidTextRepresentation)" in str(caught.value)
        run(connection, "DROP VIEW cast_ones")


def test_the_server_sees_one_statement_at_a_time(postgres: str) -> None:
    with connected("postgres", postgres) as connection:
        engine = PostgresEngine(connection, ("people",), None)
        with pytest.raises(Exception, match="multiple commands"):
            engine.row("SELECT 1; SELECT 2")
        assert [1] == list(engine.row("SELECT 1"))
