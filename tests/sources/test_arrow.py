"""Arrow: batches are read one by one, as they were, and decimals rounded once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe.plugin as dp
from dpframe import sources
from tests.support.tables import AGE, COLUMNS, NAN, ROWS, integers, reader, two_passes

pa: Any = pytest.importorskip("pyarrow")
pl: Any = pytest.importorskip("polars")


class OneBuffer:
    """Batches that are all written to the same memory, against the rules of Arrow."""

    def __init__(self) -> None:
        self.buffer = np.empty(10_000)
        self.schema = pa.schema([("age", pa.float64())])

    def __iter__(self) -> Iterator[Any]:
        for age in range(100):
            self.buffer[:] = age
            yield pa.record_batch([pa.array(self.buffer)], schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self)).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        OneBuffer,
        lambda: pa.RecordBatchReader.from_stream(OneBuffer()),
        lambda: [pa.RecordBatchReader.from_stream(OneBuffer())],
        lambda: iter(OneBuffer()),
    ],
    ids=["stream", "reader", "list with a reader", "iterator"],
)
def test_batches_in_the_same_memory_are_read_as_they_were(make: Callable[[], Any]) -> None:
    """A block waits for a worker while the next one is written over it, and would be summed twice."""
    waiting: list[Any] = list(sources.open_source(make(), AGE).blocks())
    assert list(range(100)) == [age for block in waiting for age in np.unique(block["age"]).tolist()]


def test_a_stream_that_is_refused_is_left_alone() -> None:
    stream = reader()
    with pytest.raises(dp.DataError, match="only once"):
        two_passes().run(stream)
    assert ROWS == stream.read_all().num_rows


CELLS = st.one_of(st.none(), st.floats(allow_subnormal=True), st.sampled_from([1.0, 2.5, 3.0, 17.0, 90.0]))
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS, st.none() | st.sampled_from(["F", "M", "f", "F "]) | st.text()))


@settings(max_examples=60, deadline=None)
@given(rows=TABLES, size=st.integers(1, 5))
def test_any_cells_in_any_batches(rows: list[tuple[Any, ...]], size: int) -> None:
    cells = list(zip(*rows, strict=True)) or [()] * 4
    names = [column.name for column in COLUMNS]
    kinds = [pa.float64()] * 3 + [pa.string()]
    data = pa.table([pa.array(c, k) for c, k in zip(cells, kinds, strict=True)], names=names)
    numbers = [np.array([NAN if c is None else c for c in column], dtype=float) for column in cells[:3]]
    words = np.array([c if c in ("F", "M") else "" for c in cells[3]], dtype=str)
    wanted = integers(dict(zip(names, [*numbers, words], strict=True)))
    assert wanted == integers(pa.Table.from_batches(data.to_batches(max_chunksize=size), data.schema))
    assert wanted == integers(pl.from_arrow(data)) == integers(data.to_pandas())


@pytest.mark.parametrize("kind", [f"decimal{bits}" for bits in (32, 64, 128, 256) if hasattr(pa, f"decimal{bits}")])
def test_decimals_are_rounded_once(kind: str) -> None:
    """Arrow's own conversion takes many of these to a neighbor of the nearest double."""
    cells = [Decimal(cents).scaleb(-2) for cents in range(-300, 9999, 7)]
    nearest = np.array([float(cell) for cell in cells])
    exact = pa.array(cells, getattr(pa, kind)(9, 2))
    assert 0 < np.count_nonzero(exact.cast(pa.float64()).to_numpy() != nearest)
    found = next(iter(sources.open_source(pa.table({"age": exact}), AGE).blocks()))
    assert not isinstance(found, np.ndarray)
    assert nearest.tobytes() == found["age"].tobytes()


def test_a_stream_is_read_batch_by_batch() -> None:
    """Of a hundred batches only a few are there at any time: the stream does not run ahead, nothing is kept."""
    alive: list[int] = [0]
    most = 0

    def gone() -> None:
        alive[0] -= 1

    def batches() -> Iterator[Any]:
        for _ in range(100):
            cells = np.zeros(1000)
            alive[0] += 1
            weakref.finalize(cells, gone)
            yield pa.record_batch({"age": pa.array(cells)})  # which holds on to the cells

    stream = pa.RecordBatchReader.from_batches(pa.schema({"age": pa.float64()}), batches())
    for block in sources.open_source(stream, AGE).blocks():
        assert 1000 == len(block["age"])
        most = max(most, alive[0])
    assert 1 <= most <= 4
