"""Exact totals of statistics over blocks of rows, whatever the order, the split, the threads and the machines.

A total is a sum of integers, and adding integers is associative. So blocks may be read in any order, by any number of
threads or processes, and their totals merged in any tree: the integers are the same. Sums are held in int64, and in two
such limbs where 64 bits do not hold them; see :class:`Totals`.
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
from dpframe.spec.rows import Rows

WIDE = 1 << 10
"""From this width on blocks are read one after the other, with all cores at work on each, and one matrix is kept."""


def accumulate(
    blocks: Iterable[Any], statistics: Sequence[Statistic], rows: Rows, *, expected: int = 0
) -> dict[Statistic, Parts]:
    """Exact totals of the statistics over all blocks of raw rows, on the cores of this machine.

    Args:
        blocks: raw rows.
        statistics: what is summed.
        rows: the promise, with its dimension known.
        expected: how many cells there will be, as far as that is known. Only speed depends on it.
    """
    with warnings_silenced():
        return totals(blocks, statistics, rows, expected=expected).exact()


def totals(blocks: Iterable[Any], statistics: Sequence[Statistic], rows: Rows, *, expected: int = 0) -> Totals:
    """The same, to be merged with the totals of other blocks."""
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
        except IndexError:  # all are at work; there are never more than workers
            sums = Totals(statistics, rows, expected=expected)
        try:
            sums.read(raw)
        finally:
            free.append(sums)

    waiting: set[Future[None]] = set()
    with one_blas_thread(), ThreadPoolExecutor(cores) as pool:
        for raw in blocks:
            waiting.add(pool.submit(read, raw))
            if len(waiting) > cores:  # then for any: the first may be loading compiled code meanwhile
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for each in done:
                    each.result()
        for each in waiting:
            each.result()
    sums = free.pop() if free else Totals(statistics, rows)
    for others in free:
        sums.merge(others)
    return sums


class Totals(Redacted):
    """Exact sums of the parts of statistics.

    Workers make one each, which can be pickled, and whoever gathers them merges them, in any order and in any tree.

    Args:
        statistics: what is summed.
        rows: the promise, with its dimension known.
        expected: how many cells will be read, as far as that is known. Only speed depends on it.

    >>> from dpframe.statistics import Moment
    >>> once = Totals([Moment()], Rows(norm=1.0, neighbors="replace", dim=1))
    >>> for _ in range(3):
    ...     once.add({Moment(): {"moment": np.array([[2**62]])}})
    >>> once.merge(once)
    >>> once.exact()[Moment()]["moment"].tolist() == [[6 * 2**62]]
    True
    """

    def __init__(self, statistics: Sequence[Statistic], rows: Rows, *, expected: int = 0) -> None:
        nothing = Chunk(rows, np.zeros((0, rows.known_dim)))
        self._rows = rows
        self._scratch = Scratch()
        self._map = mapper(rows, self._scratch, expected=expected)
        self._sums = {
            each: {name: ExactSum(np.shape(zero)) for name, zero in each.partial(nothing).items()}
            for each in statistics
        }

    def read(self, raw: Any) -> None:
        """Add a block of raw rows, which are mapped once for all statistics."""
        with np.errstate(all="ignore"):  # a warning, or its being an error, would depend on the data
            for chunk in self._map(raw):
                for statistic, sums in self._sums.items():
                    statistic.add_to(chunk, sums)

    def finish(self) -> None:
        """Give back the memory that reading took, where the totals are kept for long; more may still be read."""
        self._scratch.clear()

    def add(self, parts: Mapping[Statistic, Parts]) -> None:
        """Add the parts of some rows."""
        for statistic, sums in self._sums.items():
            for name, part in parts[statistic].items():
                sums[name].add(np.asarray(part))

    def merge(self, other: Totals) -> None:
        """Add the totals of other rows, of the same statistics in the same order."""
        for sums, others in zip(self._sums.values(), other._sums.values(), strict=True):
            for name, part in others.items():
                sums[name].merge(part)

    def exact(self) -> dict[Statistic, Parts]:
        """The totals: int64 where that leaves room for noise, Python integers otherwise."""
        return {each: {name: part.exact() for name, part in sums.items()} for each, sums in self._sums.items()}
