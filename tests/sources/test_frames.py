"""Data frames: names are no patterns, words may be any objects, and opening looks at no cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import sources
from tests.support.refusals import WORD
from tests.support.tables import AGE, NAN, PROMISE, ROWS, SEX, arrow, integers, moment, plan

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")


@pytest.mark.parametrize("lazy", [False, True])
def test_names_are_no_patterns(lazy: bool) -> None:
    """Polars takes such a name for a regular expression. A lazy frame gives rows in any order if none is asked for."""
    rows = dp.Rows(columns=[dp.Column("^a.*$", 0, 100)], neighbors="replace")
    frame = pl.DataFrame({"age": [1.0, 2.0], "^a.*$": [30.0, 40.0]})
    found = integers(frame.lazy() if lazy else frame, rows)
    assert sorted(integers({"^a.*$": np.array([30.0, 40.0])}, rows)) == sorted(found)


def test_words_as_objects_may_hold_anything() -> None:
    """What is no word is missing, and a word that no encoding can write is only another word."""
    cells = np.array(["F", 1, None, NAN, b"F", "\ud800", ["F"], "Mé"], dtype=object)
    wanted = moment({"sex": np.array(["F", "Mé"])}, SEX)
    assert wanted == moment(pd.DataFrame({"sex": cells}), SEX)
    assert 6 == dp.check(pd.DataFrame({"sex": cells}), SEX).dropped
    python = pd.DataFrame({"sex": pd.array(["F", "\ud800", None, "Mé"], dtype=pd.StringDtype("python"))})
    assert wanted == moment(python, SEX)


class Noted(str):
    """A word that counts how often it is looked up."""

    times = 0

    def __hash__(self) -> int:
        Noted.times += 1
        return super().__hash__()


def test_opening_looks_at_no_cell_in_memory() -> None:
    frame = pd.DataFrame({"sex": pd.Series([Noted("F"), Noted("F")], dtype=object)})
    Noted.times = 0
    source = sources.open_source(frame, SEX)
    assert 0 == Noted.times
    assert [2] == [len(block["sex"]) for block in source.blocks()]
    assert 2 == Noted.times
    taken = []
    batches = (taken.append(number) or arrow().to_batches()[0] for number in range(3))  # type: ignore[func-returns-value]
    source = sources.open_source(pa.RecordBatchReader.from_batches(arrow().schema, batches), PROMISE)
    assert [] == taken
    assert 3 * ROWS == sum(len(block["sex"]) for block in source.blocks())
    assert [0, 1, 2] == taken


def test_an_engine_that_fails_while_it_is_read_tells_nothing() -> None:
    lazy = pl.LazyFrame({"age": [WORD]}).select(pl.col("age").cast(pl.Float64))
    with pytest.raises(dp.ReleaseFailed, match="stands") as caught:
        plan(AGE).run(lazy)
    assert WORD not in str(caught.value)
    assert caught.value.__context__ is None
