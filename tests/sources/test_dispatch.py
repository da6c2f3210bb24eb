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
