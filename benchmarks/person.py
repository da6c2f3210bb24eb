"""What it takes to limit the rows of each person while the data is read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped]
from pyarrow import compute

from benchmarks.table import Row, Table
from benchmarks.timing import Turns, timed
from dpframe.reading.people import Counter, from_arrow
from dpframe.sources.source import MAX_ROWS_PER_BLOCK

ROWS, PEOPLE, MOST = 10_000_000, 1_000_000, 3
REPETITIONS = 3


def measure(turns: Turns) -> Table:
    """The choice of rows, block after block, for ids of three kinds in random order."""
    turns.progress.expect(REPETITIONS)
    turns.progress.says("drawing the ids")
    numbers = arrow.array(np.random.default_rng(1).integers(PEOPLE, size=ROWS) * 7919)
    short = numbers.cast(arrow.string())
    kinds = {
        "int64": numbers,
        "text of up to 10 bytes": short,
        "text of 36 bytes": compute.utf8_lpad(short, 36, "0"),
        "text of up to 10 bytes, dictionary-encoded": short.dictionary_encode(),
    }
    seconds = turns.medians({what: timed(partial(_choose, ids)) for what, ids in kinds.items()}, REPETITIONS)
    return Table(
        title=f"At most {MOST} rows of each of {PEOPLE:,} people, of {ROWS:,} rows",
        notes=(
            "The choice alone, from Arrow arrays in memory, on the one core that reads: no file is read and no "
            "statistic computed.",
        ),
        rows=tuple(
            Row(what=what, figures={"seconds": each, "million rows per second": ROWS / each / 1e6})
            for what, each in seconds.items()
        ),
    )


def _choose(ids: Any) -> None:
    counter = Counter(MOST)
    for start in range(0, ROWS, MAX_ROWS_PER_BLOCK):
        counter.choose(from_arrow(arrow, ids.slice(start, MAX_ROWS_PER_BLOCK)))
