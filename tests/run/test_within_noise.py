"""Warnings about releases that are noise: from released values and public noise alone, at the stated deviations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.run import runner, within_noise
from tests.support.tables import text_file

COLUMNS = (
    dp.Column("age", 0, 100),
    dp.Column("income", 0, 10, missing=9),
    dp.Category("sex", ["F", "M"], missing="F"),
)
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
COUNT = "'moment': the number of rows is not distinguishable from zero"
SQUARES = "'moment': the sum of all squares is not distinguishable from zero"


def plan(*, center: bool = True, **promise: Any) -> dp.Plan:
    rows = dp.Rows(columns=COLUMNS, neighbors="add-remove", center=center, **promise)
    return dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("moment", "gaussian")])


def file(path: Path, age: str = "{age}", income: str = "{income}", sex: str = "{sex}") -> Path:
    """A table in which a column may be another text for each row."""
    draws = np.random.default_rng(1)
    cells = zip(draws.uniform(0, 100, 4000), draws.uniform(0, 10, 4000), draws.choice(["F", "M"], 4000), strict=True)
    lines = [f"{age},{income},{sex}".format(age=a, income=i, sex=s) for a, i, s in cells]
    return text_file(path / "t.csv", "\n".join(["age,income,sex", *lines]))


def variance(columns: str) -> str:
    return f"'moment': the variance of {columns} is not distinguishable from zero"


CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "good data": ({}, []),
    "text without a value for missing cells": ({"age": "{age} years"}, [COUNT]),
    "text with one": ({"income": "{income} EUR"}, [variance("column 'income'")]),
    "words that are no levels": ({"sex": "{sex}."}, [variance("column 'sex'")]),
    "both": ({"income": "n/a", "sex": "f"}, [variance("columns 'income', 'sex'")]),
    "a constant": ({"age": "50"}, [variance("column 'age'")]),
}


@pytest.mark.parametrize(("texts", "says"), CASES.values(), ids=CASES)
def test_csv_files(tmp_path: Path, texts: dict[str, str], says: list[str]) -> None:
    result = plan().run(file(tmp_path, **texts))
    assert says == [warning.partition(" (within 4 standard deviations of the noise)")[0] for warning in result.warnings]
    assert all("dp.check" in warning and "insecure_seed=1" in warning for warning in result.warnings)


def test_a_moment_without_a_count(tmp_path: Path) -> None:
    """A column of one value other than the middle of its range cannot be seen there."""
    assert () == plan(center=False).run(file(tmp_path)).warnings
    (warning,) = plan(center=False).run(file(tmp_path, age="?")).warnings
    assert warning.startswith(SQUARES)
    (warning,) = plan(center=False).run(file(tmp_path, age="50")).warnings
    assert warning.startswith("'moment': the sum of squares about the middle of the range of column 'age' is not")
    assert () == plan(center=False).run(file(tmp_path, income="?")).warnings


def test_arrays_have_the_warning_about_all_rows_only() -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace")
    arrays = dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    (warning,) = arrays.run(np.full((4000, 3), np.nan)).warnings
    assert warning.startswith(SQUARES)
    assert () == arrays.run(np.full((4000, 3), [0.5, 0.0, 0.0])).warnings


def test_a_matrix_whose_eigenvalues_may_be_negative_has_none() -> None:
    """Its trace may be zero, or less, however much is in it."""
    rows = dp.Matrix(frobenius=1.0, neighbors="replace")
    made = dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("matrix", "gaussian")])
    assert () == made.run(np.diag([1e4, -1e5]), insecure_seed=1).warnings


def test_a_norm_that_is_released(tmp_path: Path) -> None:
    """The noise is known only when the norm is."""
    radius = dp.release("radius", "private-quantile", quantile=0.9, high=4.0)
    rows = dp.Rows(columns=COLUMNS, neighbors="replace", center=True, norm=dp.ref("radius"))
    two_passes = dp.Plan(rows=rows, budget=BUDGET, steps=[radius, dp.release("moment", "gaussian")])
    (warning,) = two_passes.run(file(tmp_path, age="?")).warnings
    assert warning.startswith(COUNT)


def test_they_follow_from_the_published_file_alone(tmp_path: Path) -> None:
    for texts, _ in CASES.values():
        result = plan().run(file(tmp_path, **texts))
        result.to_json(tmp_path / "result.json")
        published = dp.Result.load(tmp_path / "result.json")
        assert result.warnings == published.warnings
        assert result.warnings == within_noise.within_noise(plan().rows, published.records.values())


def test_they_are_at_the_top_of_the_report(tmp_path: Path) -> None:
    report = str(plan().run(file(tmp_path, age="?")))
    assert report.startswith(f"Warning: {COUNT}")
    assert "Warning" not in str(plan().run(file(tmp_path)))


def test_many_columns_are_not_all_listed() -> None:
    columns = [dp.Column(f"c{number}", 0, 1) for number in range(20)]
    rows = dp.Rows(columns=columns, neighbors="replace", center=True)
    flat = dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    (warning,) = flat.run({column.name: np.full(10_000, 0.5) for column in columns}).warnings
    assert "of columns 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7' and 12 others is not" in warning


def test_a_failure_does_not_lose_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise TypeError

    monkeypatch.setattr(runner, "within_noise", failing)
    result = plan().run(file(tmp_path))
    assert (4 + 1, ()) == (len(result["moment"]), result.warnings)


# -- the scale ---------------------------------------------------------------------------------------------------------

DRAWS = 20_000
ONE = 0.8413447460685429  # the probability of at most one standard deviation
MARGIN = 4.9 * (ONE * (1 - ONE) / DRAWS) ** 0.5  # 1e-6 for a false alarm; a scale 10 % off differs by 0.02


def share_warned(moment: np.ndarray[Any, Any], rows: dp.Rows, seed: int, factor: float = 1.0) -> float:
    """The share of noisy moments that have a warning, with noise of another scale than stated."""
    stated = plan(center=rows.center).run({"age": np.ones(1), "income": np.ones(1), "sex": np.array(["F"])})
    record = stated.record("moment")
    diagonal, off_diagonal = record.line.noise["diagonal"], record.line.noise["off-diagonal"]
    draws, width = np.random.default_rng(seed), len(moment)
    warned = 0
    for _ in range(DRAWS):
        noise = np.triu(draws.normal(0, off_diagonal, (width, width)), 1)
        noise = (noise + noise.T + np.diag(draws.normal(0, diagonal, width))) * factor
        value: dp.Kind = dp.SymmetricMatrix(moment + noise)
        if rows.center:
            value = dp.AugmentedMoment(moment + noise, constant=1.0)
        warned += bool(within_noise.within_noise(rows, [attrs.evolve(record, value=value)]))
    return warned / DRAWS


def exact(count: float, mean: float, center: bool) -> tuple[np.ndarray[Any, Any], dp.Rows]:
    """The moment of rows of one numeric column that is constant, with a constant coordinate of 1 if centered."""
    rows = dp.Rows(columns=COLUMNS[:1], neighbors="replace", center=center)
    matrix = count * np.array([[mean**2, mean], [mean, 1.0]])
    return (matrix if center else matrix[:1, :1]), rows


@pytest.mark.parametrize(
    ("count", "mean", "center"), [(0.0, 0.0, True), (1e6, 0.0, True), (1e6, 0.7, True), (0.0, 0.0, False)]
)
def test_the_deviations_are_those_of_the_noise(
    monkeypatch: pytest.MonkeyPatch, count: float, mean: float, center: bool
) -> None:
    monkeypatch.setattr(within_noise, "DEVIATIONS", 1.0)
    moment, rows = exact(count, mean, center)
    if center and not count:  # the count, and the variance where there is one by chance
        moment = np.diag([1e6, 0.0])
    assert abs(share_warned(moment, rows, seed=3) - ONE) < MARGIN
    assert abs(share_warned(moment, rows, seed=3, factor=1.1) - ONE) > MARGIN


def test_the_deviations_of_a_category_are_those_of_all_its_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(within_noise, "DEVIATIONS", 1.0)
    rows = dp.Rows(columns=COLUMNS[2:], neighbors="replace", center=True)
    moment = 1e6 * np.outer([1.0, 0.0, 1.0], [1.0, 0.0, 1.0])  # all rows have the first level
    assert abs(share_warned(moment, rows, seed=4) - ONE) < MARGIN
    assert abs(share_warned(moment, rows, seed=4, factor=1.1) - ONE) > MARGIN


@pytest.mark.parametrize("found", ["text", [1], {"a": "b"}, None])
def test_a_file_with_other_warnings_is_no_result(tmp_path: Path, found: Any) -> None:
    content = {**plan().run(file(tmp_path)).to_dict(), "warnings": found}
    (tmp_path / "result.json").write_text(json.dumps(content))
    with pytest.raises(dp.DataError, match=r"result\.json is not a result written by dpframe"):
        dp.Result.load(tmp_path / "result.json")


def test_a_file_of_an_earlier_version_has_no_warnings(tmp_path: Path) -> None:
    content = plan().run(file(tmp_path, age="?")).to_dict()
    del content["warnings"]
    (tmp_path / "result.json").write_text(json.dumps(content))
    assert () == dp.Result.load(tmp_path / "result.json").warnings
