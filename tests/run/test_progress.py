"""Progress: bytes of files, rows where their number is public, and texts that any function can show."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe import sources
from dpframe.run import progress

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

COUNT = 1000


def plan(neighbors: str) -> dp.Plan:
    rows = dp.Rows(columns=[dp.Column("age", 0, 100)], neighbors=neighbors)
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, and an event for each."""
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    monkeypatch.setattr(sources.source, "MAX_ROWS_PER_BLOCK", 100)


def parquet(path: Path) -> Path:
    for number in range(2):
        pq.write_table(pa.table({"age": np.linspace(0, 100, COUNT // 2)}), path / f"{number}.parquet")
    return path


def csv(path: Path) -> Path:
    (path / "t.csv").write_text("age\n" + "12.5\n" * COUNT)
    return path / "t.csv"


def mapped(path: Path) -> Any:
    np.save(path / "t.npy", np.zeros((COUNT, 1)))
    return np.load(path / "t.npy", mmap_mode="r")


def told(neighbors: str, data: Any) -> list[dp.Progress]:
    events: list[dp.Progress] = []
    plan(neighbors).run(data, progress=events.append)
    assert all(type(event) is dp.Progress for event in events)
    assert ["reading the data, pass 1 of 1", "working on 'moment'"] == [events[0], events[-1]]
    assert {"reading the data, pass 1 of 1"} == {event.phase for event in events[:-1]}
    return events[1:-1]


@pytest.mark.parametrize("make", [parquet, csv, mapped])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_files_tell_their_bytes(make: Any, neighbors: str, tmp_path: Path) -> None:
    data = make(tmp_path)
    size = COUNT * 8 if make is mapped else sum(file.stat().st_size for file in tmp_path.iterdir())
    events = told(neighbors, data)
    assert 8 <= len(events)
    done = [event.bytes for event in events]
    assert {size} == {event.total_bytes for event in events}
    assert sorted(done) == done  # type: ignore[type-var]
    assert size == done[-1]
    rows = [event.rows for event in events]
    assert ([None] * len(rows) if neighbors == "add-remove" else sorted(rows)) == rows  # type: ignore[type-var]
    assert rows[-1] in (None, COUNT)
    assert events[-1].share == pytest.approx(1.0)


@pytest.mark.parametrize("make", [lambda: np.zeros((COUNT, 1)), lambda: {"age": np.zeros(COUNT)}, lambda: iter([])])
def test_under_add_remove_memory_tells_nothing(make: Any) -> None:
    """The bytes of an array are those of a row times the number of rows."""
    assert [] == told("add-remove", make())


@pytest.mark.parametrize("make", [parquet, csv])
def test_under_add_remove_the_same_is_told_whatever_the_rows(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes read with a block of known size would tell how many rows the file has; so would the number of events."""
    data = make(tmp_path)
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    expected = [size * percent // 100 for percent in range(1, 101)]
    for rows in (100, 7):
        monkeypatch.setattr(sources.source, "MAX_ROWS_PER_BLOCK", rows)
        assert expected == [event.bytes for event in told("add-remove", data)]
    (tmp_path / "empty.csv").write_text("age\n")
    assert 100 == len(told("add-remove", tmp_path / "empty.csv"))


def test_under_add_remove_a_part_of_a_memory_map_tells_nothing(tmp_path: Path) -> None:
    assert [] == told("add-remove", mapped(tmp_path)[: COUNT // 3])


def test_under_replace_memory_tells_rows_and_bytes() -> None:
    event = told("replace", {"age": np.zeros(COUNT)})[5]
    assert (500, 4000, 8000) == (event.rows, event.bytes, event.total_bytes)
    assert "reading the data, pass 1 of 1: 4 kB of 8 kB, 500 rows" == event
    event = told("replace", iter([pa.table({"age": np.zeros(COUNT)})]))[-1]
    assert (COUNT, None, None) == (event.rows, event.bytes, event.share)


def test_events_are_told_a_few_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 60.0)
    assert [] == told("replace", {"age": np.zeros(COUNT)})


def test_every_percent_of_a_draw_is_told_once_whatever_is_computed_again() -> None:
    direct: list[dp.Progress] = []
    again: list[dp.Progress] = []
    for events, calls in ((direct, [(n, 250) for n in range(251)]), (again, [(40, 250), (10, 250), (250, 250)] * 2)):
        reporter = progress.ProgressReporter(events.append)
        reporter.begin("drawing")
        for done, total in calls:
            reporter.parts(done, total)
    assert direct == again
    assert ["drawing", "drawing: 3 of 250 parts", "drawing: 250 of 250 parts"] == [direct[0], direct[1], direct[-1]]
    assert (101, 0.5) == (len(direct), direct[50].share)


def test_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.console

    screen, made = io.StringIO(), rich.console.Console
    monkeypatch.setattr(rich.console, "Console", lambda **_: made(file=screen, force_terminal=True, width=120))
    result = plan("replace").run({"age": np.zeros(COUNT)}, progress=True)
    assert (1, 1) == result["moment"].shape
    assert "8 kB of 8 kB, 1,000 rows" in screen.getvalue() or "working on 'moment'" in screen.getvalue()
    plan("replace").run({"age": np.zeros(COUNT)}, progress=False)


def test_what_is_no_listener() -> None:
    with pytest.raises(
        dp.PlanError, match=r"progress must be True, for a bar, or a function of a dp\.Progress; got 'bar'"
    ):
        plan("replace").run({"age": np.zeros(COUNT)}, progress="bar")  # type: ignore[arg-type]
