"""Values as text: digits, marks and what is not determined."""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest
from rich.console import Group

import dpframe.plugin as dp
from dpframe.display.printable import plain_text
from dpframe.run.result import Record
from dpframe.run.value_text import value_section, with_error, with_interval
from tests.support.released import ROWS, STEPS, run, table


@pytest.mark.parametrize(
    ("value", "reach", "text"),
    [
        (0.31415, 0.0274, "0.314 ± 0.027"),
        (-0.0001, 0.5, "0.00 ± 0.50"),
        (20013.2, 413.0, "20010 ± 410"),
        (20013.2, 99.6, "20013 ± 100"),
        (1e9, 3e5, "(1.00000 ± 0.00030)e+09"),
        (2.5, 0.0, "2.5"),
        (0.0, 1e-8, "(0.0 ± 1.0)e-08"),
    ],
)
def test_numbers_have_as_many_digits_as_their_error(value: float, reach: float, text: str) -> None:
    assert text == with_error(value, reach)


def test_a_report_marks_what_is_not_told_from_zero() -> None:
    result = run([*STEPS, dp.derive("components", "top-subspace", of="covariance", k=1)])
    text = str(result)
    assert "± and angles hold at 95 % confidence" in text
    assert "the span is within" in text
    correlation = text[text.index("correlation: a symmetric matrix") :].splitlines()[1:3]
    told = result.interval("correlation").excludes_zero[0, 1]
    assert told != ("~" in correlation[0])


def test_a_report_says_what_is_not_determined() -> None:
    few = {name: column[:20] for name, column in table().items()}
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=0.1, delta=1e-6), steps=STEPS)
    text = str(plan.run(few, insecure_seed=1))
    assert "n.d." in text[text.index("covariance: a covariance matrix") :]


def test_a_value_without_a_law_says_so() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace")
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=[dp.release("direction", "bingham")])
    data = np.random.default_rng(0).normal(size=(50, 3))
    result = plan.run(data, insecure_seed=1)
    assert "±" not in str(result)
    reason = "how far a direction is off depends on the gap between eigenvalues, which 'bingham' does not release."
    assert f"its error is not known: {reason}" in " ".join(str(result).split())
    assert "intervals" not in result.to_dict()
    known = "It is known if an earlier step released k + 1 of them: spectrum=dp.ref(...)."
    assert {"direction": f"its error is not known: {reason} {known}"} == result.to_dict()["without_interval"]
    with pytest.raises(dp.PlanError, match="the error of 'direction' is not known: how far a direction is off"):
        result.interval("direction")


def test_a_quantile_says_what_is_known_of_its_rank() -> None:
    rows = dp.Rows(norm=10.0, neighbors="replace")
    step = dp.release("radius", "private-quantile", quantile=0.9, high=10.0)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=[step])
    result = plan.run(np.random.default_rng(0).normal(size=(500, 3)), insecure_seed=1)
    found = result.interval("radius")
    assert not found.determined
    assert "differs from 0.9 of all by at most" in found.method
    assert "its error not determined" in str(result)


def of_width(width: int) -> str:
    """The report of a moment of rows of some width."""
    rows = np.random.default_rng(5).normal(size=(50, width))
    promise, budget = dp.Rows(norm=1.0, neighbors="replace"), dp.Budget(epsilon=1.0, delta=1e-6)
    return str(dp.Plan(rows=promise, budget=budget, steps=STEPS[:1]).run(rows, insecure_seed=7))


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_matrix_is_shown_whole_where_it_fits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = of_width(12)
    shown = text[text.index("moment: a symmetric matrix, 12 × 12") : text.index("± and angles")]
    assert 144 == shown.count(" ± ")
    assert "…" not in shown
    assert [f"column {number}" for number in range(1, 13)] == re.findall(r"column \d+", shown)


def test_a_large_matrix_is_shown_in_part_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = of_width(70)
    shown = text[text.index("moment: a symmetric matrix, 70 × 70") :].splitlines()
    columns = len(re.findall("column", shown[1]))
    assert [columns] * 12 == [line.count(" ± ") for line in shown[2:14]]
    expected = f"… the first 12 of 70 rows and the first {columns} of 70 columns; all of it: result.frame('moment')"
    assert expected in " ".join(" ".join(shown[14:16]).split())


def test_kinds_of_third_parties_are_shown() -> None:
    value = dp.Kind(np.arange(12.0).reshape(2, 3, 2))
    line = attrs.evolve(run().record("mean").line, name="cube", kind="a cube")
    shown = plain_text(Group(*value_section(Record(name="cube", value=value, line=line), None)))
    expected = ["     1  2  3  4   5   6", "  1  0  1  2  3   4   5", "  2  6  7  8  9  10  11"]
    assert ["cube: a cube, 2 × 3 × 2", *expected] == shown.splitlines()
    empty = Record(name="none", value=dp.Kind(np.zeros((0, 3))), line=line)
    assert "  empty" == plain_text(Group(*value_section(empty, None))).splitlines()[1]


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.3, 0.2, 0.35, "0.30 ± 0.10"),
        (0.028, 0.0021, 0.118, "0.028 [0.002, 0.118]"),  # ± 0.090 would seem to reach zero
        (-0.01, -0.092, -0.023, "-0.010 [-0.092, -0.023]"),  # a shrunken value may be outside of its interval
        (0.028, -0.02, 0.118, "0.028 ± 0.090"),
        (3e-9, 1e-9, 9e-9, "3e-09 [1e-09, 9e-09]"),
        (-0.97, 1.0, 1.0, "-0.97 [1, 1]"),  # of a noisy correlation beyond 1, corrected for noise
    ],
)
def test_what_is_told_from_zero_does_not_seem_to_reach_it(value: float, low: float, high: float, text: str) -> None:
    assert text == with_interval(value, low, high)
