"""Where a cell is missing pandas changes the type of a column: nothing but that cell's own row may depend on it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from tests.support.refusals import Watch, check_refused

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


@pytest.mark.parametrize(
    "kind",
    ["object", "float64", "Int64", "Float64", "boolean", "str", "string[python]", "category", "datetime64[ns]",
     "double[pyarrow]", "string[pyarrow]", "null[pyarrow]"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["age", "smokes", "sex", "ward", "id"])
def test_nothing_but_holes_may_have_any_type(name: str, kind: str) -> None:
    people = {**table(()), "id": [str(i % 40) for i in range(100)]}
    first, second = parts(people)
    halves = [first, second.assign(**{name: pd.Series([None] * 50).astype(kind)})]
    expected = pa.table({**people, name: [*people[name][:50], *[None] * 50]})
    data = dd.from_delayed([dask.delayed(half) for half in halves], meta=first[:0], verify_meta=False)
    assert moment(expected, PEOPLE) == moment(data, PEOPLE) == moment(iter(halves), PEOPLE)


class Unwilling(float):
    """A number that will not be one."""

    def __float__(self) -> float:
        raise ArithmeticError


def test_objects_are_numbers_where_they_are() -> None:
    odd = {3: np.int8(3), 2.0**400: 2**400, 50.0: "50", 1.0: np.True_, 0.0: "False", 7.5: Decimal("7.5")}
    none = [2**2000, "?", 1e400, float("nan"), None, object(), 3j, np.timedelta64(5, "D"), Unwilling(1.0), b"50"]
    cells = [*odd.values(), *none]
    count = len(cells)
    late = parts(table(()))[0].head(count).assign(age=np.array(cells, dtype=object))
    others = {name: cells[:count] for name, cells in table(()).items()}
    assert moment(pa.table({**others, "age": [*odd, *[None] * len(none)]})) == moment(iter([late]))


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


@pytest.mark.parametrize("kind", ["int64", "int32", "float64", "Float64", "double[pyarrow]"])
@pytest.mark.parametrize("levels", [False, True])
def test_such_ids_in_chunks_are_refused_whether_there_is_a_hole_or_not(kind: str, levels: bool) -> None:
    ids = pd.Series(range(100)).astype(kind)
    with pytest.raises(dp.ReleaseFailed, match=r"column 'id' holds .* turns integers into floats"):
        plan(PEOPLE).run(iter([people(ids.astype("category") if levels else ids)]))


@pytest.mark.parametrize("hole", [False, True])
def test_ids_are_what_the_collection_says(hole: bool) -> None:
    """Nullable integers, it says; and partitions are as pandas guesses."""
    meta = people(pd.array(range(100), dtype="Int64"))[:0]
    late = people([None if hole and i == 77 else i for i in range(100)])
    data = dd.from_delayed([dask.delayed(late)], meta=meta, verify_meta=False)
    with pytest.raises(dp.ReleaseFailed, match=r"partition 0 .* column 'id' holds \w+ instead of Int64"):
        plan(PEOPLE).run(data)


@pytest.mark.parametrize("level", [2**53, -(2**53), np.int64(2**60)])
@pytest.mark.parametrize(
    "make", [lambda frame: frame, lambda frame: [frame], lambda frame: dd.from_pandas(frame, npartitions=1)]
)
@pytest.mark.parametrize("hole", [False, True])
def test_levels_that_floats_do_not_tell_apart_are_refused(
    watch: Watch, level: int, make: Callable[[Any], Any], hole: bool
) -> None:
    rows = dp.Rows(columns=[dp.Category("ward", [level, 5])], neighbors="replace")
    data = make(pd.DataFrame({"ward": [int(level), 5, None if hole else 5]}))
    check_refused(watch, lambda: plan(rows).run(data), dp.DataError, ("column 'ward' holds", "nullable integers"))


def test_levels_that_floats_do_not_tell_apart_in_nullable_integers() -> None:
    rows = dp.Rows(columns=[dp.Category("ward", [2**53, 2**53 + 1], missing=2**53)], neighbors="replace")
    cells = [2**53, 2**53 + 1, None, 2**53 + 1]
    frame = pd.DataFrame({"ward": pd.array(cells, dtype="Int64")})
    expected = moment(pa.table({"ward": pa.array(cells)}), rows)
    assert expected == moment(frame, rows) == moment(dd.from_pandas(frame, npartitions=2), rows)


@pytest.mark.parametrize("ids", ["Int64", "string"])
def test_ids_with_holes(ids: str) -> None:
    """Two rows of each of forty people count, and none of those without an id."""
    cells = [None if i % 10 == 3 else i % 40 for i in range(100)]
    told = people(pd.array(cells, dtype="Int64").astype(ids))
    whole = {**table(()), "id": pa.array(cells)}
    data = dd.from_pandas(told, npartitions=3)
    assert moment(pa.table(whole), PEOPLE) == moment(data, PEOPLE) == moment(iter([told[:60], told[60:]]), PEOPLE)
