"""Tables at the width of a terminal: words are broken after marks before a table becomes a list."""

from __future__ import annotations

import re

import pytest

import dpframe as dp
from dpframe.display.printable import plain_text
from dpframe.display.tables import table

COLUMNS = {f"answer_{number}": (0, 10) for number in range(1, 6)}


@pytest.mark.parametrize("width", [80, 85, 100, 130])
def test_the_plan_of_one_call_stays_a_table(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for plan in (dp.pca_plan, dp.correlation_plan):
        lines = str(plan(columns=COLUMNS, epsilon=1.0, delta=1e-6, neighbors="add-remove").explain()).splitlines()
        (head,) = [line for line in lines if "ε alone" in line]
        assert head.split()[-5:] == ["alone", "ε", "so", "far", "numerics"]
        assert 2 == sum("───" in line for line in lines)
        assert width >= max(map(len, lines))


@pytest.mark.parametrize("width", [90, 100, 130])
def test_names_of_releases_are_broken_after_marks_only(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    plan = dp.regression_plan(columns=COLUMNS, target="answer_1", epsilon=1.0, neighbors="add-remove")
    table = str(plan.explain()).partition("Their parameters")[0].partition("───\n")[2]
    fragments = {line[2:].split(" ")[0] for line in table.splitlines() if line[2:3].strip()}
    words = {word for step, _ in plan.releases for word in re.split(r"[.-]", step.name)}
    assert len(fragments) >= len(plan.releases)
    assert {word for each in fragments for word in re.split(r"[.-]", each) if word} <= words


def test_words_are_broken_after_marks() -> None:
    rows = [{"step": "covariance.scaled-radius", "loss": "epsilon=0.19751", "text": "some words " * 5}]
    lines = plain_text(table(rows * 2), 60).splitlines()
    assert "covariance.scaled-radius" in lines[2]
    rows[0] |= {f"another {number}": "0.123456" for number in range(3)}
    lines = plain_text(table(rows), 60).splitlines()
    first = [line.split(" ")[0] for line in lines]
    assert ["covariance.", "scaled-", "radius"] == [word for word in first if word][2:]  # below the head and its line
    assert any("epsilon=" in line and "0.19751" not in line for line in lines)
