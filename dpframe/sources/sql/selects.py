"""SELECTs of which each reads the one before, as one statement."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from dpframe.sources.sql.dialect import Dialect


@attrs.frozen
class Selects:
    """Rows that are computed step by step.

    Args:
        start: the table or subquery that the first SELECT reads, as it stands in FROM.
        steps: for each SELECT, in order, its items and what follows FROM.
    """

    start: str
    steps: tuple[tuple[str, str], ...] = ()

    def then(self, items: Sequence[str], rest: str = "") -> Selects:
        """One SELECT more.

        Args:
            items: its columns.
            rest: what follows what it reads, such as a condition.
        """
        return Selects(self.start, (*self.steps, (", ".join(items), rest)))

    def statement(self, items: Sequence[str], dialect: Dialect) -> str:
        """A SELECT of these rows: with the others in it, or after WITH where an engine limits how deep they nest."""
        if dialect.nests:
            source = self.start
            for columns, rest in self.steps:
                source = f"(SELECT {columns} FROM {source} AS r{rest})"
            return f"SELECT {', '.join(items)} FROM {source} AS r"
        prefix = "s"
        while f'"{prefix}' in self.start.casefold():  # a table of such a name would be one of these SELECTs
            prefix += "_"
        sources = [self.start, *(f"{prefix}{at}" for at in range(len(self.steps)))]
        named = [
            f"{name} AS (SELECT {columns} FROM {source} AS r{rest})"
            for name, (columns, rest), source in zip(sources[1:], self.steps, sources, strict=False)
        ]
        first = f"WITH {', '.join(named)} " if named else ""
        return f"{first}SELECT {', '.join(items)} FROM {sources[-1]} AS r"
