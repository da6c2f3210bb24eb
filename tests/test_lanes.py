"""Parquet that several threads read at once: every row once, whatever the row groups, and one after the other where
order or memory says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe import accumulate as accumulating
from dpframe import sources
from dpframe.accumulate import accumulate
from dpframe.sources import files, open_source

pa: Any = pytest.importorskip("pyarrow")
ds: Any = pytest.importorskip("pyarrow.dataset")
feather: Any = pytest.importorskip("pyarrow.feather")
pq: Any = pytest.importorskip("pyarrow.parquet")

ROWS = dp.Rows(columns=[dp.Column("age", 0, 100), dp.Column("hours", 0, 9)], neighbors="add-remove")


@pytest.fixture(autouse=True, scope="module")
def _four_cores() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "cores", lambda: 4)
        yield


def table(count: int, seed: int = 0) -> Any:
    draws = np.random.default_rng(seed)
    return pa.table({"age": draws.normal(50, 30, count), "hours": draws.normal(5, 3, count).astype(np.float32)})


def moment(blocks: Any, rows: dp.Rows = ROWS) -> list[list[int]]:
    found: list[list[int]] = accumulate(blocks, [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()
    return found


@settings(max_examples=40, deadline=None)
@given(
    groups=st.lists(st.lists(st.integers(0, 30), max_size=6), min_size=1, max_size=5),
    pieces=st.sampled_from([1, 2, 3, 8, 32]),
    batch=st.sampled_from([1, 7, 100]),
)
def test_every_row_once_whatever_the_row_groups(
    groups: list[list[int]], pieces: int, batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("groups")
    tables = [[table(count, 10 * i + j) for j, count in enumerate(counts)] for i, counts in enumerate(groups)]
    for number, parts in enumerate(tables):
        with pq.ParquetWriter(path / f"{number}.parquet", table(0).schema) as writer:
            for part in parts:
                writer.write_table(part)
    together = pa.concat_tables([table(0), *(part for parts in tables for part in parts)])
    expected = moment(open_source(together, ROWS).blocks())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "PIECES", pieces)
        patch.setattr(files, "BATCH_ROWS", batch)
        patch.setattr(sources, "MAX_ROWS_PER_BLOCK", 10)
        for data in (path, ds.dataset(path)):
            source = open_source(data, ROWS)
            for read in (source.lanes, source.blocks, source.lanes):  # which also compares how many rows there are
                blocks = read()
                if blocks is None:
                    assert 2 > min(pieces, sum(map(len, groups))) or len(groups) == 1
                    continue
                assert expected == moment(blocks)
                assert together.num_rows == source.meter.rows
                assert sum(file.stat().st_size for file in path.iterdir()) == source.meter.bytes


def written(path: Path, files: int = 2, groups: int = 2) -> Path:
    for number in range(files):
        pq.write_table(table(100, number), path / f"{number}.parquet", row_group_size=-(-100 // groups))
    return path


def one_file(path: Path) -> Path:
    return written(path) / "0.parquet"


@pytest.mark.parametrize("make", [written, one_file, functools.partial(written, groups=1)])
@pytest.mark.parametrize("form", [Path, ds.dataset, lambda path: [path, ds.dataset(path)]])
def test_read_at_once(make: Callable[[Path], Path], form: Any, tmp_path: Path) -> None:
    lanes = open_source(form(make(tmp_path)), ROWS).lanes()
    assert lanes is not None
    assert 2 <= lanes.at_once <= 4


def one_group(path: Path) -> Any:
    return written(path, files=1, groups=1), ROWS


def with_people(path: Path) -> Any:
    rows = dp.Rows(columns=ROWS.columns, neighbors="add-remove", person="id", contributions=2)
    for number in range(2):
        pq.write_table(table(100).append_column("id", pa.array(range(100))), path / f"{number}.parquet")
    return path, rows


def among_others(path: Path) -> Any:
    return [written(path), table(10)], ROWS


def in_another_format(path: Path) -> Any:
    for number in range(2):
        feather.write_feather(table(10), path / f"{number}.feather")
    return ds.dataset(path, format="feather"), ROWS


def no_files(_: Path) -> Any:
    return ds.dataset([], schema=table(0).schema), ROWS


@pytest.mark.parametrize("make", [one_group, with_people, among_others, in_another_format, no_files])
def test_one_after_the_other(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """Where there is nothing to divide, where the order of rows counts, where not all can be read by any thread."""
    data, rows = make(tmp_path)
    source = open_source(data, rows)
    assert source.lanes() is None
    moment(source.blocks(), rows)


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [(sources, "cores", lambda: 1), (sources, "WIDE", 2), (files, "AT_ONCE", 1 << 26), (files, "PER_COLUMN", 1 << 29)],
)
def test_one_after_the_other_where_memory_or_cores_say_so(
    where: Any, name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, value)
    assert open_source(written(tmp_path), ROWS).lanes() is None


def test_a_pass_with_another_number_of_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([50, 50, 50, 50, 50, 50, 50, 49])
    monkeypatch.setattr(files._Piece, "batches", lambda *_: iter(table(next(counts)).to_batches()))
    source = open_source(written(tmp_path), ROWS)
    moment(source.lanes())
    with pytest.raises(dp.DataError, match="another number of rows"):
        moment(source.lanes())


def test_a_broken_piece_ends_the_run_and_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, files=4, groups=4)
    about = pq.ParquetFile(path / "2.parquet").metadata.row_group(3).column(0)
    with (path / "2.parquet").open("r+b") as file:
        file.seek(about.data_page_offset)
        file.write(b"\xff" * (about.total_compressed_size // 2))
    monkeypatch.setattr(accumulating, "PAUSE", 0.001)
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    with pytest.raises(dp.ReleaseFailed, match=r"failed after the charge \(\w+\)\..* stands") as caught:
        plan.run(path)
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)


def test_pieces_are_about_as_many_as_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are opened again for each piece, so that there should not be many more."""
    monkeypatch.setattr(files, "PIECES", 6)
    for count, expected in [(1, 5), (2, 6), (3, 6), (8, 8)]:
        path = tmp_path / str(count)
        path.mkdir()
        (chunk,) = attrs.asdict(open_source(written(path, count, 5), ROWS), recurse=False)["_chunks"]
        assert expected == len(chunk.parts)
