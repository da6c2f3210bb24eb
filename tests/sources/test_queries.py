"""Queries: relations of DuckDB and SQL, checked without running, run once for each pass, in batches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.cli.main import main
from dpframe.sources import open_source
from tests.support.refusals import SECRETS, WORD, Watch, check_refused

duckdb: Any = pytest.importorskip("duckdb")

COUNT = 7919
ROWS = dp.Rows(columns=[dp.Column("age", 0, 100), dp.Category("sex", ["F", "M"])], neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
ONE_PASS = dp.Plan(rows=ROWS, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
TWO_PASSES = dp.Plan(
    rows=dp.Rows(columns=ROWS.columns, neighbors="replace", norm=dp.ref("radius")),
    budget=BUDGET,
    steps=[dp.release("radius", "private-quantile", quantile=0.9, high=4.0), dp.release("moment", "gaussian")],
)
MAKE = f"""
create table people as
select (range % 113)::double as age, case range % 3 when 0 then 'F' when 1 then 'M' end as sex, 'x' as extra
from range({COUNT})
"""


def table() -> dict[str, Any]:
    number = np.arange(COUNT)
    return {"age": (number % 113).astype(float), "sex": np.array(["F", "M", ""])[number % 3]}


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect() as connection:
        connection.execute(MAKE)
        yield connection


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(MAKE)
    return tmp_path / "clinic.duckdb"


def moment(data: Any) -> bytes:
    return TWO_PASSES.run(data, insecure_seed=7)["moment"].tobytes()


def test_every_way_to_ask(connection: Any, database: Path, tmp_path: Path) -> None:
    wanted = moment(table())
    connection.execute(f"copy people to '{tmp_path}/people.parquet'")
    assert wanted == moment(connection.sql("select * from people"))
    assert wanted == moment(connection.table("people").order("age"))
    assert wanted == moment(dp.query("select * from people", connection))
    assert wanted == moment(dp.query("  select sex, age from people where true;", database))
    assert wanted == moment(dp.query("with p as (from people) from p", str(database)))
    assert wanted == moment(dp.query(f"select * from '{tmp_path}/*.parquet'"))
    assert dp.check(table(), ROWS) == dp.check(dp.query("select * from people", database), ROWS)


@pytest.mark.parametrize("kind", ["float", "integer", "utinyint", "hugeint", "decimal(9, 2)", "boolean"])
def test_numbers_of_any_type(connection: Any, kind: str) -> None:
    rows = dp.Rows(columns=ROWS.columns[:1] if ROWS.columns else None, neighbors="replace")
    whole = {"age": np.append(np.arange(0.0, 2.0), np.nan)}
    plan = dp.Plan(rows=rows, budget=BUDGET, steps=ONE_PASS.steps)
    asked = dp.query(f"select age::{kind} as age from (values (0), (1), (null)) as t(age)", connection)
    assert plan.run(whole, insecure_seed=7)["moment"] == plan.run(asked, insecure_seed=7)["moment"]


def test_words_of_an_enumeration(connection: Any) -> None:
    connection.execute("create type sexes as enum ('M', 'it''s', 'F')")
    assert moment(table()) == moment(dp.query("select age, sex::sexes as sex from people", connection))


def test_what_is_not_needed_is_not_computed(connection: Any) -> None:
    asked = dp.query(f"select age, sex, error('{WORD}') as extra from people", connection)
    assert moment(table()) == moment(asked)


def test_others_may_use_the_connection_meanwhile(connection: Any) -> None:
    blocks = open_source(dp.query("select * from people", connection), ROWS).blocks()
    next(blocks)
    assert COUNT == connection.execute("select count(*) from people").fetchone()[0]
    list(blocks)


def test_a_name_that_needs_quotes(connection: Any) -> None:
    name = 'the "age", in years'
    rows = dp.Rows(columns=[dp.Column(name, 0, 100)], neighbors="replace")
    plan = dp.Plan(rows=rows, budget=BUDGET, steps=ONE_PASS.steps)
    asked = dp.query("""select age as "the ""age"", in years" from people""", connection)
    assert plan.run({name: table()["age"]}, insecure_seed=7)["moment"] == plan.run(asked, insecure_seed=7)["moment"]


TAKEN = {"temp table people": "temporary", 'temp view "a ""b"""': "temporary", "table other.people": "the search path"}


@pytest.mark.parametrize("push", [False, True])
@pytest.mark.parametrize("made", TAKEN)
def test_a_name_of_another_table_to_the_caller(connection: Any, watch: Watch, made: str, *, push: bool) -> None:
    """The query runs on a connection of its own, without the caller's temporary tables and search path."""
    connection.execute("create schema other")
    connection.execute(f"create {made} as select 1.0::double as age, 'F' as sex")
    connection.execute("use other")
    name = made.removeprefix("temp ").split(" ", 1)[1].removeprefix("other.")
    asked = dp.query(f"with c as (select 1) select * from {name}, c", connection, push=push)
    check_refused(watch, lambda: ONE_PASS.run(asked), dp.DataError, (TAKEN[made],))
    clear = dp.query("with people as (select * from memory.main.people) select * from people", connection, push=push)
    expected = ONE_PASS.run(table(), insecure_seed=7)["moment"]
    assert (expected == ONE_PASS.run(clear, insecure_seed=7)["moment"]).all()


REFUSED: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "absent": (lambda c: dp.query("select age from people", c), ("the query has no column 'sex'; of",)),
    "dates": (
        lambda c: dp.query(f"select error('{WORD}')::date as age, sex from people", c),
        ("column 'age' of the query holds date32[day]", "days since a public date"),
    ),
    "relation of words": (
        lambda c: c.sql("select sex as age, sex from people"),
        ("column 'age' of the query holds string", "it must hold integers"),
    ),
    "twice": (
        lambda c: dp.query('select age, sex, age as "AGE" from people', c),
        ("more than one column 'age' but for upper and lower case",),
    ),
    "no SELECT": (lambda c: dp.query("drop table people", c), ("a query must be one SELECT",)),
    "several": (lambda c: dp.query("select 1; drop table people", c), ("a query must be one SELECT",)),
    "no SQL": (lambda c: dp.query("hush-hush", c), ("cannot be parsed by DuckDB (ParserException)",)),
    "no table": (lambda c: dp.query("select * from hush", c), ("cannot answer the query", "(CatalogException)")),
    "no file": (lambda c: dp.query("from people", "gone.duckdb"), ("'gone.duckdb' cannot be read: there is no such",)),
    "other file": (lambda c: dp.query("from people", __file__), ("cannot be opened as a DuckDB database",)),
}


@pytest.mark.parametrize(("make", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_before_the_charge(
    watch: Watch, connection: Any, make: Callable[[Any], Any], says: tuple[str, ...]
) -> None:
    for attempt in (ONE_PASS.run, lambda data: dp.check(data, ROWS)):
        check_refused(watch, lambda attempt=attempt: attempt(make(connection)), dp.DataError, says)  # type: ignore[misc]
    assert COUNT == connection.execute("select count(*) from people").fetchone()[0]


@pytest.mark.parametrize("wrong", [("", None), (7, None), ("select 1", 7)])
def test_what_is_no_query(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(dp.PlanError, match=r"must be the path of a DuckDB database|needs a SELECT as text"):
        dp.query(*wrong)


def test_a_query_that_fails_tells_nothing(connection: Any, watch: Watch) -> None:
    asked = dp.query(f"select if(age = 50, error('{WORD}'), '1')::double as age, sex from people", connection)
    with pytest.raises(dp.ReleaseFailed, match="stands") as caught:
        ONE_PASS.run(asked)
    assert [] == [secret for secret in SECRETS if secret in str(caught.value)]
    assert 1 == watch.charges


def test_another_number_of_rows_in_the_second_pass(connection: Any) -> None:
    asked = dp.query("select age, sex from people using sample 50 percent (bernoulli)", connection)
    with pytest.raises(dp.ReleaseFailed, match="another number of rows") as caught:
        TWO_PASSES.run(asked)
    assert "moment" == caught.value.step


def test_from_a_shell(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ONE_PASS.dump(tmp_path / "plan.toml")
    words = [str(tmp_path / "plan.toml"), str(database), "--query"]
    assert 0 == main(["run", *words, "select * from people", "-o", str(tmp_path / "out")])
    assert (tmp_path / "out" / "result.json").exists()
    assert 0 == main(["check", *words, "select * from people"])
    assert "7919" in capsys.readouterr().out
    assert 1 == main(["run", *words, "select age from people", "-o", str(tmp_path / "other")])
    assert "the query has no column 'sex'" in capsys.readouterr().err


MEASURE = """
import resource, sys
import dpframe as dp

plan = dp.Plan(rows=dp.Rows(columns=[dp.Column(name, 0, 1e7) for name in "abcd"], neighbors="replace"),
               budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
asked = "select range::double as a, range + 0.5 as b, range::float as c, range / 3 as d from range({})"
plan.run(dp.query(asked.format(100_000)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
plan.run(dp.query(asked.format(2_500_000)))
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def test_a_long_query_needs_no_more_memory() -> None:
    """Two and a half million rows, 70 MB as numbers: little beyond what 0.1 million need."""
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 70e6 / 2
