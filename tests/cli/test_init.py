"""``dpframe init``: a plan to fill in that says what is missing, and that runs once it is filled in."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import dpframe as dp
from dpframe.cli.init import skeleton
from dpframe.sources.names import TYPES, Named
from tests.support.shell import dpframe

CSV = "age,sex,hours\n" + "39,F,40\n50,M,13\n,F,forty\n" * 40
RANGES = {"age": "low = 17\nhigh = 90\nmissing = 40", "sex": 'levels = ["F", "M"]', "hours": "low = 1\nhigh = 99"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(CSV)


def filled_in(text: str) -> str:
    """The plan as a user leaves it."""
    text = text.replace('#: neighbors = "add-remove"', 'neighbors = "add-remove"')
    text = re.sub(r"^#:.*\n", "", text, flags=re.M)
    for name, lines in RANGES.items():
        text = text.replace(f'name = "{name}"', f'name = "{name}"\n{lines}')
    return text


def test_from_a_dirty_table_to_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe("init", "people.csv", capsys=capsys)
    assert (0, "") == (code, err)
    assert out.startswith("written: plan.toml, with 3 columns, from names and types alone. Look at the names first")
    assert not any(name in out for name in RANGES)
    missing = dpframe("explain", "plan.toml", capsys=capsys)
    assert 1 == missing[0]
    assert "(rows.columns[0]): 'low' is missing." in missing[2]
    Path("plan.toml").write_text(filled_in(Path("plan.toml").read_text()))
    for words in (["explain", "plan.toml"], ["run", "plan.toml", "people.csv", "--dry-run"]):
        assert 0 == dpframe(*words, capsys=capsys)[0]
    assert 0 == dpframe("run", "plan.toml", "people.csv", "-o", "out", capsys=capsys)[0]
    result = dp.Result.load("out/result.json")
    assert ("age", "sex=F", "sex=M", "hours") == result.record("mean_in_units").columns
    assert "sex=F" in Path("out/tables/mean_in_units.csv").read_text()


def test_nothing_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text("mine")
    code, out, err = dpframe("init", "people.csv", capsys=capsys)
    assert (1, "") == (code, out)
    assert "plan.toml exists already; nothing was written. Choose another name with -o PLAN." in err
    assert "mine" == Path("plan.toml").read_text()


def test_a_file_without_a_header_line_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text(CSV.partition("\n")[2])
    code, out, err = dpframe("init", "rows.csv", capsys=capsys)
    assert (1, "") == (code, out)
    assert "looks like a row" in err
    assert not Path("plan.toml").exists()
    assert 0 == dpframe("init", "rows.csv", "--header", capsys=capsys)[0]


def test_other_separators_are_stated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.csv").write_text(CSV.replace(",", ";"))
    assert 0 == dpframe("init", "people.csv", "--csv-separator", ";", capsys=capsys)[0]
    assert 3 == Path("plan.toml").read_text().count("[[rows.columns]]")


@pytest.mark.parametrize("holds", TYPES)
def test_every_type_has_its_lines(holds: str) -> None:
    name = 'a "b"\x1b\n= ü'
    content = tomllib.loads(skeleton([Named(name, holds), Named("other", "number")], "plan.toml"))
    released = [column["name"] for column in content["rows"]["columns"]]
    assert ([name, "other"] if holds not in ("time", "other") else ["other"]) == released
