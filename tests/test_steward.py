"""dp.check: figures of the raw data for its steward, marked NOT PRIVATE."""

import math
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.steward import ColumnCheck, DataCheck

NAN, INFINITY = float("nan"), float("inf")
COLUMNS = [dp.Column("age", 0, 10), dp.Column("hours", 0, 10, missing=5), dp.Category("sex", ["F", "M"])]

#              inside  missing  filled    below  above  unknown  both
AGE = np.array([10.0, NAN, 0.0, -1.0, 11.0, 5.0, 12.0])
HOURS = np.array([10.0, 3.0, INFINITY, 5.0, 5.0, 5.0, -2.0])
SEX = np.array(["F", "M", "F", "M", "F", "X", ""])
TABLE = {"age": AGE, "hours": HOURS, "sex": SEX}


def rows(**promise: Any) -> dp.Rows:
    return dp.Rows(**{"columns": COLUMNS, "neighbors": "replace", **promise})


def test_a_small_table() -> None:
    # Rows 0, 2, 3 and 4 are kept; their coordinates are (1, 1), (-1, 0), (-1, 0), (1, 0) and one 1 for the sex.
    told = dp.check(TABLE, rows())
    assert (7, 3, 0) == (told.rows, told.dropped, told.shortened)
    root2, root3 = math.sqrt(2), math.sqrt(3)
    wanted = {0.5: root2, 0.9: root2 + 0.7 * (root3 - root2), 0.95: root2 + 0.85 * (root3 - root2), 1.0: root3}
    assert wanted == {q: pytest.approx(length, rel=1e-12) for q, length in told.norms.items() if q != 0.99}
    assert [0.5, 0.9, 0.95, 0.99, 1.0] == list(told.norms)
    assert (
        ColumnCheck(name="age", missing=1, below=1, above=2),
        ColumnCheck(name="hours", missing=1, below=1, above=0),
        ColumnCheck(name="sex", missing=2, below=0, above=0),
    ) == told.columns


def test_rows_beyond_the_norm() -> None:
    assert 1 == dp.check(TABLE, rows(norm=1.5)).shortened
    assert 4 == dp.check(TABLE, rows(norm=1.0)).shortened
    assert 0 == dp.check(TABLE, rows(norm=1.8)).shortened


def test_plain_rows() -> None:
    array = np.array([[3.0, 4.0], [0.0, 0.0], [NAN, 1.0], [6.0, 8.0], [1e200, 1e200]])
    told = dp.check(array, dp.Rows(norm=5.0, neighbors="add-remove"))
    assert (5, 1, 2, ()) == (told.rows, told.dropped, told.shortened, told.columns)
    assert 7.5 == told.norms[0.5]
    assert math.sqrt(2) * 1e200 == pytest.approx(told.norms[1.0])


def test_numeric_levels() -> None:
    columns = [dp.Category("group", [1, 2])]
    told = dp.check(np.array([[1], [2], [3], [2]]), dp.Rows(columns=columns, neighbors="replace"))
    assert (ColumnCheck(name="group", missing=1, below=0, above=0),) == told.columns
    assert (4, 1) == (told.rows, told.dropped)


def structured() -> Any:
    table = np.zeros(len(AGE), dtype=[("sex", "U1"), ("hours", float), ("age", float)])
    for name, cells in TABLE.items():
        table[name] = cells
    return table


def split(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: cells[start : start + 3] for name, cells in table.items()} for start in range(0, len(AGE), 3)]


@pytest.mark.parametrize(
    "source", [structured(), split(TABLE), iter(split(TABLE))], ids=["structured", "chunks", "generator"]
)
def test_any_source(source: Any) -> None:
    assert dp.check(TABLE, rows()) == dp.check(source, rows())


def test_quantiles_of_very_many_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory that does not grow with them: exact while they are few, and nearly so beyond."""
    module = import_module("dpframe.steward")
    monkeypatch.setattr(module, "KEPT", 1000)
    random = np.random.default_rng(5)
    for count, error in [(999, 1e-12), (100_000, 2**-7)]:
        lengths, drawn = module.Lengths(), random.lognormal(size=count)
        for block in np.array_split(drawn, 7):
            lengths.add(block)
            assert len(lengths._values) <= 1000
        assert {q: pytest.approx(np.quantile(drawn, q), rel=error) for q in module.QUANTILES} == {
            q: lengths.quantile(q) for q in module.QUANTILES
        }
    lengths.add(np.array([sys.float_info.max]))
    assert lengths.quantile(1.0) == sys.float_info.max  # which is not rounded up to infinity
    doubled = module.Lengths()
    for _ in range(500):
        doubled.add(np.array([1.0, 2.0, 4.0]))
    assert [1.0, 2.0, 4.0] == [doubled.quantile(q) for q in (0.1, 0.5, 1.0)]


@pytest.mark.parametrize("data", [np.zeros((0, 2)), np.full((3, 2), NAN)], ids=["no rows", "nothing but missing cells"])
def test_nothing_to_measure(data: Any) -> None:
    told = dp.check(data, dp.Rows(norm=1.0, neighbors="add-remove"))
    assert (len(data), len(data), 0, {}) == (told.rows, told.dropped, told.shortened, told.norms)
    assert "Lengths" in str(told)


def test_check_tells_what_a_run_does() -> None:
    """A row that is said to be scaled down is scaled down, any other is not."""
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian")],
    )
    direction = np.array([0.6, 0.8])
    values = {
        length: plan.run(length * direction[None, :], insecure_seed=7)["moment"].tobytes()
        for length in (0.99, 1.01, 1.5)
    }
    assert values[1.01] == values[1.5] != values[0.99]
    shortened = {length: dp.check(length * direction[None, :], plan.rows).shortened for length in values}
    assert {0.99: 0, 1.01: 1, 1.5: 1} == shortened


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_it_is_marked(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = dp.check(TABLE, rows())
    text = str(told)
    assert isinstance(told, DataCheck)
    assert text.startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in told._repr_html_()
    for word in ("age", "hours", "sex", "missing", "below", "above", "range"):
        assert word in text


def test_it_is_marked_where_it_is_merely_named() -> None:
    assert "NOT PRIVATE" in repr(dp.check(TABLE, rows()))


def test_figures_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.split() for line in str(dp.check(TABLE, rows(norm=1.5))).splitlines()]
    assert ["Rows", "7"] in lines
    assert ["Contribute", "nothing", "3"] in [line[:3] for line in lines]
    assert ["Scaled", "down", "1"] in [line[:3] for line in lines]
    assert ["age", "1", "1", "2"] in lines
    assert ["hours", "1", "1", "0"] in lines
    assert ["sex", "2", "0", "0"] in lines


def test_the_report_holds_no_control_characters() -> None:
    rows = dp.Rows(columns=[dp.Column("\x1b[2J", 0, 1)], neighbors="replace")
    report = str(dp.check({"\x1b[2J": np.array([0.5])}, rows))
    assert "\\x1b[2J" in report
    assert "\x1b" not in report


def test_a_matrix_that_was_computed_elsewhere() -> None:
    promise = dp.Matrix(frobenius=1.0, neighbors="replace")
    told = dp.check(np.array([[2.0, 1.0, np.nan], [0.5, -3.0, 1e200], [0.0, 0.0, 0.0]]), promise)
    assert (told.lost, told.cut) == (1, 1)
    assert told.largest == told.asymmetry == promise.largest
    assert told.eigenvalues[0] < -3.0
    text = str(told)
    assert text.startswith("NOT PRIVATE")
    assert "cannot be checked" in text
    assert "NOT PRIVATE" in repr(told)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_covariance_that_is_taken_for_rows_is_pointed_out(relation: str) -> None:
    promise = dp.Rows(norm=1.0, neighbors=relation)
    assert "dp.Matrix" in str(dp.check(np.cov(np.eye(3)), promise))
    for rows_of_people in (np.arange(9.0).reshape(3, 3), np.eye(3)[:2], np.zeros((1, 1))):
        assert "dp.Matrix" not in str(dp.check(rows_of_people, promise))
