"""A session of Spark in this process, and what its Python workers do in tests."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REQUIRED = "DPFRAME_REQUIRE_SPARK"


def missing() -> str | None:
    """What Spark cannot run without; None if all of it is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions of pandas, which is not used
            import pyspark.sql  # noqa: F401
    except ImportError:
        return "pyspark is not installed"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "there is no Java, which Spark runs on"
    return None


def session(master: str, *, batch: int = 100) -> Iterator[Any]:
    """A session, stopped at the end; skipped where Spark or Java is not installed, unless that is required.

    Args:
        master: where it runs.
        batch: the most rows of an Arrow batch.
    """
    if (reason := missing()) is not None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("dpframe tests")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.python.worker.faulthandler.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(batch),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = builder.getOrCreate()
        made.sparkContext.setLogLevel("OFF")
        yield made
        made.stop()


def killing(witness: Path, batches: Iterator[Any], *, executor: bool = False) -> Iterator[Any]:
    """A partition; the first worker that has read one batch of it dies, alone or with its whole executor."""
    for batch in batches:
        yield batch
        try:
            witness.touch(exist_ok=False)
        except FileExistsError:
            continue
        if executor:
            status = Path(f"/proc/{os.getppid()}/status").read_text(
                encoding="utf-8"
            )  # of the daemon that forks workers
            os.kill(
                int(next(line for line in status.splitlines() if line.startswith("PPid")).split()[1]), signal.SIGKILL
            )
        os.kill(os.getpid(), signal.SIGKILL)


def failing(batches: Iterator[Any]) -> Iterator[Any]:
    """A partition that cannot be computed."""
    for _ in batches:
        raise ValueError("the cell hush-hush")
    yield from ()
