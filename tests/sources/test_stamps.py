"""Data that is broken or does not stand still: refused before the charge where that can be seen, else told after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe import sources
from tests.support.refusals import SECRET, SECRETS, WORD, Watch

pa: Any = pytest.importorskip("pyarrow")
pl: Any = pytest.importorskip("polars")
ds: Any = pytest.importorskip("pyarrow.dataset")
pq: Any = pytest.importorskip("pyarrow.parquet")

AGE = dp.Rows(columns=[dp.Column("age", 0, 100)], neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
ONE_PASS = dp.Plan(rows=AGE, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
TWO_PASSES = dp.Plan(
    rows=dp.Rows(columns=AGE.columns, neighbors="replace", norm=dp.ref("radius")),
    budget=BUDGET,
    steps=[dp.release("radius", "private-quantile", quantile=0.9, high=4.0), dp.release("moment", "gaussian")],
)
FILE = r"(the file 'data\.\w+'|one of the files in the directory '.*'|one of the parts of the dataset)"
CHANGED = rf"{FILE} was changed or replaced after its schema was checked.* stands"
GONE = rf"{FILE} is gone after its schema was checked.* stands"


def ages(count: int = 1000) -> Any:
    return pa.table({"age": np.linspace(0, 100, count)})


def parquet(path: Path) -> Any:
    pq.write_table(ages(), path / "data.parquet", row_group_size=100)
    return path / "data.parquet"


def text(path: Path) -> Any:
    (path / "data.csv").write_text("age\n" + "12.5\n" * 1000)
    return path / "data.csv"


def mapped(path: Path) -> Any:
    np.save(path / "data.npy", np.zeros((1000, 1)))
    return np.load(path / "data.npy", mmap_mode="r")


FILES: dict[str, Callable[[Path], Any]] = {
    "Parquet": parquet,
    "folder": lambda path: parquet(path).parent,
    "dataset": lambda path: ds.dataset(parquet(path)),
    "CSV": text,
    "memory map": mapped,
    "column of a memory map": lambda path: {"age": mapped(path)[:, 0]},
}


def the_file(path: Path) -> Path:
    return next(file for file in path.iterdir() if file.name.startswith("data."))


def rewrite(file: Path) -> None:
    """The same bytes, at another time."""
    stamp = file.stat()
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1_000_000))


def grow(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"12.5\n")


def replace(file: Path) -> None:
    """Another file of the same size and time."""
    stamp, other = file.stat(), file.with_name("other")
    other.write_bytes(file.read_bytes())
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    other.replace(file)


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "written to": (rewrite, CHANGED),
    "grown": (grow, CHANGED),
    "replaced": (replace, CHANGED),
    "gone": (Path.unlink, GONE),
}


SEEN = {
    f"{kind}, {how}": (make, change, words)
    for kind, make in FILES.items()
    for how, (change, words) in CHANGES.items()
    if (kind, how) != ("dataset", "replaced")  # stores of Arrow tell size and time only
}


def run_with(plan: dp.Plan, data: Any, when: str, change: Callable[[], None]) -> None:
    """Run, and change the data once: when a phase of the run begins."""
    left = [change]

    def listen(phase: str) -> None:
        if when in phase and left:
            left.pop()()

    plan.run(data, progress=listen)


@pytest.mark.parametrize("when", ["reading the data, pass 1", "working on 'radius'"])
@pytest.mark.parametrize(("make", "change", "words"), SEEN.values(), ids=SEEN)
def test_a_file_that_changes_after_the_schema_was_checked_or_between_passes(
    make: Callable[[Path], Any], change: Callable[[Path], None], words: str, when: str, tmp_path: Path
) -> None:
    data = make(tmp_path)
    with pytest.raises(dp.ReleaseFailed, match=words):
        run_with(TWO_PASSES, data, when, lambda: change(the_file(tmp_path)))


@pytest.mark.parametrize(("make", "change", "words"), SEEN.values(), ids=SEEN)
def test_a_file_that_changes_while_it_is_read(
    make: Callable[[Path], Any],
    change: Callable[[Path], None],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources.source, "MAX_ROWS_PER_BLOCK", 100)
    data = make(tmp_path)
    blocks = sources.open_source(data, AGE).blocks()
    next(blocks)
    change(the_file(tmp_path))
    with pytest.raises(dp.DataError, match=words.removesuffix(".* stands")):
        list(blocks)


def test_a_file_that_stands_still_is_read(tmp_path: Path) -> None:
    for number, make in enumerate(FILES.values()):
        (tmp_path / str(number)).mkdir()
        assert (1, 1) == TWO_PASSES.run(make(tmp_path / str(number)))["moment"].shape


# -- another number of rows --------------------------------------------------------------------------------------------


class Growing:
    """Chunks that are more each time."""

    def __init__(self) -> None:
        self.times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return iter([ages(10)] * self.times)


def shrinking() -> Any:
    counts = iter([1000, 999])
    return pl.LazyFrame({"age": [1.0]}).map_batches(
        lambda _: pl.DataFrame({"age": np.zeros(next(counts))}), schema={"age": pl.Float64}, streamable=False
    )


@pytest.mark.parametrize("make", [Growing, shrinking])
def test_another_number_of_rows_in_the_second_pass(make: Callable[[], Any], watch: Watch) -> None:
    with pytest.raises(dp.ReleaseFailed, match=r"another number of rows when it was read again.* stands") as caught:
        TWO_PASSES.run(make())
    assert "moment" == caught.value.step
    assert 1 == watch.charges
    assert [] == [number for number in ("999", "1000", "1,000", "20") if number in str(caught.value)]


# -- broken files ------------------------------------------------------------------------------------------------------


def secrets(path: Path, **columns: Any) -> Path:
    table = pa.table(columns or {"age": np.full(50_000, SECRET) + np.arange(50_000)})
    pq.write_table(table, path, compression="gzip", use_dictionary=False, data_page_size=10_000)
    return path


def test_a_broken_footer_is_refused_before_the_charge(tmp_path: Path, watch: Watch) -> None:
    secrets(tmp_path / "0.parquet")
    path = secrets(tmp_path / "1.parquet")
    path.write_bytes(path.read_bytes()[:-20] + b"\xff" * 20)
    with pytest.raises(dp.DataError, match=r"one of the files in the directory '.*' cannot be read"):
        ONE_PASS.run(tmp_path)
    assert (0, 0, 0) == watch.counts


def test_a_broken_page_is_found_after_the_charge_and_tells_nothing(tmp_path: Path, watch: Watch) -> None:
    secrets(tmp_path / "0.parquet")
    path = secrets(tmp_path / "1.parquet")
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    with path.open("r+b") as file:
        file.seek(chunk.data_page_offset + chunk.total_compressed_size // 2)
        file.write(b"\xff" * (chunk.total_compressed_size // 4))
    with pytest.raises(dp.ReleaseFailed, match=r"failed after the charge \(\w+\)\..* stands") as caught:
        ONE_PASS.run(tmp_path)
    assert [] == [secret for secret in SECRETS if secret in str(caught.value)]
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)
    assert 1 == watch.charges


@pytest.mark.parametrize("as_dataset", [False, True])
def test_checksums_are_compared(as_dataset: bool, tmp_path: Path, watch: Watch) -> None:
    """A page that can be read, and holds something else than was written."""
    path = tmp_path / "0.parquet"
    how = {"compression": "none", "use_dictionary": False, "data_page_size": 10_000, "write_page_checksum": True}
    pq.write_table(pa.table({"age": np.linspace(0.0, 100.0, 50_000)}), path, **how)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    with path.open("r+b") as file:
        file.seek(chunk.data_page_offset + chunk.total_compressed_size // 2)
        file.write(bytes(100))
    assert 50_000 == pq.read_table(path).num_rows
    with pytest.raises(dp.ReleaseFailed, match="stands"):
        ONE_PASS.run(ds.dataset(tmp_path) if as_dataset else tmp_path)
    assert 1 == watch.charges


# -- directories -------------------------------------------------------------------------------------------------------


def ages_in(folder: Path, *counts: int) -> Path:
    folder.mkdir(parents=True)
    for number, count in enumerate(counts):
        pq.write_table(pa.table({"age": np.zeros(count)}), folder / f"{number}.parquet")
    return folder


def test_links_are_followed_and_bookkeeping_is_not(tmp_path: Path) -> None:
    here = ages_in(tmp_path / "here" / "year=2025", 1, 2).parent
    (here / "elsewhere").symlink_to(ages_in(tmp_path / "there", 4))
    (here / "one.parquet").symlink_to(ages_in(tmp_path / "file", 8) / "0.parquet")
    (here / "_SUCCESS").touch()
    ages_in(here / ".hidden", 16)
    ages_in(here / "_temporary" / "0", 32)
    assert 15 == dp.check(here, AGE).rows


def in_a_circle(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "again").symlink_to(folder)


def to_another(folder: Path) -> None:
    (folder / "latest").symlink_to(ages_in(folder / "2025", 4))


def to_a_file(folder: Path) -> None:
    os.link(folder / "0.parquet", folder / "copy.parquet")


def to_nowhere(folder: Path) -> None:
    (folder / "2.parquet").symlink_to(folder / "gone.parquet")


def a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "2.parquet")


TWICE = "a link in the directory 'here' leads to what is in it too: rows would count twice"
NO_FILE = "the directory 'here' holds something that is no file, or a link to none"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (in_a_circle, TWICE),
        (to_another, TWICE),
        (to_a_file, TWICE),
        (to_nowhere, NO_FILE),
        (a_pipe, NO_FILE),
    ],
)
def test_rows_of_a_directory_are_not_left_out_silently(
    change: Callable[[Path], None], words: str, tmp_path: Path, watch: Watch
) -> None:
    change(ages_in(tmp_path / "here", 1, 2))
    with pytest.raises(dp.DataError, match=words):
        ONE_PASS.run(tmp_path / "here")
    assert (0, 0, 0) == watch.counts


def test_a_directory_that_may_not_be_looked_at(tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, listed = ages_in(tmp_path / "here" / "locked", 1), Path.iterdir

    def denied(path: Path) -> Any:
        if path == locked:
            raise PermissionError
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(dp.DataError, match=r"in the directory 'here' cannot be looked at \(PermissionError\)"):
        ONE_PASS.run(tmp_path / "here")
    assert (0, 0, 0) == watch.counts


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"years": [SECRET]}, r"one of the files in the directory '.*' has no column 'age'"),
        ({"age": [WORD]}, r"column 'age' of one of the files in the directory '.*' holds string"),
    ],
)
def test_another_schema_in_one_file_is_refused_before_the_charge(
    tmp_path: Path, watch: Watch, columns: dict[str, Any], words: str
) -> None:
    secrets(tmp_path / "0.parquet")
    secrets(tmp_path / "1.parquet", **columns)
    with pytest.raises(dp.DataError, match=words) as caught:
        ONE_PASS.run(tmp_path)
    assert [] == [secret for secret in SECRETS if secret in str(caught.value)]
    assert (0, 0, 0) == watch.counts
