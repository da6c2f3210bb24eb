"""Compiling: what is kept on disk, and where it cannot be."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest
from numba import types
from numba.core.caching import FunctionCache

from dpframe.compiled import compiled


def test_a_full_disk_only_costs_compiling_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)

    @compiled(types.float64)
    def doubled(value: float) -> float:
        return 2.0 * value

    assert 3.0 == doubled(1.5)


def test_small_data_compiles_nothing() -> None:
    code = (
        "import dpframe as dp, numpy as np, sys\n"
        "rows = dp.Rows(columns=[dp.Column('x', 0, 1)], neighbors='add-remove')\n"
        "dp.check(np.ones((10, 1)), rows)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False\n" == done.stdout
