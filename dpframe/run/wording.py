"""The promise of a plan in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.accounting.auto import accountant
from dpframe.losses import ModelBased
from dpframe.rounding import format_given, format_up
from dpframe.spec.budget import NOT_WORST_CASE, ModelBudget
from dpframe.spec.matrix import NORMS, Matrix
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.plan import Plan
    from dpframe.plan.steps import Step
    from dpframe.run.statement import Line

ELSEWHERE = "; the noise of "
"""How the part about noise of other libraries begins, in `against`."""


def protected(rows: Rows) -> str:
    """Who is protected and what about them, for a promise about rows or about a matrix."""
    if isinstance(rows, Matrix):
        moved = " and ".join(
            f"{format_given(bound)} in {name}"
            for field, name in NORMS.items()
            if (bound := getattr(rows, field)) is not None
        )
        what = "whether they are in the data at all" if rows.neighbors == "add-remove" else "what their data are"
        return (
            f"each person, with everything that moves the matrix by at most {moved}, as promised by whoever computed "
            f"it, not enforced: {what} ({rows.neighbors})"
        )
    count = "one row" if rows.contributions == 1 else f"up to {rows.contributions} rows"
    people, public = f"each person, with {count}", "the number of rows is public"
    if rows.person is not None:
        people = f"each person, identified by {rows.person!r}, of whose rows {_counting(rows)} (enforced)"
        public = "the numbers of rows, of each person and in all, are public"
    if rows.neighbors == "add-remove":
        return f"{people}: whether they are in the data at all, and what their rows say (add-remove)"
    return f"{people}: what their rows say; {public} (replace)"


def _counting(rows: Rows) -> str:
    return "the first counts" if rows.contributions == 1 else f"the first {rows.contributions} count"


def against(plan: Plan) -> str:
    """Against whom the guarantee of a plan holds."""
    if isinstance(plan.spent, ModelBudget):
        return f"anyone who sees every released value, but only for data drawn from the model{_drawn_elsewhere(plan)}"
    known = "whatever else they know (short of breaking AES-256)"
    return f"anyone who sees every released value, {known}{_drawn_elsewhere(plan)}"


def drawn_elsewhere(against: str) -> str:
    """What a statement says about noise that other libraries draw; empty where there is none.

    Args:
        against: against whom its guarantee holds.
    """
    _, mark, words = against.partition(ELSEWHERE)
    return mark + words


def _drawn_elsewhere(plan: Plan) -> str:
    """Which noise is not drawn by dpframe; empty where all of it is."""
    steps: dict[str, list[str]] = {}
    for step, mechanism in plan.releases:
        if mechanism.drawn_by:
            steps.setdefault(mechanism.drawn_by, []).append(repr(step.name))
    return "".join(
        f"{ELSEWHERE}{', '.join(names)} is drawn inside {library}, by random numbers that dpframe does not check"
        for library, names in steps.items()
    )


def row_map(rows: Rows) -> str:
    """How rows, or a matrix, are mapped before anything is computed from them."""
    if isinstance(rows, Matrix):
        part = "Hermitian" if rows.complex else "symmetric"
        return (
            f"a matrix that was computed elsewhere: its {part} part, rounded to multiples of {rows.step**2:.3g}; an "
            f"entry that is no finite number counts as 0, one beyond ±{rows.largest:.3g} as that"
        )
    cells = "" if rows.columns is None else "cells clipped to public ranges and mapped to [-1, 1]; "
    if rows.complex:
        cells = "complex numbers; "
    centered = "; a constant coordinate is added, so that results can be centered" if rows.center else ""
    released = rows.awaited
    about = "" if rows.about is None else f"taken about {_point(released, 'about', 'a public center')}; "
    scale = "" if rows.scale is None else f"divided by {_point(released, 'scale', 'public scales')}; "
    linear = "" if rows.linear is None else f"multiplied by {_point(released, 'linear', 'a public matrix')}; "
    if "norm" in released:
        length = f"longer rows scaled down to the length that {released['norm']!r} releases"
    elif rows.norm is None and released:
        length = "none can be longer than the ranges allow"
    else:
        length = f"longer rows scaled down to length {_length(rows)}"
    return f"{cells}{about}{scale}{linear}{length}{centered}"


def _point(released: dict[str, str], part: str, public: str) -> str:
    return f"what {released[part]!r} releases" if part in released else public


def _length(rows: Rows) -> str:
    return f"{rows.length:.6g}" if rows.norm is None else format_given(rows.length)


def when_it_holds(plan: Plan, step: Step) -> str:
    """For which data the guarantee of a release holds.

    Args:
        plan: the plan.
        step: one of its releases.
    """
    models = dict.fromkeys(
        f"{loss.model}, except with probability {loss.failure}"
        for loss in plan.pricing.losses[step.name]
        if isinstance(loss, ModelBased)
    )
    if models:
        return f"{NOT_WORST_CASE}, under the model {' and '.join(models)}"
    if step.name in plan.modeled:
        return f"{NOT_WORST_CASE}, since its input has none; if that input were public"
    return "worst case"


def strength(plan: Plan, lines: tuple[Line, ...]) -> str:
    """The guarantee in words, with the slack of floating-point arithmetic where there is any.

    Args:
        plan: the plan.
        lines: its steps as reports show them.
    """
    figures = f"epsilon = {format_given(plan.budget.epsilon)}, delta = {format_given(plan.budget.delta)}"
    slacks = [line.slack for line in lines]
    if None in slacks:
        numerics = "; in exact arithmetic, with a numerical slack that is stated once the dimension is known"
    elif any(slacks):
        total = sum(map(float, filter(None, slacks)))
        numerics = f"; in exact arithmetic, with a numerical slack of about {total:.1e} in delta"
    else:
        numerics = ""
    if isinstance(plan.spent, ModelBudget):
        return f"{plan.spent.caveat}: {figures}{numerics}{_apart(plan)}"
    every = "data set"
    if isinstance(plan.rows, Matrix):
        every = "matrix that keeps the promise"
    return f"{figures}, for every possible {every} (worst case, no model of the data{numerics})"


def slack_of_runs(slack: float) -> str:
    """The numerical slack of all runs of a data set.

    Args:
        slack: in delta, at the epsilon of the budget.
    """
    return f"some releases hold in exact arithmetic: over all runs, a numerical slack of about {slack:.1e} in delta"


def _apart(plan: Plan) -> str:
    """The worst-case guarantee of the releases that do not rest on a model, published without the others.

    A release with an input that rests on a model may reveal that input, so it is not among them.
    """
    others = [loss for step, parts in plan.pricing.losses.items() if step not in plan.modeled for loss in parts]
    if not others:
        return ""
    epsilon = accountant(plan.accountant).epsilon(others, plan.budget.delta)
    figure = format_up(epsilon, plan.budget.epsilon)
    return f" (the releases that need no model, without the others, are worst case with epsilon = {figure})"
