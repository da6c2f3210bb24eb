"""What a section gives: rows of figures, each with its goal and, in words, whether it is met."""

from __future__ import annotations

import attrs

Value = float | str | None
"""A figure; None stands for what could not be measured."""

NOT_MEASURED = "not measured"


@attrs.frozen(kw_only=True)
class Row:
    """One line of a table.

    Args:
        what: what was measured.
        figures: values by column.
        goal: what is wanted, in words.
        verdict: whether it is met, in words; empty where there is no goal.
    """

    what: str
    figures: dict[str, Value]
    goal: str = "none"
    verdict: str = ""


@attrs.frozen(kw_only=True)
class Table:
    """The figures of one section.

    Args:
        title: what the section is about.
        notes: how it was measured, a sentence or two each.
        rows: the figures; together they make the columns.
        details: what the rows were made from, for results.json alone.
    """

    title: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    details: tuple[dict[str, Value], ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns of all rows, in the order in which they come up."""
        return list(dict.fromkeys(column for row in self.rows for column in row.figures))


def shown(value: Value) -> str:
    """A figure with four significant digits.

    >>> shown(0.99961), shown(1234.5), shown(None)
    ('0.9996', '1234', 'not measured')
    """
    if value is None:
        return NOT_MEASURED
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def at_most(value: float | None, wanted: float, *, limit: float | None = None) -> str:
    """Whether a figure is small enough.

    >>> at_most(1.4, 1.5), at_most(1.8, 1.5), at_most(1.8, 1.5, limit=2.0)
    ('met', 'not met: 1.8 instead of 1.5', 'not met: 1.8 instead of 1.5, but within 2')
    """
    if value is None:
        return NOT_MEASURED
    if value <= wanted:
        return "met"
    missed = f"not met: {shown(value)} instead of {shown(wanted)}"
    return f"{missed}, but within {shown(limit)}" if limit is not None and value <= limit else missed


def at_least(value: float | None, wanted: float) -> str:
    """Whether a figure is large enough.

    >>> at_least(7.0, 5.0), at_least(4.2, 5.0), at_least(None, 5.0)
    ('met', 'not met: 4.2 instead of 5', 'not measured')
    """
    if value is None:
        return NOT_MEASURED
    return "met" if value >= wanted else f"not met: {shown(value)} instead of {shown(wanted)}"
