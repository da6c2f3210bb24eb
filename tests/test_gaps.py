"""Where a cell is missing pandas changes the type of a column: nothing but that cell's own row may depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe import registry
from tests.test_bad_input import Watch, check_refused

pd: Any = pytest.importorskip("pandas")
pa: Any = pytest.importorskip("pyarrow")
dask: Any = pytest.importorskip("dask")
dd: Any = pytest.importorskip("dask.dataframe")

COLUMNS = [
    dp.Column("age", 0, 100, missing=40),
    dp.Column("smokes", 0, 1, missing=0),
    dp.Category("sex", ["F", "M"], missing="F"),
    dp.Category("ward", [1, 2], missing=1),
]
ROWS = dp.Rows(columns=COLUMNS, neighbors="replace")
PEOPLE = dp.Rows(columns=COLUMNS, neighbors="replace", person="id", contributions=2)
HOLES: dict[str, Any] = {
    "none": (),
    "an age": ("age",),
    "whether somebody smokes": ("smokes",),
    "a ward": ("ward",),
    "all words": ("sex",),
    "everything": ("age", "smokes", "sex", "ward"),
}


def table(holes: tuple[str, ...]) -> dict[str, list[Any]]:
    """Two partitions of fifty, with a hole in the second of each of these columns; of words nothing but holes."""
    found: dict[str, list[Any]] = {
        "age": [7 * i % 90 for i in range(100)],
        "smokes": [i % 3 == 0 for i in range(100)],
        "sex": ["FM"[i % 2] for i in range(100)],
        "ward": [1 + i % 2 for i in range(100)],
    }
    for name in holes:
        found[name] = [None if i == 77 or (name == "sex" and i >= 50) else cell for i, cell in enumerate(found[name])]
    return found


def parts(cells: dict[str, list[Any]]) -> list[Any]:
    """What pandas itself makes of each half."""
    return [pd.DataFrame({name: column[start : start + 50] for name, column in cells.items()}) for start in (0, 50)]


def frame(cells: dict[str, list[Any]]) -> Any:
    """A frame of Dask that says of itself what its first partition is."""
    found = parts(cells)
    return dd.from_delayed([dask.delayed(part) for part in found], meta=found[0][:0], verify_meta=False)


def plan(rows: dp.Rows = ROWS) -> dp.Plan:
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])


def moment(data: Any, rows: dp.Rows = ROWS) -> bytes:
    return plan(rows).run(data, insecure_seed=7)["moment"].tobytes()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    watch = Watch(monkeypatch)
    registry.hook()
    manager = registry._registry._manager
    manager.register(watch)
    yield watch
    manager.unregister(watch)


def test_types_do_depend_on_cells() -> None:
    """Otherwise there is nothing to see here."""
    first, second = parts(table(HOLES["everything"]))
    assert {"int64", "bool", "str", "object"} >= {str(kind) for kind in first.dtypes}
    assert ["float64", "object", "float64"] == [str(second[name].dtype) for name in ("age", "smokes", "ward")]
    assert "M" not in list(second["sex"])


@pytest.mark.parametrize("holes", HOLES.values(), ids=HOLES)
@pytest.mark.parametrize("make", [frame, lambda cells: iter(parts(cells))], ids=["partitions", "chunks"])
def test_a_hole_is_a_missing_cell_and_no_more(make: Callable[[Any], Any], holes: tuple[str, ...]) -> None:
    assert moment(pa.table(table(holes))) == moment(make(table(holes)))


@pytest.mark.parametrize("cell", [None, np.nan], ids=["None", "NaN"])
def test_partitions_without_a_word(cell: Any) -> None:
    """Which pandas holds as words, as objects or as floats."""
    first, second = parts(table(()))
    halves = [first, second.assign(sex=np.array([cell] * 50))]
    expected = pa.table({**table(()), "sex": [*first["sex"], *[None] * 50]})
    data = dd.from_delayed([dask.delayed(half) for half in halves], meta=first[:0], verify_meta=False)
    assert moment(expected) == moment(data) == moment(iter(halves))


def test_objects_are_numbers_where_they_are() -> None:
    odd = [np.int8(3), 2**400, 2**2000, "50", "?", 1e400, float("nan"), None, object(), np.True_]
    late = parts(table(()))[0].head(10).assign(age=np.array(odd, dtype=object))
    others = {name: cells[:10] for name, cells in table(()).items()}
    expected = pa.table({**others, "age": [3.0, 2.0**400, None, 50.0, None, None, None, None, None, 1.0]})
    assert moment(expected) == moment(iter([late]))


IDS: dict[str, Callable[[], Any]] = {
    "partitions of 64 bits": lambda: dd.from_pandas(people(np.arange(100)), npartitions=2),
    "partitions of 8 bits": lambda: dd.from_pandas(people(np.arange(100, dtype=np.int8)), npartitions=2),
}


def people(ids: Any) -> Any:
    return pd.DataFrame({**table(()), "id": ids})


@pytest.mark.parametrize("make", IDS.values(), ids=IDS)
def test_ids_that_a_hole_would_turn_into_floats_are_refused(watch: Watch, make: Callable[[], Any]) -> None:
    says = ("column 'id' holds int", "turns integers into floats", 'dtype_backend="pyarrow"')
    check_refused(watch, lambda: plan(PEOPLE).run(make()), dp.DataError, says)


@pytest.mark.parametrize("ids", [np.arange(100), np.arange(100.0)], ids=["integers", "floats"])
def test_such_ids_in_chunks_are_refused_whether_there_is_a_hole_or_not(ids: Any) -> None:
    with pytest.raises(dp.ReleaseFailed, match=r"column 'id' holds .* turns integers into floats"):
        plan(PEOPLE).run(iter([people(ids)]))


def test_levels_that_floats_do_not_tell_apart_are_refused(watch: Watch) -> None:
    rows = dp.Rows(columns=[dp.Category("ward", [2**53, 2**53 + 1])], neighbors="replace")
    data = dd.from_pandas(pd.DataFrame({"ward": [2**53, 2**53 + 1]}), npartitions=1)
    check_refused(watch, lambda: plan(rows).run(data), dp.DataError, ("column 'ward' holds int64", "nullable"))


@pytest.mark.parametrize("ids", ["Int64", "string"])
def test_ids_with_holes(ids: str) -> None:
    """Two rows of each of forty people count, and none of those without an id."""
    cells = [None if i % 10 == 3 else i % 40 for i in range(100)]
    told = people(pd.array(cells, dtype="Int64").astype(ids))
    whole = {**table(()), "id": pa.array(cells)}
    data = dd.from_pandas(told, npartitions=3)
    assert moment(pa.table(whole), PEOPLE) == moment(data, PEOPLE) == moment(iter([told[:60], told[60:]]), PEOPLE)
