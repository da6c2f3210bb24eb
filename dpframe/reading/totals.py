"""Exact totals of statistics over blocks of rows, independent of their order, the split, the threads and the machines.

A total is a sum of integers, and integer addition is associative and commutative. So blocks may be read in any order,
by any number of threads or processes, and their totals merged in any tree: the integers are the same. Sums are held in
int64, and in two limbs where they may not fit; see :class:`dpframe.reading.exact_sum.ExactSum`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.interfaces import Statistic
from dpframe.reading.chunk import Chunk
from dpframe.reading.exact_sum import ExactSum
from dpframe.reading.mapper import mapper
from dpframe.reading.private_data import Parts
from dpframe.reading.process_state import one_blas_thread, warnings_silenced
from dpframe.reading.scratch import Scratch
from dpframe.reading.under import Under
from dpframe.spec.rows import Rows

WIDE = 1 << 10
"""From this width on, blocks are read one after the other, each with all cores, and into one matrix."""


def accumulate(
    blocks: Iterable[Any], statistics: Sequence[Statistic], rows: Rows, *, expected: int = 0
) -> dict[Statistic, Parts]:
    """Exact totals of the statistics over all blocks of raw rows, on the cores of this machine.

    Args:
        blocks: raw rows.
        statistics: the statistics to sum.
        rows: the promise, with its dimension known.
        expected: the number of cells to come, as far as it is known. Only speed depends on it.
    """
    with warnings_silenced():
        return totals(blocks, statistics, rows, expected=expected).exact()


def totals(blocks: Iterable[Any], statistics: Sequence[Statistic], rows: Rows, *, expected: int = 0) -> Totals:
    """The totals that `accumulate` computes, before `Totals.exact`, to be merged with those of other blocks."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if rows.width >= WIDE:
        sums = Totals(statistics, rows, expected=expected)
        for raw in blocks:
            sums.read(raw)
        return sums
    free: deque[Totals] = deque()

    def read(raw: Any) -> None:
        try:
            sums = free.pop()
        except IndexError:  # all are in use; there is at most one for each worker
            sums = Totals(statistics, rows, expected=expected)
        try:
            sums.read(raw)
        finally:
            free.append(sums)

    waiting: set[Future[None]] = set()
    with one_blas_thread(), ThreadPoolExecutor(cores) as pool:
        for raw in blocks:
            waiting.add(pool.submit(read, raw))
            if len(waiting) > cores:  # wait for any, not the first, which may be loading kernels
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for each in done:
                    each.result()
        for each in waiting:
            each.result()
    sums = free.pop() if free else Totals(statistics, rows)
    for others in free:
        sums.merge(others)
    return sums


def _nothing(rows: Rows) -> Chunk:
    return Chunk(rows, np.zeros((0, rows.known_dim), rows.dtype))


class Totals(Redacted):
    """Exact sums of the parts of statistics.

    Each worker makes its own, which can be pickled; they are merged in any order and in any tree.

    Args:
        statistics: the statistics to sum.
        rows: the promise, with its dimension known.
        expected: the number of cells to come, as far as it is known. Only speed depends on it.

    >>> from dpframe.statistics import Moment
    >>> once = Totals([Moment()], Rows(norm=1.0, neighbors="replace", dim=1))
    >>> for _ in range(3):
    ...     once.add({Moment(): {"moment": np.array([[2**62]])}})
    >>> once.merge(once)
    >>> once.exact()[Moment()]["moment"].tolist() == [[6 * 2**62]]
    True
    """

    def __init__(self, statistics: Sequence[Statistic], rows: Rows, *, expected: int = 0) -> None:
        self._scratch = Scratch()
        promises = {each: each.rows if isinstance(each, Under) else rows for each in statistics}
        self._maps = [
            (
                mapper(promise, self._scratch, expected=expected),
                [each for each in promises if promises[each] == promise],
            )
            for promise in dict.fromkeys(promises.values())
        ]
        self._sums = {
            each: {name: ExactSum(np.shape(zero)) for name, zero in each.partial(_nothing(promise)).items()}
            for each, promise in promises.items()
        }

    def read(self, raw: Any) -> None:
        """Map a block of raw rows, once for all statistics of a promise, and add it."""
        with np.errstate(all="ignore"):  # whether there is a warning, or an error instead, would depend on the data
            for mapped, statistics in self._maps:
                sums = [self._sums[statistic] for statistic in statistics]  # the hash of a promise takes long
                for chunk in mapped(raw):
                    for statistic, parts in zip(statistics, sums, strict=True):
                        statistic.add_to(chunk, parts)

    def finish(self) -> None:
        """Free the buffers for reading, before the totals are kept for long; more may still be read."""
        self._scratch.clear()

    def add(self, parts: Mapping[Statistic, Parts]) -> None:
        """Add the parts of some rows."""
        for statistic, sums in self._sums.items():
            for name, part in parts[statistic].items():
                sums[name].add(np.asarray(part))

    def merge(self, other: Totals) -> None:
        """Add the totals of other rows; the statistics must be the same, in the same order."""
        for sums, others in zip(self._sums.values(), other._sums.values(), strict=True):
            for name, part in others.items():
                sums[name].merge(part)

    def exact(self) -> dict[Statistic, Parts]:
        """The totals: int64 where that leaves headroom for noise, Python integers otherwise."""
        return {each: {name: part.exact() for name, part in sums.items()} for each, sums in self._sums.items()}
