"""Derivations: applied to released values in a run, and tried on made-up values before the charge."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpframe.errors import PlanError, described
from dpframe.interfaces import Mechanism
from dpframe.kinds import Kind
from dpframe.plan import Plan
from dpframe.plan.steps import Step
from dpframe.reading.process_state import one_blas_thread, warnings_silenced
from dpframe.run.made_up import CONSTANT, IMAGINED, Imagined, made_up
from dpframe.run.noise_law import with_inputs
from dpframe.spec.refs import references

LARGEST = 128
"""Derivations are tried for rows of at most this many coordinates, where that takes little time."""


class WrongKind(Exception):
    """Raised when a step gives another kind than it declares, or a value that a later step cannot use."""


def derived(plan: Plan, step: Step, values: Mapping[str, Kind]) -> Kind:
    """The value of a derivation, of the kind that the plan expects.

    Args:
        plan: the plan.
        step: the derivation.
        values: the results so far, by step.
    """
    with np.errstate(all="ignore"):  # whether NumPy warns or raises would depend on the values
        return of_its_kind(plan, step, with_inputs(plan, step, values).apply())


def of_its_kind(plan: Plan, step: Step, value: Kind) -> Kind:
    """The value; raises WrongKind where it is not of the kind that the plan expects of the step.

    Args:
        plan: the plan.
        step: the step.
        value: the value that it gave.
    """
    if not isinstance(value, plan.kinds[step.name]):
        raise WrongKind(f"it gave a {type(value).__name__} instead of {plan.kinds[step.name].title}.")
    return value


def rehearse(plan: Plan) -> None:
    """Try all derivations on made-up values, as far as shapes are known; raises PlanError where one cannot succeed.

    A derivation may rightly fail on some values. So it is refused only if it fails on imagined data of every shape:
    much and little noise, strong directions and none. What it says then depends on nothing but the plan.

    Args:
        plan: the plan, for rows of a known dimension.
    """
    if plan.rows.width > LARGEST:
        return
    with warnings_silenced(), one_blas_thread():
        failing = _failures(plan, IMAGINED[0])
        for imagined in IMAGINED[1:]:
            if not failing:
                return
            again = _failures(plan, imagined)
            failing = {name: words for name, words in failing.items() if name in again}
    for name, words in failing.items():
        raise PlanError(
            f"step {name!r} fails on made-up values of the shapes that this plan releases: {words.rstrip('.')}. "
            "Nothing was charged, read or drawn. Mend the derivation or its parameters; or leave the step out, and "
            "apply it to the result."
        )


def _failures(plan: Plan, imagined: Imagined) -> dict[str, str]:
    """What the derivations that fail say, by step. Those of values that cannot be made up are left out."""
    values: dict[str, Kind] = {}
    failures: dict[str, str] = {}
    for step in plan.steps:
        if isinstance(step.action, Mechanism):
            value = _released(plan, step, imagined)
            if value is not None:
                values[step.name] = value
        elif all(name in values for name in references(step.action)):
            try:
                values[step.name] = derived(plan, step, values)
            except (Exception, SystemExit) as error:
                failures[step.name] = str(error) if isinstance(error, WrongKind) else described(error)
    return failures


def _released(plan: Plan, step: Step, imagined: Imagined) -> Kind | None:
    """A made-up release."""
    assert isinstance(step.action, Mechanism)
    rows = plan.rows_of(step)
    known = not rows.awaited
    return made_up(
        plan.kinds[step.name],
        plan.shapes[step.name],
        imagined,
        length=rows.length if known else 1.0,
        constant=rows.constant * rows.step if known else CONSTANT,
        axes=(rows if known else rows.unplaced).axes,
    )
