"""Checks of the steps of a plan: their names, and the kinds and shapes of what they pass on to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpframe import registry
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, PostProcessor, Recipe, Statistic
from dpframe.kinds import Kind
from dpframe.plan.schedule import needed_of
from dpframe.spec.matrix import Matrix
from dpframe.spec.placement import KINDS
from dpframe.spec.refs import Shape, check_kinds, with_shapes
from dpframe.spec.rows import Rows
from dpframe.statistics import Moment

if TYPE_CHECKING:
    from dpframe.plan.plan import Plan


def check_names(plan: Plan) -> None:
    """Raise PlanError where two steps share a name, or none is a release."""
    names = [step.name for step in plan.steps]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise PlanError(f"two steps are named {repeated[0]!r}; each result needs its own name.")
    if not plan.releases:
        raise PlanError("a plan without a dp.release step releases nothing; add one.")


def check_matrix(plan: Plan) -> None:
    """Raise PlanError where a plan about a matrix that was computed elsewhere has a step that needs rows.

    It raises one, too, where that step needs a bound in a norm that is not promised.
    """
    if not isinstance(plan.rows, Matrix):
        return
    for step, mechanism in plan.releases:
        with step.naming():
            if not mechanism.matrix_norm:
                able = sorted(
                    str(each.name) for each in registry.classes("mechanism") if getattr(each, "matrix_norm", "")
                )
                raise PlanError(
                    f"{mechanism.name!r} needs the rows of people, and dp.Matrix has none. Take one of: "
                    f"{', '.join(able)}; or promise dp.Rows."
                )
            if step.rows is not None:
                raise PlanError("dp.Matrix is about a matrix as it is: leave rows= out.")
            if any(not isinstance(each, Moment) for each in mechanism.reads()):
                raise PlanError(
                    f"{mechanism.name!r} reads more than the second moment, and dp.Matrix has nothing else."
                )
            plan.rows.bound(mechanism.matrix_norm)


def checked_kinds(plan: Plan) -> dict[str, type[Kind]]:
    """The kind of every result, by step; raises PlanError where a step refers to one of another kind."""
    known: dict[str, type[Kind]] = {}
    for step in plan.steps:
        described = f"step {step.name!r}"
        if isinstance(step.action, Mechanism):
            with step.naming():
                check_complex(step.action, plan.rows_of(step))
                for statistic in step.action.reads():
                    check_complex(statistic, plan.rows_of(step))
            for statistic in step.action.reads():
                check_kinds(statistic, described, known)
                _check_rows(needed_of(plan.rows_of(step), statistic), described, known)
            check_kinds(step.action, described, known)
            known[step.name] = step.action.output(plan.rows_of(step))
        elif isinstance(step.action, PostProcessor):
            known[step.name] = step.action.output(check_kinds(step.action, described, known))
    return known


def _check_rows(parts: Mapping[str, str], described: str, known: Mapping[str, type[Kind]]) -> None:
    """Raise PlanError unless earlier steps release these parts of the promise about rows, each of its kind."""
    for part, name in parts.items():
        if name not in known:
            raise PlanError(f"{described} sees rows whose {part} is {name!r}, but no earlier step has that name.")
        if not issubclass(known[name], KINDS[part]):
            raise PlanError(f"the {part} of rows must be {KINDS[part].title}, but {name!r} gives {known[name].title}.")


def checked_shapes(plan: Plan) -> dict[str, Shape | None]:
    """The shape of every result, by step, as far as it is known; raises PlanError where it does not suit a step."""
    shapes: dict[str, Shape | None] = {}
    for step in plan.steps:
        action = with_shapes(step.action, shapes)
        assert not isinstance(action, Recipe)  # recipes are expanded
        statistics = action.reads() if isinstance(action, Mechanism) else ()
        rows = plan.rows_of(step)
        with step.naming():
            for part in (action, *statistics):
                part.check(rows)
            _check_lengths(rows, shapes)
        shapes[step.name] = action.output_shape(rows)
    return shapes


def check_complex(part: Mechanism | Statistic, rows: Rows) -> None:
    """Raise PlanError if rows are complex, and a mechanism or a statistic is not defined for them."""
    if rows.complex and not part.takes_complex:
        raise PlanError(
            f"{part.name!r} is not defined for complex rows (complex=True). Nothing was charged. Release their second "
            "moment by 'gaussian' or 'orbit'; or take real and imaginary parts as real coordinates, without complex=."
        )


def _check_lengths(rows: Rows, shapes: Mapping[str, Shape | None]) -> None:
    """Raise PlanError where a step releases a center, scales or a linear map of another size than the rows."""
    for part, name in rows.awaited.items():
        shape = shapes.get(name)
        if part == "norm" or shape is None or rows.dim is None:
            continue
        numbers = f"{rows.dim} by {rows.dim} numbers" if part == "linear" else f"{rows.dim} numbers, one per coordinate"
        if len(shape) != (2 if part == "linear" else 1) or any(each not in (None, rows.dim) for each in shape):
            raise PlanError(f"the {part} of rows must be {numbers}; {name!r} gives another shape.")
