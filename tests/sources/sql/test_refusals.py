"""What is refused before the charge, and what is said of it; names are names, whatever they look like."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.sources.source import open_source
from dpframe.sources.sql import dialects
from tests.support.databases import ENGINES, connected, load, of_arrays, of_engine, run
from tests.support.refusals import SECRETS, WORD, Watch

duckdb: Any = pytest.importorskip("duckdb")

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
ROWS = dp.Rows(columns=[dp.Column("age", 0, 100), dp.Category("sex", ["F", "M"])], neighbors="replace")
CELLS: dict[str, list[Any]] = {"age": [1234.5678, 3.0], "sex": [WORD, "M"], "who": [7919, 7919]}


def plan(rows: dp.Rows = ROWS, *steps: dp.Step) -> dp.Plan:
    return dp.Plan(rows=rows, budget=BUDGET, steps=steps or [dp.release("moment", "gaussian")])


def check_refused(watch: Watch, asked: dp.Plan, data: Callable[[], Any], *parts: str) -> None:
    with pytest.raises((dp.DataError, dp.PlanError)) as caught:
        asked.run(data())
    text = str(caught.value)
    assert [] == [part for part in parts if part not in text], text
    assert [] == [secret for secret in SECRETS if secret in text], text
    assert (0, 0) == (watch.charges, watch.draws)


def columns(*declared: Any, **said: Any) -> dp.Rows:
    return dp.Rows(columns=declared, neighbors="replace", **said)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_does_not_fit(engine: str, request: pytest.FixtureRequest, watch: Watch) -> None:
    url = request.getfixturevalue("postgres") if engine == "postgres" else ""
    with connected(engine, url) as connection:
        load(connection, engine, CELLS | {"born": ["2001-02-03", None]}, {"born": "date"})
        table = partial(dp.table, connection, "people")
        check_refused(watch, plan(columns(dp.Column("Age", 0, 1))), table, "no column 'Age'", "but for upper and lower")
        check_refused(
            watch, plan(columns(dp.Column("sex", 0, 1))), table, "'sex' of the table holds", "not cast silently"
        )
        check_refused(watch, plan(columns(dp.Category("age", ["F"]))), table, "'age' of the table holds", "text")
        check_refused(watch, plan(columns(dp.Column("born", 0, 1))), table, "'born' of the table holds")
        check_refused(watch, plan(columns(dp.Column("age", 0, 1), person="born")), table, "person=", "integers or text")
        check_refused(watch, plan(ROWS), lambda: dp.table(connection, "nobody"), "there is no such")
        blocks = plan(ROWS, dp.release("folds", "gaussian-folds", folds=2))
        check_refused(watch, blocks, table, "cannot be computed inside a database", "without push=True")
        wide = columns(dp.Category("sex", [f"level {i}" for i in range(129)]), linear=np.eye(129).tolist())
        check_refused(watch, plan(wide), table, "more than 128 coordinates are not multiplied by a matrix inside")
        check_refused(watch, plan(dp.Rows(norm=1.0, neighbors="replace")), table, "columns=[...]")
        check_refused(watch, plan(columns(dp.Category("age", [1, 2**60]))), table, "2^53 or more")
        with pytest.raises(dp.DataError, match="not read one by one"):
            dp.check(dp.table(connection, "people"), ROWS)
        assert 1 == len(plan().run(table()))  # the connection is as it was


@pytest.mark.parametrize("engine", ENGINES)
def test_names_that_look_like_sql(engine: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("postgres") if engine == "postgres" else ""
    column, level = 'a"; DROP TABLE people; --', "x' OR '1'='1\\"
    rows = columns(dp.Column(column, 0, 10), dp.Category("sex", [level, "M"]), center=True)
    with connected(engine, url) as connection:
        cells: dict[str, list[Any]] = {column: [1.0, 2.0, 3.0], "sex": [level, "M", "x"]}
        table = 'we"ird'
        load(connection, engine, cells, name='"we""ird"')
        arrays = {column: np.array(cells[column]), "sex": np.array(cells["sex"])}
        expected = of_arrays(arrays, rows, [dp.Moment()])
        assert expected == of_engine(dp.table(connection, table), rows, [dp.Moment()], tested=True)
        for name in ("people; DROP TABLE people", "(SELECT 1)", "people AS t --", "people\n", "' OR 1", "*"):
            with pytest.raises(dp.DataError):
                of_engine(dp.table(connection, name), rows, [dp.Moment()])
        assert expected == of_engine(dp.table(connection, [table]), rows, [dp.Moment()])


@pytest.mark.parametrize("name", ["", "a..b", "a.b.c.d", [], [1], None, "a\0b", b"people"])
def test_what_is_no_name(name: Any) -> None:
    with pytest.raises(dp.PlanError, match="needs the name of a table"):
        dp.table(duckdb.connect(), name)


def test_what_is_no_connection() -> None:
    with pytest.raises(dp.PlanError, match="an open connection of DuckDB"):
        dp.table(object(), "people")
    with pytest.raises(dp.PlanError, match="list of names"):
        dp.table("a.duckdb", "people", order="day")
    with pytest.raises(dp.PlanError, match="order= is for push=True"):
        dp.query("select 1", order=["day"])
    with connected("sqlite", "") as connection, pytest.raises(dp.DataError, match="make a view of it"):
        plan().run(dp.query("select 1", connection, push=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_rounds_in_another_way(
    engine: str, request: pytest.FixtureRequest, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = request.getfixturevalue("postgres") if engine == "postgres" else ""
    kind = type(dialects.DIALECTS[engine])
    monkeypatch.setattr(kind, "rounded", lambda self, y: f"CAST(FLOOR({y} + 0.5) AS {self.integer})")
    with connected(engine, url) as connection:
        load(connection, engine, CELLS)
        check_refused(watch, plan(), lambda: dp.table(connection, "people"), f"this {engine} does not compute")


def test_a_name_is_not_that_of_a_file_or_a_variable(tmp_path: Path, watch: Watch) -> None:
    """DuckDB would read both."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1.0 AS age, 'F' AS sex) TO '{tmp_path}/people.parquet'")
        file = partial(dp.table, connection, [f"{tmp_path}/people.parquet"])
        check_refused(watch, plan(), file, "there is no such table")
        people = connection.sql("SELECT 1.0 AS age, 'F' AS sex")
        check_refused(watch, plan(), partial(dp.table, connection, "people"), "there is no such table")
        assert people is not None


def test_a_transaction_under_way(postgres: str, watch: Watch) -> None:
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", CELLS)
        connection.execute("INSERT INTO people VALUES (1, 'F', 2)")
        check_refused(watch, plan(), lambda: dp.table(connection, "people"), "inside a transaction")
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", CELLS)
        connection.execute("BEGIN")
        check_refused(watch, plan(), lambda: dp.table(connection, "people"), "inside a transaction")


def test_permissions(postgres: str, watch: Watch) -> None:
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", CELLS)
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader")
        connection.execute("GRANT SELECT (age) ON people TO reader")
        connection.execute("SET ROLE reader")
        check_refused(watch, plan(), lambda: dp.table(connection, "people"), "may it be read? (InsufficientPrivilege)")
        both = [dp.release("moment", "gaussian"), dp.release("sum", "gaussian-sum")]
        age = plan(columns(dp.Column("age", 0, 100)), *both)
        assert 2 == len(age.run(dp.table(connection, "people")))
        connection.execute("RESET ROLE")
        connection.execute("DROP OWNED BY reader")
        connection.execute("DROP ROLE reader")


def test_a_column_without_a_type_in_sqlite(watch: Watch) -> None:
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", CELLS, {"age": ""})
        check_refused(watch, plan(), lambda: dp.table(connection, "people"), "'age' of the table holds a type that")


def test_sqlite_compiles_what_is_checked_before_the_charge_and_runs_none_of_it() -> None:
    """A SELECT with LIMIT 0 may still fill the subqueries in it."""
    rows = columns(dp.Column("age", 0, 100), person="who", contributions=1)
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", CELLS)
        ran: list[str] = []
        connection.set_trace_callback(ran.append)
        open_source(dp.table(connection, "people"), rows)
        connection.set_trace_callback(None)
    assert {"PRAGMA"} == {statement.split()[0] for statement in ran if "people" in statement}


def test_queries(postgres: str, watch: Watch) -> None:
    for engine in ("duckdb", "postgres"):
        with connected(engine, postgres) as connection:
            load(connection, engine, CELLS)
            wanted = of_engine(dp.table(connection, "people"), ROWS, [dp.Moment()])
            sql = "select sex, age from people where age > 0 -- all;"
            assert wanted == of_engine(dp.query(sql, connection, push=True), ROWS, [dp.Moment()], tested=True)
            for bad in ("drop table people", "select 1; select 2", "select age) as t; drop table people; select (1"):
                check_refused(watch, plan(), lambda bad=bad, at=connection: dp.query(bad, at, push=True))  # type: ignore[misc]
            assert wanted == of_engine(dp.table(connection, "people"), ROWS, [dp.Moment()])
            run(connection, "DROP TABLE people")
