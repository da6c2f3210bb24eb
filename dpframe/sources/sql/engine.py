"""What a run needs of a database: its schema before the charge, and a snapshot of its rows after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import ClassVar

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.sources.sql.dialect import Dialect, Field


class Engine(Redacted, ABC):
    """A table or a query of one connection.

    Args:
        parts: the name of the table, in its parts; None for a query.
        sql: the query; None for a table.
    """

    dialect: ClassVar[Dialect]

    def __init__(self, parts: tuple[str, ...] | None, sql: str | None) -> None:
        self.parts, self.sql = parts, sql

    @property
    def where(self) -> str:
        """What it is, for messages."""
        return "the query" if self.parts is None else "the table"

    @property
    def source(self) -> str:
        """The table or the query, as it stands in FROM."""
        if self.parts is not None:
            return ".".join(map(self.dialect.quoted, self.parts))
        return f"({str(self.sql).strip().rstrip(';')}\n)"  # the line may end in a comment

    @abstractmethod
    def fields(self) -> list[tuple[str, Field]]:
        """The columns, with the types that the engine declares; no row is read."""

    def row_number(self) -> str | None:
        """The engine's own column by which the rows of the table are ordered; None if there is none."""
        return None

    def is_stored(self) -> bool:
        """Whether two SELECTs of one transaction surely read the same rows: those of a table, nothing computed."""
        return False

    @abstractmethod
    def is_outside(self, sql: str) -> bool:
        """Whether a SELECT reads what no transaction of this database covers, such as a file; it is not run."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that reads one state of the table, whatever others write, and changes nothing."""

    @abstractmethod
    def row(self, sql: str) -> Sequence[object]:
        """The one row of a SELECT."""

    @abstractmethod
    def check_select(self, sql: str) -> None:
        """Let the engine check a SELECT, of which it reads no row."""

    @abstractmethod
    def end(self) -> None:
        """End the transaction, and close what was opened for it."""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A transaction that ends with the block."""
        self.begin()
        try:
            yield
        finally:
            with suppress(Exception):  # the connection may be gone; what failed before is what counts
                self.end()


def check_not_shadowed(own: Iterable[str], called: Sequence[str]) -> None:
    """Refuse an engine in which a function of somebody's own would be called in place of the engine's.

    Args:
        own: the names of functions that are not the engine's.
        called: the names of those that our statements call.
    """
    if shadowed := sorted({name.casefold() for name in own}.intersection(called)):
        raise DataError(
            f"this connection has a function named {shadowed[0]!r} that is not the engine's own and would be called in "
            "its place. Drop it, or read the rows instead: pass a query without push=True."
        )
