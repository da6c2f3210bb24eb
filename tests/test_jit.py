"""Compiling: what is kept on disk, and where it cannot be."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types
from numba.core.caching import FunctionCache

from dpframe.jit import compiled


def test_a_full_disk_only_costs_compiling_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)

    @compiled(types.float64)
    def doubled(value: float) -> float:
        return 2.0 * value

    assert 3.0 == doubled(1.5)


ENTRY = """
from numba import types
from factors import scaled
from dpframe.jit import compiled

@compiled(types.float64)
def entry(value):
    return scaled(value)

print(entry(1.5), sum(entry.stats.cache_hits.values()))
"""

PART = """
from dpframe.jit import compiled_part

@compiled_part
def scaled(value):
    return {} * value
"""


def test_what_is_kept_is_not_used_once_another_file_of_its_folder_has_changed(tmp_path: Path) -> None:
    """Not even one that looks the same from outside: as long, and as old."""

    def run(factor: float) -> str:
        (tmp_path / "factors.py").write_text(PART.format(factor))
        for name in ("entry.py", "factors.py"):
            os.utime(tmp_path / name, (1e9, 1e9))
        words = [sys.executable, "-B", "entry.py"]
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    (tmp_path / "entry.py").write_text(ENTRY)
    assert ["3.0 0\n", "3.0 1\n", "4.5 0\n"] == [run(factor) for factor in (2.0, 2.0, 3.0)]


def test_small_data_compiles_nothing() -> None:
    code = (
        "import dpframe as dp, numpy as np, sys\n"
        "rows = dp.Rows(columns=[dp.Column('x', 0, 1)], neighbors='add-remove')\n"
        "dp.check(np.ones((10, 1)), rows)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False\n" == done.stdout
