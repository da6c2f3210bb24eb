"""A table of DuckDB whose rows are summed by two SELECTs: those near their ranges, which is faster, and the others."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.sources.sql.cells import Cells
from dpframe.sources.sql.dialect import Field
from dpframe.sources.sql.dialects import DIALECTS, _inside
from dpframe.sources.sql.pushed import Pushed
from dpframe.sources.sql.row_map import RowMap
from dpframe.sources.sql.statements import Select, compiled
from tests.support.databases import NASTY, as_arrays, connected, load, of_arrays, of_engine, run, types_of

duckdb = pytest.importorskip("duckdb")

DIALECT = DIALECTS["duckdb"]
IS_TOLD = duckdb.__version__ >= "2"
"""Before DuckDB 2.0 the catalog does not say which columns are generated, so no table is split."""

split_only = pytest.mark.skipif(not IS_TOLD, reason="before DuckDB 2.0 no table is split")


def promise(count: int, seed: int = 0, **said: Any) -> dp.Rows:
    """Columns, some with a half width that is a power of two, some without a double in the middle, and a category."""
    random = np.random.default_rng(seed)
    columns: list[dp.Column | dp.Category] = []
    for at in range(count):
        low, high = [(-4.0, 4.0), (17.0, 90.0), (0.0, 0.25), (1e6, 1e6 + 3), (2.0**52, 2.0**52 + 3)][at % 5]
        missing = low if random.random() < 0.3 else None
        columns.append(dp.Column(f"x{at}", low, high, missing=missing))
    columns.append(dp.Category("sex", ["F", "M"], missing=[None, "M"][seed % 2]))
    return dp.Rows(columns=columns, neighbors="add-remove", center=True, **said)


def drawn(rows: dp.Rows, count: int, wild: float, seed: int = 0) -> dict[str, list[Any]]:
    """Cells in their ranges and somewhat beyond, ties of rounding, and a share of nasty ones."""
    random = np.random.default_rng(seed)
    cells: dict[str, list[Any]] = {}
    for column in rows.columns or ():
        if isinstance(column, dp.Category):
            cells[column.name] = random.choice(np.array(["F", "M", "x", None], dtype=object), count).tolist()
            continue
        inside = random.normal(column.middle, 0.8 * column.half_width, count).tolist()
        ends = [column.low, column.high, column.middle]
        near = [math.nextafter(each, way) for each in ends for way in (-math.inf, math.inf)]
        nasty = [*NASTY, column.high + 50 * column.half_width]
        cells[column.name] = [
            nasty[random.integers(len(nasty))] if random.random() < wild else [each, near[at % 6]][at % 9 == 0]
            for at, each in enumerate(inside)
        ]
    return cells


def integers_are_same(seed: int, wild: float, types: dict[str, str]) -> None:
    rows = promise(8 + seed % 5, seed)
    cells = drawn(rows, 60, wild, seed)
    for name in types:  # of single floats
        cells[name] = [
            cell if cell is None or abs(cell) == math.inf else float(np.clip(cell, -3e38, 3e38)) for cell in cells[name]
        ]
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells, types_of(rows) | types)
        back = connection.execute("FROM people").fetchnumpy()
        array: dict[str, Any] = {name: np.ma.filled(np.ma.asarray(back[name], float), math.nan) for name in types}
        expected = of_arrays(as_arrays(cells, rows) | array, rows, [dp.Moment()])
        assert expected == of_engine(dp.table(connection, "people"), rows, [dp.Moment()], tested=seed % 4 == 0), seed


@pytest.mark.parametrize("wild", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_nasty_cells(seed: int, wild: float) -> None:
    integers_are_same(seed, wild, {})


@pytest.mark.long
def test_many_nasty_tables() -> None:
    for seed in range(300):
        integers_are_same(seed, [0.0, 0.02, 0.3][seed % 3], {"x0": "real"} if seed % 2 else {})


def test_columns_of_other_types() -> None:
    """Single floats, whose nearest one to an end may be beyond it, integers of all lengths, truth values, decimals."""
    kinds = ["real", "tinyint", "ubigint", "bigint", "boolean", "integer", "double", "usmallint", "decimal(18, 3)"]
    columns = [dp.Column(f"x{at}", -3.0, 5.0, missing=[None, 1.0][at % 2]) for at in range(len(kinds))]
    cells: dict[str, list[Any]] = {f"x{at}": [0, 1, None, 1, 0, 1] for at in range(len(kinds))}
    cells["x0"] = [1.5, 0.1, 3.4e38, 1e-40, math.nan, -2.5]
    cells["x2"], cells["x3"] = [2**64 - 1, 1, 2, 3, 4, 5], [2**62 + 1, -(2**63), 2, 6, -4, 17]
    cells["x8"] = [None, "1.5", "-2.125", "1000000", "4", "5"]
    for count in (8, 9):  # without the decimals, which are no reason to split, and with them
        names = [f"x{at}" for at in range(count)]
        rows = dp.Rows(columns=columns[:count], neighbors="add-remove", center=True)
        array = {name: np.array([math.nan if each is None else float(each) for each in cells[name]]) for name in names}
        array["x0"] = array["x0"].astype(np.float32)
        with connected("duckdb", "") as connection:
            load(connection, "duckdb", {name: cells[name] for name in names}, dict(zip(cells, kinds, strict=True)))
            found = of_engine(dp.table(connection, "people"), rows, [dp.Moment()], tested=True)
        assert of_arrays(array, rows, [dp.Moment()]) == found


def test_the_widest_and_the_narrowest_ranges() -> None:
    kinds = ["bigint", "real", *["double"] * 6]
    spans = [1e140, 1e130, 1e139, 2.0**465, 2.0**-465, 1e-139, 1e-140, 1.0]
    columns = [dp.Column(f"x{at}", -span, span, missing=0.0) for at, span in enumerate(spans)]
    rows = dp.Rows(columns=columns, neighbors="add-remove")
    cells: dict[str, list[Any]] = {f"x{at}": [0.0, span, -span / 2, span * 0.7, None] for at, span in enumerate(spans)}
    cells["x0"], cells["x1"] = [2**62, -(2**63), 3, None, 0], [3e38, -1e-40, 0.0, math.nan, 2.0]
    array = as_arrays(cells, rows)
    array["x1"] = array["x1"].astype(np.float32)
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells, dict(zip(cells, kinds, strict=True)))
        found = of_engine(dp.table(connection, "people"), rows, [dp.Moment()], tested=True)
    assert of_arrays(array, rows, [dp.Moment()]) == found


@pytest.fixture
def selects(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows of all SELECTs of sums."""
    counts: list[int] = []
    real = Select.answer

    def answer(self: Select, row: Any) -> Any:
        counts.append(row[0])
        return real(self, row)

    monkeypatch.setattr(Select, "answer", answer)
    return counts


@split_only
def test_which_rows_are_near(selects: list[int]) -> None:
    rows = dp.Rows(columns=[dp.Column(f"x{at}", -1, 1) for at in range(16)], neighbors="add-remove")
    cells = {f"x{at}": [0.5, 1.7, -1.7, 0.1, None, 0.2] for at in range(16)}  # 46340 is 2.8 times 65536 / 4
    cells["x3"] = [0.1, 0.2, 0.3, 2.0, 0.1, math.nan]
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells)
        of_engine(dp.table(connection, "people"), rows, [dp.Moment()])
        run(connection, "DELETE FROM people WHERE x0 IS NULL OR x3 NOT BETWEEN 0 AND 1")
        of_engine(dp.table(connection, "people"), rows, [dp.Moment()])
    assert [3, 1, 3] == selects  # no second SELECT where the first has left nothing to it


VIEW = "CREATE VIEW source AS SELECT * FROM people"
GENERATED = "CREATE TABLE source (y DOUBLE, x0 DOUBLE AS (y), {rest})"


@pytest.mark.parametrize("kind", ["view", "generated", "query", "person", "few columns", "norm", "about"])
def test_what_one_select_reads(kind: str, selects: list[int]) -> None:
    """Two would not surely read the same rows; or nothing is gained."""
    names = [f"x{at}" for at in range(3 if kind == "few columns" else 12)]
    promises: dict[str, dict[str, Any]] = {
        "person": {"person": "who", "contributions": 1},
        "norm": {"norm": 1.0},
        "about": {"about": [0.1] * 12},
    }
    said = promises.get(kind, {})
    rows = dp.Rows(columns=[dp.Column(name, -1, 1) for name in names], neighbors="add-remove", **said)
    cells: dict[str, list[Any]] = {name: [0.5, 7.0] for name in names} | {"who": ["a", "b"]}
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells)
        rest = ", ".join(f"{name} DOUBLE" for name in names[1:])
        makes = {"view": VIEW, "generated": GENERATED.format(rest=rest)}
        run(connection, makes.get(kind, "CREATE TABLE source AS FROM people"))
        if kind == "generated":
            run(connection, f"INSERT INTO source SELECT {', '.join(names)} FROM people")
        data = dp.query("FROM people", connection, push=True) if kind == "query" else dp.table(connection, "source")
        of_engine(data, rows, [dp.Moment()])
    assert [2] == selects


def shown(connection: Any, sql: str) -> str:
    return str(connection.execute(f"EXPLAIN {sql}").fetchall()[-1][1])


@split_only
@pytest.mark.parametrize("cell", [0.5, 1e5, math.nan, None])
def test_duckdb_proves_that_nothing_overflows_whatever_a_column_holds(cell: float | None) -> None:
    """What is not proved is checked, which takes longer. Where the table shows that all rows are near, none is read
    twice."""
    rows = dp.Rows(columns=[dp.Column(f"x{at}", -1, 3) for at in range(9)], neighbors="add-remove")
    types = ["real", "bigint", *["double"] * 7]
    cells: dict[str, list[Any]] = {f"x{at}": [0, cell if at == 3 else 1] for at in range(9)}
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", cells, dict(zip(cells, types, strict=True)))
        run(connection, "INSERT INTO people SELECT 1e6, 10**6, * EXCLUDE (x0, x1) FROM people") if cell == 1e5 else None
        kinds = {name: Field("float", kind) for name, kind in zip(cells, types, strict=True)}
        kinds["x1"] = Field("integer", "bigint")
        (statement,) = compiled(dp.Moment(), rows, DIALECT, Cells(DIALECT, "people", kinds, is_stored=True)).statements
        near, far = statement.selects
        assert ["sum_no_overflow"] * 45 == re.findall(r"\bsum\w*", shown(connection, near.sql))
        assert (cell == 0.5) == bool(re.search("empty", shown(connection, far.sql), re.IGNORECASE))


@split_only
def test_a_table_that_is_a_view_after_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows might be others each time they are read."""
    rows = dp.Rows(columns=[dp.Column(f"x{at}", -1, 1) for at in range(9)], neighbors="add-remove")
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    real: Callable[..., None] = Pushed.check
    with connected("duckdb", "") as connection:
        load(connection, "duckdb", {f"x{at}": [0.5, 0.25] for at in range(9)})

        def checked(pushed: Pushed, *arguments: Any) -> None:
            real(pushed, *arguments)
            run(connection, "ALTER TABLE people RENAME TO others")
            run(connection, "CREATE VIEW people AS SELECT * REPLACE (2 * random() AS x0) FROM others")

        monkeypatch.setattr(Pushed, "check", checked)
        with pytest.raises(dp.ReleaseFailed, match="than when it was checked"):
            plan.run(dp.table(connection, "people"))


def test_the_numbers_of_a_type_between_two_doubles() -> None:
    for kind in (np.float32, np.float64):
        most = float(np.finfo(kind).max)
        assert (-most, most) == _inside(-math.inf, math.inf, kind)
        for low, high in ((0.1, 0.3), (-0.3, -0.1), (1e15, 1e15 + 3), (0.25, 0.5)):
            first, last = _inside(low, high, kind)
            before, after = np.nextafter(kind(first), kind(-np.inf)), np.nextafter(kind(last), kind(np.inf))
            assert float(before) < low <= first
            assert last <= high < float(after)
            assert [first, last] == [float(kind(first)), float(kind(last))]


def test_ends_that_are_near() -> None:
    """A factor is at most the size of a step at an end and that of the range: 46340 in all."""
    rows = dp.Rows(columns=[dp.Column(f"x{at}", -1, 1) for at in range(16)], neighbors="add-remove")
    near, (size, *_) = RowMap(rows, DIALECT).near(), RowMap(rows, DIALECT).sizes()
    assert near is not None
    assert all(46338 <= size + round(end * size) <= 46340 for _, end in near.values())
