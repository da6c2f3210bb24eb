"""Result files: every field is checked, and the message names the one that is wrong."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import dpframe as dp
from tests.support.packages import ROOT

GOLDEN = ROOT / "tests" / "golden"
CENTERED: dict[str, Any] = json.loads((GOLDEN / "centered.result.json").read_text(encoding="utf-8"))
CHARGED: dict[str, Any] = json.loads((GOLDEN / "plain.charged.json").read_text(encoding="utf-8"))
DELETED = object()


def changed(content: dict[str, Any], *path: str | int, to: Any) -> dict[str, Any]:
    """A copy with another value at a path."""
    made = copy.deepcopy(content)
    owner: Any = made
    for key in path[:-1]:
        owner = owner[key]
    if to is DELETED:
        del owner[path[-1]]
    else:
        owner[path[-1]] = to
    return made


def load(content: Any, folder: Path) -> dp.Result:
    path = folder / "result.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return dp.Result.load(path)


LINE = ("statement", "lines", 0)
MOMENT = ("results", "moment")

BAD: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("private",), 1, "private is not true or false"),
    (("private",), DELETED, "private is missing"),
    (("versions",), ["dpframe"], "versions is not an object"),
    (("versions",), {"dpframe": 1}, "versions.dpframe is not a text"),
    (("surprise",), 1, "surprise is not a field of Result"),
    (("caveat",), 5, "caveat is not a text"),
    (("statement", "protected"), None, "statement.protected is not a text"),
    (("statement", "surprise"), 1, "statement.surprise is not a field of Statement"),
    (("statement", "passes"), -1, "statement.passes is not an integer of at least 0"),
    (("statement", "passes"), 1.5, "statement.passes is not an integer"),
    (("statement", "passes"), True, "statement.passes is not an integer"),
    (("statement", "neighbors"), "both", "statement.neighbors is none of add-remove, replace"),
    (("statement", "plan"), "0123", "statement.plan is not a hash"),
    (("statement", "accountants"), {"gdp": "1"}, "statement.accountants.gdp is not a number"),
    (("statement", "accountants"), {"gdp": 10**400}, "statement.accountants.gdp is not a number"),
    (("statement", "accountants"), {"gdp": "inf"}, "statement.accountants.gdp is not a number"),
    (("statement", "spent"), {"epsilon": 1.0, "delta": 2.0}, "Budget.delta must be a finite number"),
    (("statement", "spent"), {"epsilon": 1.0, "model": "m"}, "statement.spent.failure is missing"),
    (("statement", "spent"), 1.0, "statement.spent is not an object"),
    (("statement", "lines"), [], "statement.lines has no release"),
    (("statement", "lines"), {}, "statement.lines is not a list"),
    ((*LINE, "name"), "components", "statement.lines has names that are none, or a name twice"),
    ((*LINE, "name"), "\x1b[2J", "statement.lines has names that are none"),
    ((*LINE, "name"), "m" * 201, "statement.lines has names that are none"),
    ((*LINE, "name"), "other", "statement.lines lacks the line of a result"),
    ((*LINE, "parameters"), {"k": 2}, "statement.lines[0].parameters.k is not a text"),
    ((*LINE, "of"), "moment", "statement.lines[0].of is not a list"),
    ((*LINE, "of"), [3], "statement.lines[0].of[0] is not a text"),
    ((*LINE, "level"), 0.0, "statement.lines has a level that is not positive"),
    ((*LINE, "level"), "high", "statement.lines[0].level is not a number"),
    ((*LINE, "guarantee"), DELETED, "statement.lines[0].guarantee is missing"),
    ((*LINE, "slack"), [], "statement.lines[0].slack is not a number"),
    (("results",), [], "results is not an object"),
    (MOMENT, 5, "results.moment is not an object"),
    ((*MOMENT, "kind"), 5, "results.moment.kind is not a text"),
    ((*MOMENT, "kind"), "Zzz", "results.moment.kind is not the name of a kind of an installed plugin"),
    ((*MOMENT, "array"), DELETED, "results.moment.array is missing"),
    ((*MOMENT, "array"), [[True, False], [False, True]], "results.moment.array is not an array of numbers"),
    ((*MOMENT, "array"), [[1.0], [1.0, 2.0]], "results.moment.array is not an array of numbers"),
    ((*MOMENT, "array"), "Infinity", "must have finite numbers"),
    ((*MOMENT, "array"), {"real": [[1.0]]}, "results.moment.array must have a real and an imaginary part"),
    ((*MOMENT, "array"), {"real": [[1.0]], "imaginary": 0.0}, "results.moment.array has parts of different shapes"),
    ((*MOMENT, "axes", "scale"), [1.0], "results.moment.axes has parts of different lengths"),
    ((*MOMENT, "axes", "labels"), "abcd", "results.moment.axes.labels is not a list"),
    ((*MOMENT, "axes", "offset"), [None] * 4, "results.moment.axes.offset[0] is not a number"),
    ((*MOMENT, "axes"), {"labels": [], "scale": [], "offset": [], "unit": []}, "axes has 0 names for"),
    ((*MOMENT, "constant"), None, "results.moment.constant is not a number"),
    ((*MOMENT, "constant"), {"kind": "Scalar", "array": 1.0, "axes": None}, "moment.constant is not a number"),
    ((*MOMENT, "constant"), DELETED, "results.moment.constant is missing"),
    ((*MOMENT, "basis"), 1, "results.moment.basis is not a field of AugmentedMoment"),
]


@pytest.mark.parametrize(("path", "to", "says"), BAD, ids=[f"{'.'.join(map(str, p))}: {s}" for p, _, s in BAD])
def test_the_field_at_fault_is_named(path: tuple[str | int, ...], to: Any, says: str, tmp_path: Path) -> None:
    load(CENTERED, tmp_path)
    with pytest.raises(dp.DataError) as caught:
        load(changed(CENTERED, *path, to=to), tmp_path)
    assert says in str(caught.value)
    assert f"{tmp_path}/result.json is not a result written by dpframe: " in str(caught.value)


@pytest.mark.parametrize(
    ("key", "to", "says"),
    [
        ("entry", 0, "charge has no entry or no hash of one"),
        ("entry", "1", "charge.entry is not an integer"),
        ("head", "abc", "charge has no entry or no hash of one"),
        ("budget", None, "charge.budget is not an object"),
        ("dataset", DELETED, "charge.dataset is missing"),
        ("surprise", 1, "charge.surprise is not a field of Charge"),
    ],
)
def test_the_charge_is_checked(key: str, to: Any, says: str, tmp_path: Path) -> None:
    load(CHARGED, tmp_path)
    with pytest.raises(dp.DataError, match=says):
        load(changed(CHARGED, "charge", key, to=to), tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "it is nested too deeply"),
        ('{"format": ' + "[" * 100_000, "it is nested too deeply"),
        ('{"format": ' + "9" * 5_000 + "}", "it is not JSON"),
        ('{"format": NaN}', "NaN is not JSON"),
        ('{"format": 1, "format": 1}', "an object has a key twice"),
        ('{"private": true}', "format is missing"),
    ],
)
def test_text_that_is_no_result(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(dp.DataError, match=says):
        load(text, tmp_path)


def test_kinds_within_kinds_have_an_end(tmp_path: Path) -> None:
    value: Any = {"kind": "Scalar", "array": 1.0, "axes": None}
    for _ in range(100):
        value = {"kind": "Blocks", "array": [[1.0]], "axes": None, "basis": value}
    with pytest.raises(dp.DataError, match="it is nested too deeply"):
        load(changed(CENTERED, *MOMENT, to=value), tmp_path)


def test_a_message_holds_no_control_characters(tmp_path: Path) -> None:
    with pytest.raises(dp.DataError) as caught:
        load(changed(CENTERED, "\x1b[2J", to=1), tmp_path)
    assert "\\x1b[2J is not a field of Result" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_report_holds_no_control_characters(tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[31m\u202e\ud800"
    made = changed(CENTERED, "statement", "protected", to=nasty)
    made = changed(made, *LINE, "parameters", to={nasty: nasty})
    made = changed(made, *MOMENT, "axes", "labels", to=[nasty] * len(CENTERED["results"]["moment"]["axes"]["labels"]))
    result = load(made, tmp_path)
    console = Console(width=100, file=io.StringIO(), no_color=True)
    with console.capture() as captured:
        console.print(result)
    for printed in (str(result), result._repr_html_(), captured.get()):
        assert not {"\x1b", "\x07", "\u202e", "\ud800"} & set(printed)
    assert "\\x1b]0;owned" in str(result)


def test_a_partial_result_loads(tmp_path: Path) -> None:
    """What was released before a derivation failed: fewer values than lines."""
    made = changed(CENTERED, "results", to={"moment": CENTERED["results"]["moment"]})
    assert ["moment"] == list(load(made, tmp_path))


def test_the_shortest_file_of_today_loads(tmp_path: Path) -> None:
    made = copy.deepcopy(CENTERED)
    del made["charge"]
    for line in made["statement"]["lines"]:
        if line["level"] is None:
            for key in ("unit", "level", "losses", "noise", "slack", "epsilon_alone", "epsilon_so_far"):
                del line[key]
    assert dp.Result.load(GOLDEN / "centered.result.json") == load(made, tmp_path)
