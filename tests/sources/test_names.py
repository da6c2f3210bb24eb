"""Names and types of the columns of a file: no cell is read, and a first line like a row is shown nowhere."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

import dpframe as dp
from dpframe.sources.names import Named, named_columns

HEADER = "age,sex,net income"
NAMED = [Named(name, "unknown") for name in HEADER.split(",")]


def test_the_header_of_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"\ufeff{HEADER}\n39,F,\x00 not even text\n", encoding="utf-8")
    assert NAMED == named_columns(str(tmp_path / "a.csv"))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(f"{HEADER}\n".encode()))
    assert NAMED == named_columns(tmp_path / "a.csv.gz")
    (tmp_path / "b.csv").write_text(HEADER.replace(",", ";") + "\n", encoding="utf-16")
    assert NAMED == named_columns(dp.csv(tmp_path / "b.csv", separator=";"))


@pytest.mark.parametrize(
    ("line", "suspicious"),
    [
        ("39,Bachelors,Alice", 1),
        ("-1.5e3,F,x", 1),
        ('"1,5",F,x', 1),
        ("F,,x", 1),
        ("1987-05-30,F,true", 2),
        ("30/5/1987,F,x", 1),
        ("10:15:00,F,x", 1),
        ("F,alice@example.org,nan", 1),
    ],
)
def test_a_first_line_that_looks_like_a_row_is_refused_and_not_shown(
    line: str, suspicious: int, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(dp.DataError) as raised:
        named_columns(path)
    message = str(raised.value)
    assert f"the first line of 'people.csv' looks like a row, not like names of columns: {suspicious} of its" in message
    assert [] == [cell for cell in ("39", "Bachelors", "Alice", "1987", "alice", "1.5") if cell in message]
    assert "add one; if these are the names, say --header" in message
    if ",," not in line:
        assert 3 == len(named_columns(path, is_header=True))


@pytest.mark.parametrize("line", ["", "age,age", 'age,"sex'])
def test_lines_that_are_no_header(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{line}\nAlice,Bob\n", encoding="utf-8")
    with pytest.raises(dp.DataError) as raised:
        named_columns(tmp_path / "a.csv", is_header=True)
    assert "Alice" not in str(raised.value)


def test_types_of_a_parquet_file_or_directory(tmp_path: Path) -> None:
    kinds: dict[str, Any] = {
        "age": pa.int8(),
        "income": pa.decimal128(10, 2),
        "smokes": pa.bool_(),
        "sex": pa.dictionary(pa.int8(), pa.string()),
        "born": pa.date32(),
        "notes": pa.list_(pa.string()),
    }
    expected = ["number", "number", "truth value", "words", "time", "other"]
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.schema(list(kinds.items())).empty_table(), tmp_path / "parts" / "one.parquet")
    for path in (tmp_path / "parts" / "one.parquet", tmp_path / "parts"):
        assert [Named(*each) for each in zip(kinds, expected, strict=True)] == named_columns(path)
