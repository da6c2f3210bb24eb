"""DuckDB, PostgreSQL and SQLite give the integers of the array path, whatever the cells, the promise and the types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.sources.sql import dialects
from tests.support.databases import ENGINES, as_arrays, case, connected, load, of_arrays, of_engine, run, types_of

pytest.importorskip("duckdb")

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def connection(engine: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    url = request.getfixturevalue("postgres") if engine == "postgres" else ""
    with connected(engine, url) as opened:
        yield opened


def check_case(connection: Any, engine: str, seed: int) -> None:
    cells, rows, statistics = case(seed)
    empty = {"who": "bigint"} if not cells.get("who", [1]) else {}
    expected = of_arrays(as_arrays(cells, rows), rows, statistics)
    order = ["place"] if engine == "postgres" else []  # whose tables have no order
    places = {name: list(range(len(next(iter(cells.values()))))) for name in order}
    load(connection, engine, cells | places, types_of(rows) | empty | dict.fromkeys(order, "integer"))
    data = dp.table(connection, "people", order=order)
    assert expected == of_engine(data, rows, statistics, tested=seed % 10 == 0), seed


@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_nasty_cells(connection: Any, engine: str, seed: int) -> None:
    for each in range(seed, seed + 3):
        check_case(connection, engine, each)


@pytest.mark.long
def test_many_nasty_tables(connection: Any, engine: str) -> None:
    for seed in range(10_000, 11_000):
        check_case(connection, engine, seed)


WHOLE = [0, 1, -7, 2**53 + 1, 2**62 + 1, -(2**63), None]
TYPES: dict[str, tuple[str, list[Any]]] = {
    "whole": ("bigint", WHOLE),
    "small": ("smallint", [3, -4, None]),
    "single": ("real", [0.1, 1e-40, 3.4e38, float("nan"), None]),
    "truth": ("boolean", [True, False, None]),
    "decimal": ("decimal(38, 10)", ["0.07", "123456789012345678.0123456789", "-1.5", None]),
}


@pytest.mark.parametrize("kind", TYPES)
def test_numbers_of_other_types(connection: Any, engine: str, kind: str) -> None:
    declared, cells = TYPES[kind]
    if engine == "sqlite":
        declared = {"real": "REAL", "decimal(38, 10)": "REAL"}.get(declared, declared)
    loaded = [cell if engine != "sqlite" or not isinstance(cell, str) else float(cell) for cell in cells]
    load(connection, engine, {"x": loaded}, {"x": declared})
    narrow = np.float32 if kind == "single" and engine != "sqlite" else np.float64
    array = np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=narrow)
    for column in (dp.Column("x", -2.0, 3.0), dp.Column("x", 2.0**53, 2.0**53 + 64, missing=2.0**53)):
        rows = dp.Rows(columns=[column], neighbors="replace", center=True)
        expected = of_arrays({"x": array}, rows, [dp.Moment()])
        assert expected == of_engine(dp.table(connection, "people"), rows, [dp.Moment()])


def test_decimals_that_no_double_holds(postgres: str) -> None:
    """PostgreSQL raises an error where a cast overflows or underflows; a run must not."""
    cells = ["1e400", "-1e400", "1e-400", "1e-310", "NaN", "Infinity", "1.7976931348623157e308", "2"]
    cells.append(str(2**1024 - 2**970))
    with connected("postgres", postgres) as connection:
        load(connection, "postgres", {"x": cells}, {"x": "numeric"})
        array = np.array([float(cell) for cell in cells])
        for missing in (None, 0.5):
            rows = dp.Rows(columns=[dp.Column("x", -3.0, 3.0, missing=missing)], neighbors="replace", center=True)
            expected = of_arrays({"x": array}, rows, [dp.Moment()])
            assert expected == of_engine(dp.table(connection, "people"), rows, [dp.Moment()])


def test_cells_of_any_type_in_a_column_of_sqlite() -> None:
    with connected("sqlite", "") as connection:
        cells: dict[str, list[Any]] = {"x": [1.5, 2, "word", b"blob", None, "3"], "sex": ["F", "M", 1, b"F", None, "f"]}
        load(connection, "sqlite", cells, {"x": "REAL", "sex": "TEXT COLLATE NOCASE"})
        columns = [dp.Column("x", 0, 4, missing=1), dp.Category("sex", ["F", "M"], missing="M")]
        rows = dp.Rows(columns=columns, neighbors="replace", center=True)
        array = {"x": np.array([1.5, 2, np.nan, np.nan, np.nan, 3.0]), "sex": np.array(["F", "M", "", "", "", ""])}
        expected = of_arrays(array, rows, [dp.Moment()])
        assert expected == of_engine(dp.table(connection, "people"), rows, [dp.Moment()])


@pytest.mark.parametrize("name", ["s0", "S3", "s_1"])
def test_tables_with_the_names_of_our_own_steps(connection: Any, engine: str, name: str) -> None:
    """The steps of a statement have names in SQLite; a table of such a name is another thing."""
    cells: dict[str, list[Any]] = {"x": [0.3, -0.7, 2.0], "s": [0.1, None, -0.4]}
    load(connection, engine, cells, name=name)
    columns = [dp.Column("x", -1, 1), dp.Column("s", -1, 1, missing=0.5)]
    rows = dp.Rows(columns=columns, neighbors="replace", linear=[[1.0, 0.5], [0.0, 2.0]], norm=0.5)
    expected = of_arrays(as_arrays(cells, rows), rows, [dp.Moment()])
    assert expected == of_engine(dp.table(connection, name.lower()), rows, [dp.Moment()])
    run(connection, f"DROP TABLE {name}")


def test_many_coordinates_in_several_statements(connection: Any, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [dp.Column(f"x{at}", -1.0, 1.0 + at) for at in range(9)]
    random = np.random.default_rng(4)
    cells = {column.name: random.normal(0, 2, 30).tolist() for column in columns}
    load(connection, engine, cells)
    monkeypatch.setattr(type(dialects.DIALECTS[engine]), "most_sums", 25)
    for norm, linear in ((None, None), (0.8, None), (0.8, random.normal(0, 1, (9, 9)))):
        rows = dp.Rows(columns=columns, neighbors="replace", norm=norm, linear=linear, center=True)
        expected = of_arrays(as_arrays(cells, rows), rows, [dp.Moment()])
        assert expected == of_engine(dp.table(connection, "people"), rows, [dp.Moment()], tested=True)


def test_the_order_of_the_rows_of_a_person(connection: Any, engine: str) -> None:
    """Of a table by its own order, if it has one, of a view by columns, and among rows alike in these by cells."""
    who = ["a", "a", "a", "b", None, ""]
    cells: dict[str, list[Any]] = {"x": [3.0, 1.0, 2.0, 9.0, 5.0, 6.0], "who": who, "day": [2, 1, 1, 1, 1, 1]}
    load(connection, engine, cells)
    run(connection, "DROP VIEW IF EXISTS ordered")
    run(connection, "CREATE VIEW ordered AS SELECT * FROM people")
    rows = dp.Rows(columns=[dp.Column("x", 0, 10)], neighbors="replace", center=True, person="who", contributions=2)
    plain = attrs.evolve(rows, person=None)

    def of(*chosen: float) -> Any:
        return of_arrays({"x": np.array(chosen)}, plain, [dp.Moment()])

    table, view = dp.table(connection, "people"), dp.table(connection, "ordered", order=["day"])
    if engine == "postgres":
        with pytest.raises(dp.DataError, match=r"order=\[\.\.\.\]"):  # it moves rows, to places of others too
            of_engine(table, rows, [dp.Moment()])
    else:
        assert of(3.0, 1.0, 9.0) == of_engine(table, rows, [dp.Moment()])
    assert of(1.0, 2.0, 9.0) == of_engine(view, rows, [dp.Moment()])
    assert of(1.0, 9.0) == of_engine(view, attrs.evolve(rows, contributions=1), [dp.Moment()])
    with pytest.raises(dp.DataError, match=r"order=\[\.\.\.\]"):
        of_engine(dp.table(connection, "ordered"), rows, [dp.Moment()])
    run(connection, "DROP VIEW ordered")


PLAN = dp.Plan(
    rows=dp.Rows(
        columns=[dp.Column("a", 0, 9), dp.Column("b", 0, 9, missing=1)],
        neighbors="add-remove",
        about=dp.ref("center"),
        norm=dp.ref("radius"),
        center=True,
    ),
    budget=BUDGET,
    steps=[
        dp.release("sum", "gaussian-sum", weight=0.3),
        dp.derive("center", "mean", of="sum"),
        dp.release("radius", "private-quantile", quantile=0.9, high=4.0),
        dp.release("moment", "gaussian"),
    ],
)


def test_a_run_of_three_passes(connection: Any, engine: str) -> None:
    random = np.random.default_rng(2)
    cells = {"a": random.normal(4, 2, 200).tolist(), "b": [*random.normal(5, 1, 199).tolist(), None]}
    load(connection, engine, cells)
    expected = PLAN.run(as_arrays(cells, PLAN.rows), insecure_seed=5)
    released = PLAN.run(dp.table(connection, "people"), insecure_seed=5)
    for name in ("sum", "center", "radius", "moment"):
        assert expected[name].tobytes() == released[name].tobytes()


@pytest.mark.parametrize("goal", [dp.covariance, dp.correlation])
def test_a_release_of_one_call(connection: Any, engine: str, goal: Any) -> None:
    """The default recipe, with a linear map or scales, and a sum of rows about their center."""
    random = np.random.default_rng(6)
    values = random.normal(4, 1, (60, 3)) @ random.normal(0, 1, (3, 7)) + random.normal(0, 0.3, (60, 7))
    cells: dict[str, list[Any]] = {f"x{at}": column.tolist() for at, column in enumerate(values.T)}
    cells["x0"][:4], cells["x1"][5:7] = [float("nan"), 1e308, None, -0.0], [None, 5e-324]
    cells["sex"] = ["F", "M", None] * 20
    columns = [dp.Column(f"x{at}", -30, 30, missing=None if at else 1.0) for at in range(7)]
    rows = dp.Rows(columns=[*columns, dp.Category("sex", ["F", "M"])], neighbors="add-remove")
    asked: dict[str, Any] = {"columns": rows.columns, "epsilon": 1.0, "delta": 1e-6, "neighbors": "add-remove"}
    load(connection, engine, cells, {"sex": "text"})
    expected = goal(as_arrays(cells, rows), **asked, insecure_seed=5)
    found = goal(dp.table(connection, "people"), **asked, insecure_seed=5)
    assert {"covariance": "linear", "correlation": "scale"}[goal.__name__] in " ".join(expected)
    assert {name: expected[name].tobytes() for name in expected} == {name: found[name].tobytes() for name in found}
