"""Error bars of the values of a run: laws of releases and derivations, computed when they are asked for, once.

Everything here is a function of released values and of the plan: post-processing, which costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, PostProcessor
from dpframe.intervals.interval import Interval, check_confidence
from dpframe.intervals.law import Law
from dpframe.intervals.redrawn import RedrawnLaw
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray
from dpframe.run.derivations import derived
from dpframe.run.noise_law import with_inputs
from dpframe.spec.refs import Ref, inputs, references, resolve
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.plan import Plan
    from dpframe.plan.steps import Step

DRAWS = 400  # of releases, for derivations that state no law
CONFIDENCE = 0.95
"""The confidence of intervals in reports and files."""

SAMPLING = (None, "normal")
LARGEST = 200_000
"""Values of more numbers are shown and written without intervals, which take time to find and to write."""

PATIENCE = 2.0
"""Seconds for which releases are redrawn for a report; where it takes longer, that waits until it is asked for."""

TRIED = 3  # draws, the fastest of which says how long all of them take
ASK = "result.interval({name!r}) finds it."
NOT_WRITTEN = "this result was written without error bars"


class Bars(Protocol):
    """The error bars of the values of a result."""

    def interval(self, name: str, confidence: float, sampling: str | None) -> Interval:
        """The interval of a value; raises PlanError where it is not known."""

    def standard_error(self, name: str) -> FloatArray:
        """The standard error of a value; raises PlanError where it is not known."""

    def shown(self, name: str) -> Interval | None:
        """The interval of a value for reports and files; None where there is none, or where it would take long."""

    def why_not_shown(self, name: str) -> str:
        """Why a value has no interval in reports and files, in words; "" where it has one."""


class ErrorBars:
    """The error bars of the values of one run.

    Args:
        plan: the plan, for rows of a known dimension.
        values: the values of the run, by step.
    """

    def __init__(self, plan: Plan, values: Mapping[str, Kind]) -> None:
        self.plan, self.values = plan, dict(values)
        self._steps = {step.name: step for step in plan.steps}
        self._stated: dict[str, Law | None] = {}
        self._redrawn: dict[str, Law | None] = {}
        self._slow: set[str] = set()
        self._intervals: dict[tuple[str, float, bool], Interval] = {}

    def interval(self, name: str, confidence: float, sampling: str | None) -> Interval:
        """The interval of a value; raises PlanError where nothing is known about its noise.

        Args:
            name: the name of the step.
            confidence: the confidence.
            sampling: None, or "normal" to include the sampling error of a normal population.
        """
        if sampling not in SAMPLING:
            raise PlanError(f"sampling must be None, or 'normal' for rows from a normal population; got {sampling!r}.")
        key = (name, check_confidence(confidence), sampling is not None)
        if key not in self._intervals:
            with np.errstate(all="ignore"):
                self._intervals[key] = self._known(name).interval(key[1], sampled=key[2])
        return self._intervals[key]

    def standard_error(self, name: str) -> FloatArray:
        """The standard error of a value; raises PlanError where nothing is known about its noise.

        Args:
            name: the name of the step.
        """
        with np.errstate(all="ignore"):
            error = np.array(self._known(name).standard_error())
        error.setflags(write=False)
        return error

    def shown(self, name: str) -> Interval | None:
        """See :class:`Bars`: also None where redrawing takes long or fails. What was paid for is shown in any case.

        Args:
            name: the name of the step.
        """
        if name not in self.values or self.values[name].array.size > LARGEST:
            return None
        with suppress(Exception):
            if not isinstance(self.law(name, within=PATIENCE), Law):
                return None
            found = self.interval(name, CONFIDENCE, None)
            return found if found.low.shape == self.values[name].array.shape else None
        return None

    def why_not_shown(self, name: str) -> str:
        """See :class:`Bars`.

        Args:
            name: the name of the step.
        """
        if self.shown(name) is not None:
            return ""
        if self.values[name].array.size > LARGEST:
            return f"its error is not shown: it has more than {LARGEST} numbers. {ASK.format(name=name)}"
        with suppress(Exception):
            if name in self._slow:
                return f"its error is not shown: finding it takes long. {ASK.format(name=name)}"
            if self.law(name, within=PATIENCE) is None:
                return f"its error is not known: {self._reason(name)}"
        return "its error is not known: finding it failed."

    def _known(self, name: str) -> Law:
        law = self.law(name)
        if law is None:
            raise PlanError(
                f"the error of {name!r} is not known: {self._reason(name)} A release that states its noise has error "
                "bars, and so has what is derived from it."
            )
        return law

    def _reason(self, name: str) -> str:
        step = self._steps[name]
        if np.iscomplexobj(self.values[name].array):
            return "intervals are of real numbers, and it is complex. The table of releases states the noise."
        if isinstance(step.action, Mechanism):
            return step.action.law_unknown or f"{step.action.name!r} does not say how its noise is distributed."
        unknown = [each for each in references(step.action) if self.law(each) is None]
        if unknown:
            return f"that of {', '.join(map(repr, unknown))} is not known either."
        return f"{step.action.name!r} states no law for such inputs, and they cannot be drawn again."

    def law(self, name: str, *, redrawing: bool = True, within: float = math.inf) -> Law | None:
        """The law of a value; None where it is not known.

        Args:
            name: the name of the step.
            redrawing: whether releases are redrawn where a derivation states no law.
            within: the seconds that this may take.
        """
        with np.errstate(all="ignore"):
            if name not in self._stated:
                self._stated[name] = self._law(self._steps[name])
            if self._stated[name] is None and redrawing and name not in self._redrawn:
                self._redraw(name, within)
        return self._stated[name] or self._redrawn.get(name)

    def _law(self, step: Step) -> Law | None:
        value = self.values.get(step.name)
        if value is None:
            return None
        laws = {
            field: law
            for field, _, source in inputs(step.action)
            if isinstance(source, Ref) and (law := self.law(source.name, redrawing=False)) is not None
        }
        if isinstance(step.action, Mechanism):
            mechanism, rows, level = self._released(step)
            return None if rows is None else mechanism.law(value, rows, level, laws)
        return with_inputs(self.plan, step, self.values).result_law(laws)

    def _released(self, step: Step) -> tuple[Mechanism, Rows | None, float]:
        """The mechanism of a release with its inputs, its rows, if they are known, and its level."""
        rows = self.plan.rows_of(step).with_released(self.values)
        known = None if rows.awaited or rows.dim is None else rows
        mechanism = resolve(step.action, self.values)
        assert isinstance(mechanism, Mechanism)
        return mechanism, known, self.plan.pricing.levels[step.name]

    def _redraw(self, name: str, within: float) -> None:
        """Note the law of a derivation from redrawn releases, or that it takes longer than it may."""
        if name in self._slow and within < math.inf:
            return
        try:
            self._redrawn[name] = self._from_redrawn(self._steps[name], within)
        except _TakesLong:
            self._slow.add(name)

    def _from_redrawn(self, step: Step, within: float) -> Law | None:
        """The law of a derivation from redrawn releases; None where one of them cannot be drawn again."""
        if isinstance(step.action, Mechanism) or step.name not in self.values:
            return None
        chain = self._chain(step)
        releases = [(each, *self._released(each)) for each in chain if isinstance(each.action, Mechanism)]
        random = np.random.default_rng(0)  # post-processing: the seed need not be secret
        draws, fastest = [], math.inf
        for number in range(DRAWS):
            begun = time.perf_counter()
            values = dict(self.values)
            for each, mechanism, rows, level in releases:
                again = None if rows is None else mechanism.redraw(self.values[each.name], rows, level, random)
                if again is None:
                    return None
                values[each.name] = again
            for each in chain:
                if isinstance(each.action, PostProcessor):
                    values[each.name] = derived(self.plan, each, values)
            draws.append(values[step.name])
            fastest = min(fastest, time.perf_counter() - begun)
            if number == TRIED and DRAWS * fastest > within:
                raise _TakesLong
        return RedrawnLaw.of(self.values[step.name], draws)

    def _chain(self, step: Step) -> list[Step]:
        """The steps that are redrawn for a derivation: it, and those that it depends on, in the order of the plan.

        What placed the rows of a release among them (a center, a radius) stays as it was: the release that is drawn
        again is one about the same center.
        """
        placed = {
            name
            for each in self._needed(step, frozenset())
            if isinstance(each.action, Mechanism)
            for name in self.plan.rows_of(each).awaited.values()
        }
        return self._needed(step, placed)

    def _needed(self, step: Step, kept: Collection[str]) -> list[Step]:
        """A step and those that it depends on through its inputs, without the ones that are kept as they are."""
        needed, todo = set(), [step.name]
        while todo:
            name = todo.pop()
            if name not in needed and (name == step.name or name not in kept):
                needed.add(name)
                action = self._steps[name].action
                todo += references(action) if isinstance(action, PostProcessor) else ()
        return [each for each in self.plan.steps if each.name in needed]


class _TakesLong(Exception):
    """Raised where redrawing would take longer than it may."""


@attrs.frozen(eq=False)
class StoredBars:
    """The error bars that a result file holds.

    Args:
        intervals: the intervals, by step.
        errors: the standard errors, by step.
        reasons: why others have none, in words, by step.
    """

    intervals: dict[str, Interval]
    errors: dict[str, FloatArray]
    reasons: dict[str, str] = attrs.field(factory=dict)

    def interval(self, name: str, confidence: float, sampling: str | None) -> Interval:
        """See :class:`Bars`: as it was written."""
        found = self.shown(name)
        if found is None:
            raise PlanError(f"the file of this result holds no interval of {name!r}.")
        if (confidence, sampling) != (found.confidence, None):
            raise PlanError(
                f"the file of this result holds intervals at confidence={found.confidence:g} for the noise alone; got "
                f"confidence={confidence!r}, sampling={sampling!r}. The result of the run itself has others."
            )
        return found

    def standard_error(self, name: str) -> FloatArray:
        """See :class:`Bars`: as it was written."""
        if name not in self.errors:
            raise PlanError(f"the file of this result holds no standard error of {name!r}.")
        return self.errors[name]

    def shown(self, name: str) -> Interval | None:
        """See :class:`Bars`."""
        return self.intervals.get(name)

    def why_not_shown(self, name: str) -> str:
        """See :class:`Bars`: as it was written."""
        return "" if name in self.intervals else self.reasons.get(name, f"its error is not known: {NOT_WRITTEN}.")


def dump_interval(interval: Interval, error: FloatArray) -> dict[str, Any]:
    """An interval and a standard error as plain data.

    Args:
        interval: the interval.
        error: the standard error.
    """
    return {
        "confidence": interval.confidence,
        "low": interval.low.tolist(),
        "high": interval.high.tolist(),
        "determined": interval.determined.tolist(),
        "simultaneous": interval.simultaneous,
        "approximate": interval.approximate,
        "method": interval.method,
        "angle_degrees": interval.angle_degrees,
        "standard_error": error.tolist(),
    }
