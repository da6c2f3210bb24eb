"""What no transaction covers, such as a file, is computed by one statement, or refused before the charge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpframe.plugin as dp
from dpframe.sources.sql.pushed import Pushed
from tests.support.databases import connected, load, run
from tests.support.refusals import Watch

duckdb: Any = pytest.importorskip("duckdb")

ROWS = dp.Rows(columns=[dp.Column("x", 0, 10)], neighbors="add-remove")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
ONE = dp.Plan(rows=ROWS, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
TWO_STATEMENTS = dp.Plan(rows=ROWS, budget=BUDGET, steps=[*ONE.steps, dp.release("sum", "gaussian-sum")])
TWO_PASSES = dp.Plan(
    rows=dp.Rows(columns=ROWS.columns, neighbors="add-remove", norm=dp.ref("radius")),
    budget=BUDGET,
    steps=[dp.release("radius", "private-quantile", quantile=0.9, high=4.0), dp.release("moment", "gaussian")],
)
CELLS: dict[str, list[Any]] = {"x": [1.0, 2.0, 1234.5678]}


def check_one_statement_only(data: Any, watch: Watch) -> None:
    for plan in (TWO_STATEMENTS, TWO_PASSES):
        with pytest.raises(dp.DataError, match="the plan needs several statements"):
            plan.run(data)
    assert (0, 0) == (watch.charges, watch.draws)
    assert 1 == len(ONE.run(data))
    watch.charges = watch.draws = 0


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Any]:
    with connected("duckdb", "") as made:
        load(made, "duckdb", CELLS)
        run(made, f"COPY people TO '{tmp_path}/people.parquet'")
        run(made, f"COPY people TO '{tmp_path}/people.csv'")
        run(made, f"ATTACH '{tmp_path}/other.duckdb' AS other")
        run(made, "CREATE TABLE other.people AS FROM people")
        run(made, f"CREATE VIEW file AS FROM '{tmp_path}/people.parquet'")
        run(made, f"CREATE MACRO files() AS TABLE FROM read_csv('{tmp_path}/people.csv')")
        yield made


OUTSIDE = [
    "FROM file",
    "FROM files()",
    "SELECT x FROM file WHERE x > 1e9",  # of which the optimizer leaves nothing
    "FROM people UNION ALL SELECT * FROM file WHERE x > 1e9",
    "FROM people WHERE x IN (SELECT x FROM file)",
    "WITH t AS MATERIALIZED (FROM file) SELECT a.x FROM t AS a, t AS b",
    "FROM people TABLESAMPLE 50%",
]
INSIDE = [
    "FROM people",
    "FROM other.people",
    "SELECT x FROM people WHERE x > 1e9",
    "SELECT x FROM people WHERE x > (SELECT avg(x) FROM other.people)",
    "WITH RECURSIVE t(x) AS (SELECT 1.5::DOUBLE UNION ALL SELECT x + 1 FROM t WHERE x < 9) FROM t",
    "SELECT CAST(range AS DOUBLE) AS x FROM range(10) UNION ALL VALUES (2.5) UNION ALL SELECT unnest([1, 2])",
]


@pytest.mark.parametrize("sql", OUTSIDE)
def test_files_and_samples_of_duckdb(connection: Any, sql: str, watch: Watch) -> None:
    check_one_statement_only(dp.query(sql, connection, push=True), watch)
    run(connection, f"CREATE VIEW people_of_it AS {sql}")
    check_one_statement_only(dp.table(connection, "people_of_it"), watch)


@pytest.mark.parametrize("sql", INSIDE)
def test_what_is_in_a_snapshot_of_duckdb(connection: Any, sql: str) -> None:
    for plan in (TWO_STATEMENTS, TWO_PASSES):
        assert 2 == len(plan.run(dp.query(sql, connection, push=True)))


def test_a_view_that_reads_a_file_after_the_check(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run(connection, "CREATE VIEW turned AS FROM people")
    real = Pushed.check

    def checked(pushed: Pushed, *arguments: Any) -> None:
        real(pushed, *arguments)
        run(connection, "CREATE OR REPLACE VIEW turned AS FROM file")

    monkeypatch.setattr(Pushed, "check", checked)
    with pytest.raises(dp.ReleaseFailed, match="the plan needs several statements"):
        TWO_PASSES.run(dp.table(connection, "turned"))


def test_foreign_tables_of_postgres(postgres: str, watch: Watch) -> None:
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", CELLS)
        try:
            run(connection, "CREATE EXTENSION file_fdw")
        except Exception:
            pytest.skip("this PostgreSQL does not have file_fdw")
        try:
            run(connection, "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
            lines = "OPTIONS (program 'echo 1.5; echo 2.5', format 'csv')"
            run(connection, f"CREATE FOREIGN TABLE far (x double precision) SERVER files {lines}")
            run(connection, "CREATE VIEW near AS SELECT x FROM people WHERE x < (SELECT max(x) FROM far)")
            check_one_statement_only(dp.table(connection, "far"), watch)
            check_one_statement_only(dp.table(connection, "near"), watch)
            assert 2 == len(TWO_PASSES.run(dp.table(connection, "people")))
        finally:
            run(connection, "DROP EXTENSION file_fdw CASCADE")


def test_virtual_tables_of_sqlite(watch: Watch) -> None:
    with connected("sqlite", "") as connection:
        load(connection, "sqlite", CELLS)
        run(connection, "CREATE VIEW near AS SELECT x FROM people WHERE x > 0")
        assert 2 == len(TWO_PASSES.run(dp.table(connection, "near")))
        try:
            run(connection, "CREATE VIRTUAL TABLE far USING rtree(id, x, high)")
        except Exception:
            pytest.skip("this SQLite does not have R-trees")
        run(connection, "INSERT INTO far VALUES (1, 2.0, 3.0), (2, 4.0, 4.5)")
        watch.charges = watch.draws = 0
        check_one_statement_only(dp.table(connection, "far"), watch)
        run(connection, "CREATE VIEW both AS SELECT x FROM people WHERE x IN (SELECT id FROM far)")
        check_one_statement_only(dp.table(connection, "both"), watch)
