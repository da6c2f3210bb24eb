"""CSV files that are written in other ways: what is stated is read, and advice comes from the header line alone."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe.plugin as dp
from dpframe.sources import open_source
from tests.support.tables import integers, plan

ROWS = dp.Rows(
    columns=[dp.Column("Größe", 0, 10), dp.Column("hours", 0, 10, missing=5), dp.Category("sex", ["F", "Mé"])],
    neighbors="replace",
)
TABLE = {
    "Größe": np.array([1.5, np.nan, 3.0]),
    "hours": np.array([2.5, 4.0, np.nan]),
    "sex": np.array(["F", "Mé", "?"]),
}
PLAIN = "Größe,hours,sex\n1.5,2.5,F\n,4,Mé\n3,,?\n"


def saved(path: Path, text: str, encoding: str = "utf-8") -> Path:
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def with_commas(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


FORMS: dict[str, tuple[str, str, str, dict[str, Any] | None]] = {
    "plain": ("t.csv", PLAIN, "utf-8", None),
    "mark of UTF-8": ("t.csv", PLAIN, "utf-8-sig", None),
    "UTF-16": ("t.csv", PLAIN, "utf-16", None),
    "UTF-16, lines as in Windows": ("t.csv", PLAIN.replace("\n", "\r\n"), "utf-16", None),
    "gzip": ("t.csv.gz", PLAIN, "utf-8", None),
    "gzip, UTF-16": ("t.CSV.GZ".lower(), PLAIN, "utf-16", None),
    "tabs": ("t.tsv", PLAIN.replace(",", "\t"), "utf-8", None),
    "tabs, gzip": ("t.tsv.gz", PLAIN.replace(",", "\t"), "utf-8", None),
    "stated as the default": ("t.csv", PLAIN, "utf-8", {}),
    "another ending": ("t.txt", PLAIN, "utf-8", {}),
    "another ending, gzip": ("t.gz", PLAIN, "utf-8", {}),
    "semicolons": ("t.csv", PLAIN.replace(",", ";"), "utf-8", {"separator": ";"}),
    "bars": ("t.csv", PLAIN.replace(",", "|"), "utf-8", {"separator": "|"}),
    "tabs, stated": ("t.csv", PLAIN.replace(",", "\t"), "utf-8", {"separator": "\t"}),
    "decimal commas": ("t.csv", with_commas(PLAIN), "utf-8", {"separator": ";", "decimal": ","}),
    "decimal commas, gzip": (
        "t.csv.gz",
        with_commas(PLAIN),
        "cp1252",
        {"separator": ";", "decimal": ",", "encoding": "cp1252"},
    ),
    "decimal commas, tabs": ("t.tsv", PLAIN.replace(",", "\t").replace(".", ","), "utf-8", {"decimal": ","}),
    "Latin-1": ("t.csv", PLAIN, "latin-1", {"encoding": "latin-1"}),
    "Windows": ("t.csv", PLAIN, "cp1252", {"encoding": "windows-1252"}),
    "UTF-16 without a mark": ("t.csv", PLAIN, "utf-16-le", {"encoding": "utf-16-le"}),
    "UTF-16, a mark and stated": ("t.csv", "\ufeff" + PLAIN, "utf-16-be", {"encoding": "UTF-16BE"}),
}


@pytest.mark.parametrize(("name", "text", "encoding", "options"), FORMS.values(), ids=FORMS)
def test_forms(tmp_path: Path, name: str, text: str, encoding: str, options: dict[str, Any] | None) -> None:
    path = saved(tmp_path / name, text, encoding)
    data = path if options is None else dp.csv(path, **options)
    assert integers(TABLE, ROWS) == integers(data, ROWS) == integers([data], ROWS)
    assert dp.check(TABLE, ROWS) == dp.check(data, ROWS)
    moments = [plan(ROWS).run(source, insecure_seed=7)["moment"].tobytes() for source in (TABLE, data)]
    assert moments[0] == moments[1]


def test_numbers_with_another_mark_are_missing(tmp_path: Path) -> None:
    rows = dp.Rows(columns=[dp.Column("x", 0, 10_000)], neighbors="replace")
    path = saved(tmp_path / "t.csv", "x;y\n1,5;\n1.234,5;\n1.5;\ntrue;\n1e3;\n")
    read = next(iter(open_source(dp.csv(path, separator=";", decimal=","), rows).blocks()))
    assert isinstance(read, dict)
    assert np.array_equal([1.5, np.nan, np.nan, 1.0, 1000.0], read["x"], equal_nan=True)


def message(data: Any) -> str:
    with pytest.raises(dp.DataError) as caught:
        plan(ROWS).run(data)
    return str(caught.value)


ADVICE = {
    "semicolons": (PLAIN.replace(",", ";"), "utf-8", "separator=';'", "--csv-separator ';'"),
    "tabs": (PLAIN.replace(",", "\t"), "utf-8", r"separator='\t'", "--csv-separator tab"),
    "bars": (PLAIN.replace(",", "|"), "utf-8", "separator='|'", "--csv-separator '|'"),
    "UTF-16 without a mark": (PLAIN, "utf-16-le", "encoding='utf-16-le'", "--csv-encoding utf-16-le"),
    "Windows": (PLAIN, "cp1252", "encoding='cp1252'", "--csv-encoding cp1252"),
    "both": (
        PLAIN.replace(",", ";"),
        "latin-1",
        "separator=';', encoding='cp1252'",
        "--csv-separator ';' --csv-encoding cp1252",
    ),
}


@pytest.mark.parametrize("cell", ["30", '30",hours,sex', '30"'])
def test_no_cell_is_looked_at_to_find_the_end_of_the_header(tmp_path: Path, cell: str) -> None:
    """A quote that the first line leaves open would end in a cell, or not: what is said depends on the line alone."""
    found = message(saved(tmp_path / "t.csv", f'age,hours,"sex\n{cell},4,F\n{cell},4,F\n'))
    assert found.startswith("the first line of 't.csv' has a quote that is not closed in it. The header is one line")
    quoted = saved(tmp_path / "q.csv", 'age,hours,"sex\n",sex\n1,2,F\n')
    assert "has a quote that is not closed" in message(quoted)


@pytest.mark.parametrize(("text", "encoding", "python", "shell"), ADVICE.values(), ids=ADVICE)
def test_the_header_line_tells_how_it_would_be_read(
    tmp_path: Path, text: str, encoding: str, python: str, shell: str
) -> None:
    said = message(saved(tmp_path / "t.csv", text, encoding))
    assert "the first line of 't.csv' must name the column 'Größe' once, and does not." in said
    commas = ', and with decimal="," or --csv-decimal , if its numbers have decimal commas' if ";" in text else ""
    assert said.endswith(f"It does if it is read with dp.csv(path, {python}), or {shell} in a shell{commas}.")


def test_advice_depends_on_the_first_line_only(tmp_path: Path) -> None:
    for header in ("Größe;hours;sex", "x;y", "Größe,hours", '"Größe'):
        said = {
            message(saved(tmp_path / "t.csv", f"{header}\n{rows}"))
            for rows in ("", "1;2;F\n", "1,2,F\n", "1\t2\tF\n", '"\n', "Größe,hours,sex\n", "Größe\thours\tsex\n")
        }
        assert 1 == len(said)
    assert "It is not shown" in message(saved(tmp_path / "t.csv", "1,2,F\n"))


REFUSED: list[tuple[dict[str, Any], str]] = [
    *[({"separator": mark}, "CSVFile.separator must be one character that no number has") for mark in ("", ";;", "1")],
    *[({"separator": mark}, "CSVFile.separator must be one character that no number has") for mark in ('"', "\n", 3)],
    ({"decimal": ";"}, "CSVFile.decimal must be one of '.', ','; got ';'"),
    ({"decimal": ","}, "',' as separator and as decimal mark"),
    *[
        ({"encoding": name}, "CSVFile.encoding must be utf-8, utf-16, ascii, latin-1, or")
        for name in (
            "utf-7",
            "iso2022_jp",
            "shift_jis",
            "idna",
            "rot13",
            "unicode_escape",
            "cp037",
            "none",
            "",
            3,
            None,
        )
    ],
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.PlanError) as caught:
        dp.csv("t.csv", **options)
    assert says in str(caught.value)


def test_a_path_is_needed() -> None:
    with pytest.raises(dp.PlanError, match=r"dp\.csv needs the path of a file; got a list"):
        dp.csv([1])  # type: ignore[arg-type]


def test_nothing_is_opened_before_the_run() -> None:
    absent = dp.csv("absent.txt", separator=";")
    assert "CSVFile(path='absent.txt', separator=';', decimal='.', encoding='utf-8')" == repr(absent)
    assert "'absent.txt' cannot be read: there is no such file" in message(absent)


@settings(max_examples=200, deadline=None)
@given(
    cells=st.lists(st.text(st.characters() | st.sampled_from('"\n,;\ud800\udc00\udfff'), max_size=6)),
    encoding=st.sampled_from(["utf-16-le", "utf-16-be", "latin-1", "cp1252"]),
)
def test_no_cell_changes_another_row(tmp_path_factory: pytest.TempPathFactory, cells: list[str], encoding: str) -> None:
    """A record is a row in every encoding, and its own cells are read from it alone."""
    buffer, count = io.StringIO(newline=""), len(cells)
    csv.writer(buffer).writerows([["Größe", "hours", "sex", "x"], *[["1.5", "2.5", "F", cell] for cell in cells]])
    errors = "surrogatepass" if encoding.startswith("utf") else "replace"
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(codecs.encode(buffer.getvalue(), encoding, errors))
    good = {"Größe": np.full(count, 1.5), "hours": np.full(count, 2.5), "sex": np.full(count, "F")}
    assert integers(good, ROWS) == integers(dp.csv(path, encoding=encoding), ROWS)


def test_progress_counts_the_bytes_of_the_compressed_file(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.csv.gz", PLAIN + "1.5,2.5,F\n" * 50_000)
    source = open_source(path, ROWS)
    assert 50_003 == sum(len(block["sex"]) for block in source.blocks() if isinstance(block, dict))
    assert path.stat().st_size == source.meter.total_bytes == source.meter.bytes


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: data[:-8] + bytes(8)])
def test_a_compressed_file_that_ends_early_or_is_damaged_says_so(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Only its end shows it, so that it is found after the charge."""
    path = saved(tmp_path / "t.csv.gz", PLAIN + "".join(f"{i / 7},{i / 9},F\n" for i in range(20_000)))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(dp.ReleaseFailed, match=r"'t\.csv\.gz' ends early or is damaged.*gzip -t.*stands") as caught:
        plan(ROWS).run(path)
    assert caught.value.__context__ is None


def test_a_file_that_is_not_compressed_as_its_ending_says(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_text(PLAIN)
    with pytest.raises(dp.DataError, match="compressed by gzip, as its ending says"):
        plan(ROWS).run(path)
