"""A table whose statistics are computed by its engine: checked before the charge, read from one snapshot after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError, DPFrameError
from dpframe.interfaces import Statistic
from dpframe.reading.private_data import Parts
from dpframe.reading.totals import Totals
from dpframe.sources.opened import Meter, Opened, check_names, declared, is_panic
from dpframe.sources.sql import self_test
from dpframe.sources.sql.cells import Cells
from dpframe.sources.sql.engine import Engine
from dpframe.sources.sql.row_map import RowMap
from dpframe.sources.sql.statements import Compiled, check_expressible, compiled
from dpframe.spec.rows import Rows

T = TypeVar("T")


class Pushed(Redacted):
    """An opened table of an engine.

    Args:
        engine: its connection.
        rows: the promise.
        order: the names of columns that order the rows of a person.
    """

    def __init__(self, engine: Engine, rows: Rows, order: tuple[str, ...]) -> None:
        self._engine, self._order, self._begun, self._is_one_statement = engine, order, False, True
        why = "cannot be read by this connection; is it there, and may it be read?"
        self._cells = self._beforehand(lambda: self._opened(rows), why)

    def check(self, statistics: Sequence[Statistic], rows: Rows, passes: int = 1) -> None:
        """Refuse statistics that cannot be computed here, or an engine whose integers differ; nothing is read.

        Args:
            statistics: the statistics of a plan, whose promises may have numbers that are yet to be released.
            rows: the promise of the plan.
            passes: how often the plan reads the data.
        """
        for statistic in statistics:
            check_expressible(statistic, rows)
        self._beforehand(lambda: self._tested(statistics, rows, passes), "does not allow a self-test on made-up rows")

    def accumulate(self, statistics: Sequence[Statistic], rows: Rows, meter: Meter) -> dict[Statistic, Parts]:
        """Exact totals of the statistics, each of them a few integers of the engine, from one snapshot for all passes.

        Args:
            statistics: the statistics to sum.
            rows: the promise, with its norm known.
            meter: records the number of rows, so that passes can be compared.
        """
        return self._withheld(lambda: self._accumulated(statistics, rows, meter), "could not be computed by its engine")

    def close(self) -> None:
        """End the transaction; where the connection is gone, so is the transaction."""
        if self._begun:
            self._begun = False
            with suppress(Exception):
                self._engine.end()

    def __iter__(self) -> Iterator[Opened]:
        """Refused: rows stay where they are."""
        raise DataError(
            "the rows of a table inside a database are not read one by one; pass a query without push=True."
        )

    # -- before the charge ---------------------------------------------------------------------------------------------

    def _beforehand(self, work: Callable[[], T], why: str) -> T:
        """Work in a transaction that ends with it."""

        def within() -> T:
            with self._engine.snapshot():
                return work()

        return self._withheld(within, why)

    def _opened(self, rows: Rows) -> Cells:
        """The cells of the table, with its names and types checked; no row is read."""
        engine, columns = self._engine, declared(rows)
        found = engine.fields()
        check_names([name for name, _ in found], columns, engine.where)
        folded = [name.casefold() for name, _ in found]
        for name in (*(column.name for column in columns), *self._order):
            if folded.count(name.casefold()) > 1:
                raise DataError(f"{engine.where} has more than one column {name!r} but for upper and lower case.")
        if absent := [name for name in self._order if name not in dict(found)]:
            raise DataError(f"{engine.where} has no column {absent[0]!r}, which order= names.")
        number = engine.row_number() if rows.person is not None and not self._order else None
        cells = Cells(engine.dialect, engine.source, dict(found), self._order, number, engine.is_stored())
        cells.check(rows, engine.where)
        engine.check_select(_all(cells, rows))
        return cells

    def _tested(self, statistics: Sequence[Statistic], rows: Rows, passes: int) -> None:
        dialect, asked = self._engine.dialect, 0
        same = [1] == list(self._engine.row(self_test.conversions(dialect)))
        for statistic, own in (each for given in statistics for each in self_test.assumed(given, rows)):
            is_split = self._cells.is_stored and own.person is None
            table = self_test.tried(own, (RowMap(own, dialect).near() or {}) if is_split else {})
            work = compiled(statistic, own, dialect, self_test.MadeUp(table, dialect, is_split))
            asked += sum(len(each.selects) for each in work.statements)
            _, parts = self._answered(work)
            found = {name: np.asarray(part).ravel().tolist() for name, part in parts.items()}
            same &= found == self_test.expected(statistic, own, table)
        if not same:
            raise DataError(
                f"this {dialect.name} does not compute the integers of the plan: a self-test on made-up rows gave "
                "others, so its arithmetic or its settings are not what the proof needs. Read the rows instead."
            )
        self._is_one_statement = max(asked, passes) == 1
        self._check_inside(rows)

    def _check_inside(self, rows: Rows) -> None:
        """Refuse rows that no transaction holds to one state, unless one statement reads them."""
        if not self._is_one_statement and self._engine.is_outside(_all(self._cells, rows)):
            raise DataError(
                f"{self._engine.where} reads what is in no table of this database, such as a file, or draws a sample, "
                "and the plan needs several statements: nothing holds them to one state of it. Make a table of it "
                "first, or read the rows instead: pass the files, or a query without push=True."
            )

    # -- after the charge ----------------------------------------------------------------------------------------------

    def _accumulated(self, statistics: Sequence[Statistic], rows: Rows, meter: Meter) -> dict[Statistic, Parts]:
        meter.start()
        if not self._begun:
            self._engine.begin()
            self._begun = True
            same = dict(self._engine.fields()) == self._cells.fields
            if not same or (self._cells.is_stored and not self._engine.is_stored()):
                raise DataError(f"{self._engine.where} has other columns, or other types, than when it was checked.")
            self._check_inside(rows)
        totals, found, counts = Totals(statistics, rows), {}, set()
        for statistic in statistics:
            work = compiled(statistic, rows, self._engine.dialect, self._cells)
            count, found[statistic] = self._answered(work)
            counts.add(count)
        meter.rows = self._agreed(counts)
        meter.finish()
        totals.add(found)
        return totals.exact()

    def _answered(self, work: Compiled) -> tuple[int, Parts]:
        """The number of rows that contribute, and the parts of a statistic."""
        answers = [each.answer(self._engine.row) for each in work.statements]
        count = self._agreed({count for count, _ in answers})
        return count, work.parts(count, [sums for _, sums in answers])

    def _agreed(self, counts: set[int]) -> int:
        """The number of rows, on which all statements agree."""
        if len(counts) > 1:
            raise DataError(f"{self._engine.where} gave other rows to two statements of one transaction.")
        return counts.pop()

    def _withheld(self, work: Callable[[], T], why: str) -> T:
        """Call the engine; an error of it is replaced by our own, since its message may hold a cell."""
        try:
            return work()
        except DPFrameError:
            raise
        except BaseException as error:
            if not (isinstance(error, Exception) or is_panic(error)):
                raise
            failure = DataError(f"{self._engine.where} {why} ({type(error).__name__}).")
        raise failure


def _all(cells: Cells, rows: Rows) -> str:
    """A SELECT of the cells of a promise."""
    return f"SELECT * FROM {cells.subquery(rows)} AS r"
