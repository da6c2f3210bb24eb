"""Spark: the same integers as in memory, also where workers die; the schema is checked before the charge."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.plan.schedule import Pass
from dpframe.run import runner
from dpframe.sources import open_source
from dpframe.sources import spark as spark_source
from dpframe.sources.sql import self_test
from dpframe.sources.sql.cells import Cells
from dpframe.sources.sql.dialect import Field
from dpframe.sources.sql.dialects import DIALECTS
from dpframe.sources.sql.statements import compiled
from dpframe.statistics import ColumnHistogram, NormHistogram
from tests.support import spark as workers
from tests.support.refusals import Watch

pa: Any = pytest.importorskip("pyarrow", reason="Spark frames are read through Arrow")

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

COUNT = 700
COLUMNS = (dp.Column("age", -3.0, 90.0, missing=40), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"]))
PROMISES: dict[str, dict[str, Any]] = {
    "plain": {},
    "centered": {"center": True, "norm": 1.1},
    "about": {"about": (0.1, -0.2, 0.3, 0.0), "scale": (0.5, 1.0, 2.0, 1.0), "norm": 0.7},
    "person": {"norm": 1.2, "person": "name", "contributions": 2},
    "person, centered": {"center": True, "person": "number", "contributions": 3},
}
NASTY = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), None, 0.5, 43.5, 2**-17]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    yield from workers.session("local[2,2]")


@pytest.fixture(autouse=True)
def _few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_source, "FAN_OUT", 2)


def rows(name: str) -> dp.Rows:
    return dp.Rows(columns=COLUMNS, neighbors="add-remove", **PROMISES[name])


def table() -> Any:
    """Every kind of cell that is odd, ties of the lattice, decimals and integers beyond 2^53, and ids that repeat."""
    draws = np.random.default_rng(8)
    age = [*NASTY, *(-3.0 + 93.0 * draws.integers(0, 2**17, 300) / 2**17)]  # ties between two lattice points
    age += list(draws.normal(40.0, 40.0, COUNT - len(age)))
    hours = [
        None if i % 11 == 0 else Decimal(int(hour)) / 100 for i, hour in enumerate(draws.integers(0, 12_000, COUNT))
    ]
    return pa.table(
        {
            "extra": pa.array([2**60 + i for i in range(COUNT)]),
            "sex": pa.array([str(word) if word != "-" else None for word in draws.choice(["F", "M", "?", "-"], COUNT)]),
            "age": pa.array(age, pa.float64()),
            "hours": pa.array(hours, pa.decimal128(10, 2)),
            "name": pa.array([f"{i} Somebody" for i in draws.integers(0, 90, COUNT)]),
            "number": pa.array([None if i == 0 else 2**53 + int(i) for i in draws.integers(0, 90, COUNT)], pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    """The table in three partitions, in its order."""
    parts = [spark.createDataFrame(table().slice(start, 250)).coalesce(1) for start in range(0, COUNT, 250)]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.union(part)
    return joined


def plan(promise: dp.Rows) -> dp.Plan:
    steps = [dp.release("moment", "gaussian"), dp.release("sum", "gaussian-sum")]
    return dp.Plan(rows=promise, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)


def integers(data: Any, promise: dp.Rows) -> dict[str, Any]:
    """The exact statistics, before any noise."""
    built = plan(promise)
    private = runner.read(built, open_source(data, built.rows), Pass(1, built.steps), {})
    return {each.name: [part.tolist() for part in private.parts(each).values()] for each in private.statistics}


@pytest.mark.parametrize("name", PROMISES)
def test_the_same_integers_as_in_memory(frame: Any, name: str) -> None:
    assert integers(table(), rows(name)) == integers(frame, rows(name))


def test_a_worker_that_dies_is_replaced(frame: Any, tmp_path: Path) -> None:
    witness = tmp_path / "died"
    dying = frame.mapInArrow(partial(workers.killing, witness), frame.schema)
    assert integers(table(), rows("centered")) == integers(dying, rows("centered"))
    assert witness.exists()


@pytest.mark.long  # real executors: three more processes of Java
def test_an_executor_that_dies_is_replaced(tmp_path: Path) -> None:
    for spark in workers.session("local-cluster[2,1,1024]"):
        witness = tmp_path / "died"
        whole = spark.createDataFrame(table()).repartition(1).sortWithinPartitions("extra")
        dying = whole.mapInArrow(partial(workers.killing, witness, executor=True), whole.schema)
        assert integers(table(), rows("person")) == integers(dying, rows("person"))
        assert witness.exists()


def test_a_run_draws_here_and_check_sees_all_rows(frame: Any) -> None:
    built = plan(rows("plain"))
    result, expected = built.run(frame, insecure_seed=7), built.run(table(), insecure_seed=7)
    assert expected["moment"].tobytes() == result["moment"].tobytes()
    assert dp.check(table(), built.rows) == dp.check(frame, built.rows)


def test_schemas_are_refused_before_the_charge(spark: Any, frame: Any, watch: Watch) -> None:
    built = plan(rows("plain"))
    words = frame.selectExpr("extra", "sex as age", "hours", "sex", "name")
    dates = frame.selectExpr("current_date() as age", "hours", "sex")
    intervals = frame.selectExpr("interval 3 months as age", "hours", "sex")
    alike = frame.selectExpr("age", "hours as AGE", "hours", "sex")
    cases = {
        "has no column 'age'": frame.drop("age"),
        "more than one column 'hours'": frame.select("age", "hours", "hours", "sex"),
        "must hold integers, floats": words,
        "Turn dates and times into numbers": dates,
        "column 'age' of the Spark frame holds": intervals,
        "names that differ in case are one name to Spark": alike,
        "has no end": spark.readStream.format("rate").load().selectExpr("value as age", "value as hours", "'F' as sex"),
    }
    for reason, bad in cases.items():
        with pytest.raises(dp.DataError, match=reason):
            built.run(bad)
    assert not watch.charges
    with pytest.raises(dp.DataError, match=r"needs dp.Rows\(columns="):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace"), budget=built.budget, steps=[dp.release("moment", "gaussian")]
        ).run(frame)


def test_what_fails_later_shows_no_cell(frame: Any) -> None:
    bad = frame.mapInArrow(workers.failing, frame.schema)
    with pytest.raises(dp.ReleaseFailed) as caught:
        plan(rows("plain")).run(bad)
    text = "".join(map(str, (caught.value, *getattr(caught.value, "__notes__", ()))))
    assert "Spark could not compute the data" in text
    assert "hush" not in text
    assert caught.value.__cause__ is None or "hush" not in str(caught.value.__cause__)
    assert caught.value.__context__ is None or "hush" not in str(caught.value.__context__)


def test_a_cell_that_cannot_be_cast_is_not_logged_here(frame: Any) -> None:
    """Spark's Python side logs errors of queries in the process of the run, with the cell."""
    logger = pytest.importorskip("pyspark.logger").PySparkLogger.getLogger("SQLQueryContextLogger")
    seen = io.StringIO()
    handler = logging.StreamHandler(seen)
    logger.addHandler(handler)
    try:
        bad = frame.selectExpr("cast(concat('hush', age) as double) as age", "sex", "hours")
        with pytest.raises(dp.ReleaseFailed, match="Spark could not compute the data"):
            plan(rows("plain")).run(bad)
    finally:
        logger.removeHandler(handler)
    assert "" == seen.getvalue()
    assert not logger.disabled


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # PySpark 4.0 leaves one open after collect()
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("norm", "ansi"), [(None, "true"), (1.0, "false"), (1e-7, "true")])
def test_the_sql_that_is_written_for_spark_gives_the_same_integers(spark: Any, norm: float | None, ansi: str) -> None:
    """No plan runs in Spark SQL, but its dialect can be tried here."""
    draws, dialect, levels = np.random.default_rng(4), DIALECTS["spark"], ["F", "it's \\ ${level}\n"]
    ages = [*NASTY, *(-3.0 + 93.0 * draws.integers(0, 2**17, 40) / 2**17).tolist()]
    counts, flags, places = (draws.integers(0, most, len(ages)).tolist() for most in (2**62, 2, 3))
    cells = [
        (age, count, bool(flag), [*levels, "f"][place])
        for age, count, flag, place in zip(ages, counts, flags, places, strict=True)
    ]
    own = spark.newSession()
    own.conf.set("level", "replaced")
    own.conf.set("spark.sql.ansi.enabled", ansi)
    made = own.createDataFrame(cells, "age double, `a``b` bigint, flag boolean, sex string").repartition(2)
    made.createOrReplaceTempView("people")
    columns = [dp.Column("age", -3.0, 90.0, missing=40), dp.Column("a`b", 0, 2**62), dp.Column("flag", 0, 1)]
    rows = dp.Rows(columns=[*columns, dp.Category("sex", levels)], neighbors="add-remove", norm=norm, center=True)
    kinds = {"age": "float", "a`b": "integer", "flag": "truth", "sex": "text"}
    source = Cells(dialect, dialect.quoted("people"), {name: Field(kind, kind) for name, kind in kinds.items()})
    table = [
        [age, float(count), float(flag), place if place < 2 else None]
        for age, count, flag, place in zip(ages, counts, flags, places, strict=True)
    ]
    for statistic in (dp.Moment(), NormHistogram(edges=[0.5, 1.0]), ColumnHistogram(column="age", edges=[20, 30])):
        work = compiled(statistic, rows, dialect, source)
        answers = [each.answer(lambda sql: tuple(own.sql(sql).collect()[0])) for each in work.statements]
        parts = work.parts(answers[0][0], [sums for _, sums in answers])
        found = {name: np.asarray(part).ravel().tolist() for name, part in parts.items()}
        assert self_test.expected(statistic, rows, table) == found
