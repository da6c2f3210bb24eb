"""Who reads what: nothing is imported unless needed, and nothing read before it must be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpframe.plugin as dp
from dpframe import sources
from tests.support.tables import PROMISE, arrow, csv_file, moment, pandas, plan, polars, table, written


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_opening_reads_no_cell(tmp_path: Path, suffix: str) -> None:
    """Everything between the names and the end of a file is destroyed; only reading notices."""
    path = csv_file(tmp_path / "t.csv") if suffix == "csv" else written(tmp_path / "t.parquet", arrow())
    content = path.read_bytes()
    start, stop = (content.index(b"\n") + 1, len(content)) if suffix == "csv" else (4, len(content) // 2)
    path.write_bytes(content[:start] + b"\xff" * (stop - start) + content[stop:])
    sources.open_source(path, PROMISE)
    if suffix == "parquet":
        with pytest.raises(dp.ReleaseFailed, match=r"failed after the charge \(\w+\)\..* stands"):
            plan().run(path)


def test_nothing_is_imported_unless_needed(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv")
    heavy = ["pyarrow", "pandas", "polars", "duckdb", "dask", "distributed"]
    code = f"""
import sys, dpframe as dp, numpy as np
columns = [dp.Column("age", 17, 90)]
plan = dp.Plan(rows=dp.Rows(columns=columns, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6),
               steps=[dp.release("moment", "gaussian")])
plan.run({{"age": np.zeros(3)}})
plan.run({os.fspath(path)!r})
print([name for name in {heavy!r} if name in sys.modules])
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "[]" == printed.strip()


def test_without_arrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, parquet, wanted = csv_file(tmp_path / "t.csv"), written(tmp_path / "t.parquet", arrow()), moment(table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for data in (parquet, pandas(), polars().lazy(), polars()):
        with pytest.raises(dp.DataError, match=r"need pyarrow: pip install 'dpframe\[tables\]'"):
            plan().run(data)
    assert wanted == moment(path)


PIPES = """
import os, dpframe as dp

rows = dp.Rows(columns=[dp.Column("age", 0, 100)], neighbors="replace")
plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
for name in ("t.csv", "t.parquet", "t.csv.gz", "t"):
    os.mkfifo(name)
    for data in (os.path.abspath(name), [name], dp.csv(name)):
        try:
            plan.run(data)
        except dp.DataError as error:
            assert "it is a pipe or a device, which can be read only once" in str(error), error
            print(name)
"""


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    """Nobody writes to these, so that opening one would wait for ever."""
    done = subprocess.run(
        [sys.executable, "-c", PIPES], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert 12 == len(done.stdout.split())


def test_a_file_that_may_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> object:
        raise PermissionError(13, "denied")

    path = csv_file(tmp_path / "t.csv")
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(dp.DataError, match=r"t\.csv' cannot be read: it cannot be opened \(PermissionError\)"):
        plan().run(path)
