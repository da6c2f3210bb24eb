"""The schedule of a run: which steps are due after which pass over the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from dpframe.interfaces import Mechanism, Statistic
from dpframe.kinds import Kind
from dpframe.plan.steps import Step
from dpframe.reading.under import under
from dpframe.spec import placement
from dpframe.spec.refs import references, resolve
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.plan.plan import Plan


@attrs.frozen
class Pass:
    """One pass over the data, and the steps that are due after it, in the order of the plan.

    Args:
        number: 1 for the first pass; 0 for steps that need no data.
        steps: the steps that are due once the pass is over.
    """

    number: int
    steps: tuple[Step, ...]

    def statistics(self, rows: Rows, values: Mapping[str, Kind]) -> tuple[Statistic, ...]:
        """The statistics that are read in this pass, each once.

        Args:
            rows: the promise of the plan.
            values: the results of earlier passes, by step.
        """
        wanted = (each for step in self.steps for _, each in statistics_of(step, rows, values))
        return tuple(dict.fromkeys(wanted))


def schedule(plan: Plan) -> tuple[Pass, ...]:
    """The passes over the data, in order. The inputs of a step are known after the same pass or an earlier one."""
    numbers = passes(plan)
    due = {number: tuple(step for step in plan.steps if numbers[step.name] == number) for number in numbers.values()}
    return tuple(Pass(number, due[number]) for number in sorted(due))


def passes(plan: Plan) -> dict[str, int]:
    """For each step, the number of passes over the data that its result needs.

    A statistic without references is read in the first pass; one that refers to a result, in the pass after it.
    """
    known: dict[str, int] = {}
    for step in plan.steps:
        after = max((known[name] for name in references(step.action)), default=0)
        if isinstance(step.action, Mechanism):
            rows = plan.rows.seen_by(step.rows)
            needed = [known[name] for statistic in step.action.reads() for name in needs(statistic, rows)]
            after = max(after, 1 + max(needed, default=0))
        known[step.name] = after
    return known


def needs(statistic: Statistic, rows: Rows) -> tuple[str, ...]:
    """The steps whose results must be known before a statistic can be read.

    Args:
        statistic: the statistic.
        rows: the promise, whose norm, center and scales may be results of steps.
    """
    return (*references(statistic), *needed_of(rows, statistic).values())


def inputs_of(step: Step, rows: Rows) -> tuple[str, ...]:
    """The steps whose results a step needs, for itself or for the statistics that it reads, each once.

    Args:
        step: the step.
        rows: the promise of the plan.
    """
    reads = step.action.reads() if isinstance(step.action, Mechanism) else ()
    own = rows.seen_by(step.rows)
    needed = (*references(step.action), *(name for statistic in reads for name in needs(statistic, own)))
    return tuple(dict.fromkeys(needed))


def needed_of(rows: Rows, statistic: Statistic) -> dict[str, str]:
    """The steps that release the parts of the promise that a statistic depends on, by part.

    Args:
        rows: the promise.
        statistic: the statistic.
    """
    parts = {"mapped": (), "placed": placement.MOVES, "clipped": tuple(placement.KINDS)}[statistic.sees]
    return {part: step for part, step in rows.awaited.items() if part in parts}


def statistics_of(step: Step, rows: Rows, values: Mapping[str, Kind]) -> tuple[tuple[Statistic, Statistic], ...]:
    """The statistics that a step reads, with their references resolved; each beside that which is read for it.

    The other references of the step are not resolved: they may be to results of the same pass.

    Args:
        step: the step.
        rows: the promise of the plan.
        values: the results of earlier passes, by step.
    """
    reads = step.action.reads() if isinstance(step.action, Mechanism) else ()
    resolved = (resolve(statistic, values) for statistic in reads)
    return tuple((statistic, under(statistic, rows.seen_by(step.rows), rows, values)) for statistic in resolved)


def declared_statistics(plan: Plan) -> tuple[Statistic, ...]:
    """The statistics that a plan reads in all passes, each once, with references that are not resolved yet."""
    return tuple(
        dict.fromkeys(
            under(statistic, plan.rows.seen_by(step.rows), plan.rows, {})
            for step in plan.steps
            if isinstance(step.action, Mechanism)
            for statistic in step.action.reads()
        )
    )
