"""Parquet files: what is not needed is not read, and a long file needs no more memory than a short one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.tables import arrow, moment, table, written

pa: Any = pytest.importorskip("pyarrow")
ds: Any = pytest.importorskip("pyarrow.dataset")
pq: Any = pytest.importorskip("pyarrow.parquet")


def test_extra_columns_of_a_file_are_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", arrow().set_column(0, "extra", pa.array(table()["age"])))
    chunks = pq.ParquetFile(path).metadata.row_group(0)
    extra = next(chunks.column(i) for i in range(5) if chunks.column(i).path_in_schema == "extra")
    with path.open("r+b") as file:
        file.seek(extra.dictionary_page_offset or extra.data_page_offset)
        file.write(b"\xff" * extra.total_compressed_size)
    with pytest.raises(OSError, match=r"\w"):
        pq.read_table(path)
    assert moment(table()) == moment(path) == moment(ds.dataset(path))


MEASURE = """
import resource, sys
import pyarrow as pa, dpframe as dp

columns = [dp.Column(f"x{i}", -3, 3) for i in range(5)] + [dp.Category("sex", ["F", "M"])]
plan = dp.Plan(rows=dp.Rows(columns=columns, neighbors="replace"), budget=dp.Budget(epsilon=1.0, delta=1e-6),
               steps=[dp.release("moment", "gaussian")])
plan.run(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
plan.run(sys.argv[2])
print(pa.default_memory_pool().max_memory(), 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def test_a_long_file_needs_no_more_memory(tmp_path: Path) -> None:
    """Four million rows in one row group, 192 MB of numbers and words: nearly nothing beyond what 0.2 million need."""
    draws = np.random.default_rng(4)
    long = 4_000_000
    columns = {f"x{i}": draws.standard_normal(long) for i in range(5)}
    data = pa.table({**columns, "sex": pa.array(["F", "M", "?"]).take(pa.array(draws.integers(0, 3, long)))})
    paths = [
        written(tmp_path / "short.parquet", data.slice(0, 200_000)),
        written(tmp_path / "long.parquet", data, row_group_size=long, compression="none"),
    ]
    size = paths[1].stat().st_size
    assert 100e6 < size
    done = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True)
    arrows, more = map(int, done.stdout.split())
    assert arrows < size / 3
    assert more < size / 3
