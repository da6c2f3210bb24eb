"""CSV files: a record is a row, and no content of a cell upsets a run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe.plugin as dp
from dpframe import sources
from dpframe.reading import process_state
from tests.support.tables import AGE, NAN, Array, integers, moment, text_file


def test_a_csv_file_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "t.csv"
    path.write_text("age,extra\n" + "12.25,something that is not wanted\n" * 60_000)
    monkeypatch.setattr(sources.source, "MAX_ROWS_PER_BLOCK", 1000)
    source = sources.open_source(path, AGE)
    tracemalloc.start()
    try:
        assert 60_000 == sum(len(block["age"]) for block in source.blocks())
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()


MIXED = dp.Rows(
    columns=[dp.Column("age", 0, 100), dp.Column("hours", 0, 10, missing=5), dp.Category("sex", ["F", "Mé"])],
    neighbors="replace",
)


def mixed(*rows: tuple[float, float, str]) -> dict[str, Array]:
    age, hours, sex = zip(*rows, strict=True)
    return {"age": np.array(age, float), "hours": np.array(hours, float), "sex": np.array(sex)}


GOOD = (30.0, 4.0, "F")
LOST = (NAN, NAN, "")


CSV_FILES = {
    "plain": ("age,hours,sex\n30,4,F\n", [GOOD]),
    "no last line end": ("age,hours,sex\n30,4,F", [GOOD]),
    "carriage returns": ("age,hours,sex\r\n30,4,F\r\n", [GOOD]),
    "byte order mark": ("\ufeffage,hours,sex\n30,4,F\n", [GOOD]),
    "other order": ("sex,x,age,hours\nF,?,30,4\n", [GOOD]),
    "quoted": ('"age","hours","sex"\n"30","4","F"\n', [GOOD]),
    "line end in a cell": ('x,age,hours,sex\n"one\n2,3,4,5\n",30,4,F\n1,30,4,F\n', [GOOD, GOOD]),
    "empty lines": ("age,hours,sex\n\n30,4,F\n\n\n30,4,F\n\n", [GOOD, GOOD]),
    "spaces and signs": ("age,hours,sex\n 30 ,+4,F\n3e1,4.,F\n", [GOOD, GOOD]),
    "empty cells": ("age,hours,sex\n,4,F\n30,,F\n30,4,\n", [(NAN, 4, "F"), (30, NAN, "F"), (30, 4, "")]),
    "nothing but commas": ("age,hours,sex\n,,\n", [LOST]),
    "not finite": ("age,hours,sex\nnan,4,F\n30,inf,F\n1e999,4,F\n", [(NAN, 4, "F"), (30, NAN, "F"), (NAN, 4, "F")]),
    "no numbers": ("age,hours,sex\nabc,4,F\n30,1.5.2,F\n0x1F,4,F\n", [(NAN, 4, "F"), (30, NAN, "F"), (NAN, 4, "F")]),
    "truth values": ("age,hours,sex\ntrue,False,F\nTRUE, false ,F\n", [(1, 0, "F"), (1, 0, "F")]),
    "unknown words": ("age,hours,sex\n30,4,X\n30,4, F\n30,4,Mé\n", [(30, 4, ""), (30, 4, ""), (30, 4, "Mé")]),
    "too few cells": ("age,hours,sex\n30,4\n30\n30,4,F\n", [LOST, LOST, GOOD]),
    "too many cells": ("age,hours,sex\n30,4,F,\n30,4,F\n", [LOST, GOOD]),
    "stray quote in a cell": ('age,hours,sex\n30,4",F\n30,4,F\n', [(30, NAN, "F"), GOOD]),
    "carriage return in a cell": ("age,hours,sex\n30,4\r5,F\n30,4,F\n", [(30, NAN, "F"), GOOD]),
    "carriage return in the last line": ("age,hours,sex\n30,4,F\n30,4,F\rF", [GOOD, LOST]),
    "carriage return before a text": ('x,age,hours,sex\na\rb,30,4,"\n1,30,4,F\n"\n1,30,4,F\n', [(30, 4, ""), GOOD]),
    "returns in a text": ('x,age,hours,sex\n"\r\n1,30,4,F\r\r\n1,30,4,F\r\n",30,4,F\n1,30,4,F\n', [GOOD, GOOD]),
    "zero byte": ("age,hours,sex\n3\x000,4,F\n30,4,F\n", [(NAN, 4, "F"), GOOD]),
    "very long number": ("age,hours,sex\n30," + "9" * 5000 + ",F\n30,4,F\n", [(30, NAN, "F"), GOOD]),
    "very long cell": ("age,hours,sex\n30,4," + "F" * 200_000 + "\n30,4,F\n", [(30, 4, ""), GOOD]),
    "very long text": ('age,hours,sex\n30,4,"' + "\n30,4,F" * 50_000 + '"\n30,4,F\n', [(30, 4, ""), GOOD]),
    "quote that never ends": ('age,hours,sex\n30,4,F\n30,4,"F\n30,4,F\n', [GOOD, (30, 4, "")]),
}


@pytest.mark.parametrize(("text", "rows"), CSV_FILES.values(), ids=CSV_FILES)
def test_csv_cells(tmp_path: Path, text: str, rows: list[tuple[float, float, str]]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert integers(mixed(*rows), MIXED) == integers(path, MIXED)
    assert dp.check(mixed(*rows), MIXED) == dp.check(path, MIXED)


def test_a_csv_cell_beyond_the_longest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(process_state, "LONGEST_CELL", 1000)
    before = csv.field_size_limit(1000)
    try:
        path = text_file(tmp_path / "t.csv", "age,hours,sex\n30,4,F\n30,4," + "F" * 1001 + "\n30,4,F\n")
        assert integers(mixed(GOOD, LOST, GOOD), MIXED) == integers(path, MIXED)
    finally:
        csv.field_size_limit(before)


def test_csv_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("age,hours,sex\n30,4,Mé\n30,4,F\n".encode("latin-1"))
    assert integers(mixed((30, 4, ""), GOOD), MIXED) == integers(path, MIXED)


def test_levels_say_whether_cells_are_words(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("group\n1\n01\n1.0\n2\n")
    words = dp.Rows(columns=[dp.Category("group", ["1", "01"])], neighbors="replace")
    numbers = dp.Rows(columns=[dp.Category("group", [1, 4])], neighbors="replace")
    assert moment({"group": np.array(["1", "01", "1.0", "2"])}, words) == moment(path, words)
    assert moment({"group": np.array([1, 1, 1, 2])}, numbers) == moment(path, numbers)


@settings(max_examples=150, deadline=None)
@given(content=st.binary(max_size=60) | st.text('0,1"\r\n.F', max_size=60).map(str.encode))
def test_no_content_of_a_csv_file_upsets_a_run(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"age,hours,sex\n" + content)
    assert len(integers(path, MIXED)) <= 1 + content.count(b"\n")


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.lists(st.text() | st.floats().map(str) | st.just("F"), min_size=3, max_size=3), min_size=1))
def test_any_cells_in_a_csv_file(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    """Whatever a cell holds, it changes neither the cells nor the rows beside it."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([["age", "hours", "sex"], *rows])
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(buffer.getvalue().encode())

    def number(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(text.strip().lower(), NAN)

    wanted = [(number(age), number(hours), sex if sex in ("F", "Mé") else "") for age, hours, sex in rows]
    assert integers(mixed(*wanted), MIXED) == integers(path, MIXED)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.lists(st.text('\r\n",1', max_size=6), min_size=3, max_size=3)))
def test_a_record_is_a_row(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    """With these line ends some writers, such as pandas, leave a cell with a carriage return without quotes."""
    path = tmp_path_factory.getbasetemp() / "records.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["age", "hours", "sex"], *rows])
    assert len(rows) == len(integers(path, MIXED))
