"""Cells of any type, in any library: the same integers as from NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from tests.support.tables import AGE, COLUMNS, GROUP, NAN, both, moment

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
WHOLE = [0, 1, 7, 90, 100, 101]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16"])
@pytest.mark.parametrize(("column", "rows"), [("age", AGE), ("group", GROUP)])
def test_numbers_of_any_width(name: str, column: str, rows: dp.Rows) -> None:
    wanted = both({column: np.array(WHOLE, dtype=name)}, rows)
    cells = pa.array(np.array(WHOLE, dtype=name))
    assert wanted == both(pa.table({column: cells}), rows) == both(pd.DataFrame({column: cells.to_numpy()}), rows)
    gaps = both({column: np.array([NAN, *WHOLE])}, rows)
    assert gaps == both(pa.table({column: pa.concat_arrays([pa.nulls(1, cells.type), cells])}), rows)


def test_truth_values() -> None:
    wanted = both({"group": np.array([1.0, 0.0, NAN, 1.0])}, GROUP)
    cells = [True, False, None, True]
    assert wanted == both(pa.table({"group": cells}), GROUP) == both(pl.DataFrame({"group": cells}), GROUP)
    assert wanted == both(pd.DataFrame({"group": pd.array(cells, dtype="boolean")}), GROUP)
    assert moment({"age": np.array([True, False])}, AGE) == moment(pd.DataFrame({"age": [True, False]}), AGE)


def test_single_precision_is_widened_exactly() -> None:
    rows = dp.Rows(columns=[dp.Column("age", 0, 1), dp.Category("group", [0.1, 0.5])], neighbors="replace")
    narrow = {"age": np.array([0.1, 0.2, 0.3, np.inf], "f4"), "group": np.array([0.1, 0.5, 0.5, 0.5], "f4")}
    wide = {name: cells.astype(float) for name, cells in narrow.items()}
    assert both(wide, rows) == both(pa.table(narrow), rows) == both(pl.DataFrame(narrow), rows)
    assert both(wide, rows) == both(pd.DataFrame(narrow), rows)


@pytest.mark.parametrize(("kind", "most"), [(np.int64, 2**62), (np.uint64, 2**63 + 2**62)])
def test_whole_numbers_beyond_double_precision(kind: Any, most: int) -> None:
    """Columns round as NumPy does; levels are compared exactly, with or without nulls in the batch."""
    cells = np.array([most - 17 * i for i in range(3000)], dtype=kind)
    column = dp.Rows(columns=[dp.Column("age", most - 2.0**15, most)], neighbors="replace")
    assert moment({"age": cells}, column) == moment(pa.table({"age": cells}), column)
    level = dp.Rows(columns=[dp.Category("group", [0, most - 17, 5])], neighbors="replace")
    wanted = both({"group": cells}, level)
    assert wanted == both(pa.table({"group": cells}), level) == both(pl.DataFrame({"group": cells}), level)
    assert 2999 == dp.check(pa.table({"group": cells}), level).dropped
    assert wanted[0] == moment(pa.table({"group": pa.array([None, *cells.tolist()], pa.from_numpy_dtype(kind))}), level)


def test_a_column_of_nothing_is_missing() -> None:
    rows = dp.Rows(columns=[COLUMNS[1], dp.Category("sex", ["F", "M"], missing="M")], neighbors="replace")
    filled = {"hours": np.array([40.0, 40.0]), "sex": np.array(["M", "M"])}
    nothing = {"hours": [None, None], "sex": [None, None]}
    assert moment(filled, rows) == moment(pa.table(nothing), rows) == moment(pl.DataFrame(nothing), rows)


@pytest.mark.parametrize("levels", [["F"], ["F", ""], ["F", "F?", "F??"], ["?", "??"]])
def test_an_unknown_word_is_no_level(levels: list[str]) -> None:
    rows = dp.Rows(columns=[dp.Category("sex", levels)], neighbors="replace")
    cells = [*levels, "other", "F???", None]
    told = dp.check(pa.table({"sex": cells}), rows)
    assert (len(levels) + 3, 3) == (told.rows, told.dropped)
    assert told == dp.check(pa.table({"sex": pa.array(cells).dictionary_encode()}), rows)
    assert told == dp.check(pd.DataFrame({"sex": np.array(cells, dtype=object)}), rows)
