"""Loading kernels: when it is done, that NumPy gives the same without them, and that nothing reveals it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.reading import kernel_loader
from dpframe.reading.kernel_loader import KernelKind
from dpframe.reading.mapper import mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from dpframe.run import runner
from dpframe.sources import open_source
from tests.support.compiled import one_chunk, reference_map

TWENTY = [dp.Column(f"x{i}", 0, 1) for i in range(20)]


def test_large_data_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """After enough cells, or before the first if their number is known."""
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 2500)
    for expected, cells in [([False, False, True, True], 0), ([True] * 4, 2500)]:
        loader = kernel_loader.KernelLoader()
        seen = [loader.kernels(KernelKind.COLUMNS, 1000, expected=cells) is not None for _ in range(4)]
        assert expected == seen
        assert loader.kernels(KernelKind.ROWS, 2499) is None  # which are counted apart


@pytest.mark.parametrize(
    ("promise", "kinds"),
    [
        (dp.Rows(columns=TWENTY, neighbors="replace"), [KernelKind.INT16_COLUMNS]),
        (dp.Rows(columns=TWENTY, norm=1.0, neighbors="replace"), [KernelKind.NORMED_COLUMNS]),
        (dp.Rows(norm=1.0, neighbors="replace"), [KernelKind.ROWS]),
        (dp.Rows(norm=dp.ref("radius"), neighbors="replace"), []),
    ],
    ids=["columns", "columns with a norm", "rows", "a norm that is not known yet"],
)
def test_what_is_worth_compiling_is_known_from_the_promise(
    promise: dp.Rows, kinds: list[KernelKind], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 100)
    monkeypatch.setattr(kernel_loader, "loader", loader := kernel_loader.KernelLoader())
    source = open_source(np.ones((5, 20)), promise)
    assert 100 == source.expected
    assert not loader._kernels  # before the first cells
    loader.kernels(kernel_loader.kernel_kind(promise.bind(20)), 1, expected=source.expected)
    assert kinds == list(loader._kernels)


def test_what_is_worth_compiling_is_known_for_all_passes_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A radius in a first pass, and rows scaled down to it in a second one."""
    rows = dp.Rows(columns=TWENTY, norm=dp.ref("radius"), neighbors="replace")
    radius = dp.release("radius", "private-quantile", quantile=0.9, high=4.0)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[radius, dp.release("m", "gaussian")])
    expected = []

    def spied(*given: Any, **said: Any) -> Any:
        expected.append(said["expected"])
        return accumulate(*given, **said)

    monkeypatch.setattr(runner, "accumulate", spied)
    plan.run(np.ones((5, 20)), insecure_seed=1)
    assert expected == [200, 100]


class Broken:
    """Compiled code that can be loaded and does not work."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    @property
    def SELF_TESTS(self) -> dict[KernelKind, Callable[[], None]]:  # noqa: N802 - a constant of the module that this stands for
        return {KernelKind.COLUMNS: self.check}

    def check(self) -> None:
        warnings.warn("shown for large data only", stacklevel=1)
        if self.error is not None:
            raise self.error


FAILURES = [
    Mock(side_effect=ImportError("no module named numba")),
    Mock(side_effect=RuntimeError("LLVM")),
    Mock(side_effect=OSError("disk")),
    Mock(return_value=Broken(NotImplementedError("no compiler"))),
    Mock(return_value=Broken(RuntimeError("other integers"))),
]


@pytest.mark.parametrize("loading", FAILURES)
def test_what_cannot_be_compiled_is_mapped_by_numpy(loading: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried once, and nothing is shown."""
    rows = dp.Rows(columns=[dp.Column("x", -1, 1)], neighbors="add-remove")
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 0)
    monkeypatch.setattr(kernel_loader, "loader", kernel_loader.KernelLoader())
    monkeypatch.setattr(kernel_loader, "import_module", loading)
    table = {"x": np.linspace(-2, 2, 1000)}
    for _ in range(2):
        assert reference_map(rows, table).tolist() == one_chunk(mapper(rows, Scratch()))(table).values.tolist()
    assert 1 == loading.call_count
    assert "<KernelLoader: private>" == repr(kernel_loader.loader)


def test_warnings_of_loading_are_not_shown(monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder) -> None:
    rows = dp.Rows(columns=[dp.Column("x", -1, 1)], neighbors="add-remove")
    loading = Mock(return_value=Broken(RuntimeError("other integers")))
    monkeypatch.setattr(kernel_loader, "import_module", loading)
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 0)
    monkeypatch.setattr(kernel_loader, "loader", kernel_loader.KernelLoader())
    filters = list(warnings.filters)
    accumulate([{"x": np.zeros(10)}], [dp.Moment()], rows)
    assert 1 == loading.call_count
    assert ([], filters) == (list(recwarn), list(warnings.filters))


def test_numpy_works_on_while_code_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread loads, until all blocks are read."""
    rows = dp.Rows(columns=[dp.Column("x", -1, 1)], neighbors="add-remove")
    blocks = [{"x": np.linspace(-2, 2, 1000 + i)} for i in range(20)]
    expected = accumulate(blocks, [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()
    loading, loaded = Event(), Event()

    def load(_: str) -> Any:
        loading.set()
        assert loaded.wait(60.0)
        return importlib.import_module("dpframe.reading.kernels")

    def then(last: bool) -> None:
        assert loading.wait(60.0)  # before anything else is read
        if last:
            loaded.set()

    def read() -> Iterator[Any]:
        for number, block in enumerate(blocks):
            yield block
            then(number == len(blocks) - 1)

    monkeypatch.setattr(kernel_loader, "import_module", load)
    monkeypatch.setattr(kernel_loader, "COMPILED_FROM", 0)
    monkeypatch.setattr(kernel_loader, "loader", loader := kernel_loader.KernelLoader())
    assert expected == accumulate(read(), [dp.Moment()], rows)[dp.Moment()]["moment"].tolist()
    assert loader.kernels(KernelKind.COLUMNS, 1) is not None


def test_nothing_is_logged_of_loading(tmp_path: Path) -> None:
    code = (
        "import logging, numpy as np, dpframe.plugin as dp\n"
        "from dpframe.reading import kernel_loader\n"
        "from dpframe.reading.totals import accumulate\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "kernel_loader.COMPILED_FROM = 0\n"
        "rows = dp.Rows(columns=[dp.Column('x', -1, 1)], neighbors='add-remove')\n"
        "accumulate([{'x': np.zeros(10)}], [dp.Moment()], rows)\n"
        "print(list(kernel_loader.loader._kernels.values()) != [None])\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}  # where nothing is yet
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ("True\n", "") == (done.stdout, done.stderr)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_is_forked_while_code_is_loaded_does_not_wait_for_it() -> None:
    code = (
        "import os\n"
        "from dpframe.reading import kernel_loader\n"
        "kernel_loader.COMPILED_FROM = 0\n"
        "kernel_loader.loader._lock.acquire()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    kernel_loader.loader.kernels(kernel_loader.KernelKind.COLUMNS, 1)\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "0\n" == done.stdout


@pytest.mark.parametrize(
    ("variable", "value"), [("NUMBA_DISABLE_JIT", "1"), ("NUMBA_OPT", "0"), ("NUMBA_CACHE_DIR", "/dev/null/none")]
)
def test_settings_of_numba_do_not_stop_large_runs(variable: str, value: str) -> None:
    code = (
        "import dpframe.plugin as dp, numpy as np\n"
        "from dpframe.reading import kernel_loader\n"
        "kernel_loader.COMPILED_FROM = 0\n"
        "rows = dp.Rows(columns=[dp.Column(f'x{i}', 0, 1) for i in range(20)], neighbors='add-remove')\n"
        "steps = [dp.release('moment', 'gaussian')]\n"
        "plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)\n"
        "print(plan.run(np.ones((10, 20)))['moment'].shape)"
    )
    environment = {**os.environ, variable: value}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ("(20, 20)\n", "") == (done.stdout, done.stderr)
