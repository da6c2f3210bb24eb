"""`result.save`: every file new, all of them or none, and everything in them."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe as dp
from dpframe.run import files

ROWS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Column("hours", 1, 99)], neighbors="add-remove", center=True)
STEPS = [
    dp.release("moment", "gaussian"),
    dp.derive("mean", "mean", of="moment"),
    dp.derive("covariance", "covariance", of="moment"),
]
PLAN = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=STEPS)
NAMES = {
    *("arrays.npz", "plan.toml", "report.html", "report.txt", "result.json"),
    *(f"tables/{step.name}.csv" for step in STEPS),
}


@pytest.fixture(scope="module")
def result() -> dp.Result:
    return PLAN.run({"age": np.arange(20.0, 80.0), "hours": np.arange(30.0, 90.0)}, insecure_seed=1)


def written(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_written_and_can_be_read(
    result: dp.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep" / "er"
    result.save(str(folder))
    assert written(folder) == NAMES == set(files.names_of(result))
    assert result == dp.Result.load(folder / "result.json")
    assert PLAN == dp.Plan.load(folder / "plan.toml")
    assert PLAN.content_hash == result.statement.plan
    with monkeypatch.context() as terminal:
        terminal.setenv("COLUMNS", "100")
        assert f"{result}\n" == (folder / "report.txt").read_text(encoding="utf-8")
    with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
        assert all(np.array_equal(arrays[name], result[name]) for name in result)
    for name in result:
        with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert result.frame(name)["value"].tolist() == [float(row["value"]) for row in rows]
        assert result.interval(name).low.ravel().tolist() == [float(row["low"]) for row in rows]


def test_a_loaded_result_saves_the_plan_too(result: dp.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "one")
    dp.Result.load(tmp_path / "one" / "result.json").save(tmp_path / "other")
    assert (tmp_path / "one" / "plan.toml").read_text() == (tmp_path / "other" / "plan.toml").read_text()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_nothing_is_overwritten(name: str, result: dp.Result, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(dp.DataError, match=r"exists already; a result is never overwritten\. The result is not lost"):
        result.save(tmp_path)
    assert {name} == written(tmp_path)
    assert "mine" == (tmp_path / name).read_text()


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_nothing(
    error: BaseException, result: dp.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise error

    real = files.writers
    monkeypatch.setattr(files, "writers", lambda result: {**real(result), "tables/mean.csv": failing})
    expected = dp.DataError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        result.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    if isinstance(error, OSError):
        assert f"{tmp_path}/out/tables/mean.csv cannot be written (No space left on device)." in str(raised.value)


def test_a_value_is_written_without_its_interval_rather_than_not_at_all(
    result: dp.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(dp.Result, "interval", broken)
    result.save(tmp_path / "out")
    assert "column,value" == (tmp_path / "out" / "tables" / "mean.csv").read_text().splitlines()[0]


def test_a_large_value_is_in_the_arrays_only(
    result: dp.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_TABLE", 4)
    result.save(tmp_path / "out")
    assert written(tmp_path / "out") == NAMES - {"tables/moment.csv"}


def test_a_plan_that_no_file_can_hold_is_left_out(result: dp.Result, tmp_path: Path) -> None:
    attrs.evolve(result, plan_file="").save(tmp_path / "out")
    assert written(tmp_path / "out") == NAMES - {"plan.toml"}


def test_the_report_in_the_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dp.Plan(rows=dp.Rows(norm=1.0, neighbors="replace"), budget=PLAN.budget, steps=STEPS[:1])
    large = plan.run(np.random.default_rng(0).normal(size=(50, 30)), insecure_seed=1)
    large.save(tmp_path / "out")
    report = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    assert 900 == report.count(" ± ")
    assert 900 > str(large).count(" ± ")
    monkeypatch.setattr(files, "MOST_LINES", 20)
    large.save(tmp_path / "other")
    assert "the first 12 of 30 rows" in (tmp_path / "other" / "report.txt").read_text(encoding="utf-8")
