"""The steps of a plan: releases, which cost budget, and derivations, which are free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from dpframe import registry, validators
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, PostProcessor, Recipe
from dpframe.kinds import Axes, Kind, titles
from dpframe.spec import placement
from dpframe.spec.placement import Placement, as_placement
from dpframe.spec.refs import completed, input_kinds, parameters_of

if TYPE_CHECKING:
    from dpframe.spec.budget import Budget
    from dpframe.spec.rows import Rows
    from dpframe.spec.scenario import Scenario

A = TypeVar("A")

LARGEST = 1e12  # far above every level that a budget allows; its square is still a double


def _check_action(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Mechanism | Recipe | PostProcessor):
        raise validators.refuse(owner, "action", "a mechanism, recipe or post-processor", value)


def _check_placement(owner: Step, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Placement):
        raise validators.refuse(owner, "rows", "a dictionary of about, scale, linear, norm and center", value)
    if not isinstance(owner.action, Mechanism):
        raise PlanError(f"step {owner.name!r}: only a release of one round sees rows; leave rows= out.")


@attrs.frozen(kw_only=True, repr=False)
class Step:
    """One named step: a mechanism with its share of the budget, a recipe of such steps, or a post-processor.

    Args:
        name: its name in later steps and in the result.
        action: the mechanism, recipe or post-processor.
        weight: a release without a fixed level runs at level weight · t, with one t solved for the whole plan.
        level: a fixed level instead, in the mechanism's unit.
        rows: the center, scales, norm and constant coordinate of the rows that a release sees, where they are not those
            of the plan.
    """

    name: str = attrs.field(validator=validators.identifier)
    action: Mechanism | Recipe | PostProcessor = attrs.field(validator=_check_action)
    weight: float = attrs.field(
        default=1.0, converter=validators.as_float, validator=validators.number(above=0.0, below=LARGEST)
    )
    level: float | None = attrs.field(
        default=None,
        converter=validators.as_float,
        validator=attrs.validators.optional(validators.number(above=0.0, below=LARGEST)),
    )
    rows: Placement | None = attrs.field(default=None, converter=as_placement, validator=_check_placement)

    def __repr__(self) -> str:
        """All fields, but rows only where it is given: recorded hashes of plans rest on this text."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(Step)}
        shown = {name: each for name, each in fields.items() if each is not None or name != "rows"}
        return f"Step({', '.join(f'{name}={each!r}' for name, each in shown.items())})"

    def expanded(self, rows: Rows, budget: Budget, scenario: Scenario | None, accountant: str) -> tuple[Step, ...]:
        """The steps that a recipe expands to; any other step as it is.

        Args:
            rows: the promise of the plan.
            budget: its budget.
            scenario: its assumed data, from which a recipe may choose its free parameters.
            accountant: the name of its accountant.
        """
        if not isinstance(self.action, Recipe):
            return (self,)
        if self.level is not None:
            raise PlanError(f"step {self.name!r}: a recipe of several releases takes weight=, not level=.")
        with self.naming():
            settled = self.action.settled(rows, budget, scenario, accountant)
        inner = settled.steps(self.name, self.weight)
        return tuple(part for step in inner for part in step.expanded(rows, budget, scenario, accountant))

    def with_released(self, values: Mapping[str, Kind], axes: Axes | None) -> Step:
        """The same step with the parts of its rows that are among the values.

        Args:
            values: the results so far, by step.
            axes: the coordinates of mapped rows, if they have any.
        """
        if self.rows is None:
            return self
        return attrs.evolve(self, rows=attrs.evolve(self.rows, **placement.released(self.rows, values, axes)))

    def level_at(self, scale: float) -> float:
        """The fixed level of the step, or else weight · scale.

        Args:
            scale: the common factor of the free levels.
        """
        return self.weight * scale if self.level is None else self.level

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Prefix the text of every PlanError with the name of the step."""
        try:
            yield
        except PlanError as error:
            raise PlanError(f"step {self.name!r}: {error}") from None


def completed_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps with inputs that were left out taken from earlier steps; see :func:`dpframe.plugin.input`.

    Args:
        steps: the steps, recipes expanded.
    """
    known: set[str] = set()
    done = []
    for step in steps:
        action = completed(step.action, known)
        done.append(step if action is step.action else attrs.evolve(step, action=action))
        known.add(step.name)
    return tuple(done)


def release(
    name: str,
    mechanism: str,
    *,
    weight: float = 1.0,
    level: float | None = None,
    rows: dict[str, Any] | None = None,
    **parameters: Any,
) -> Step:
    """A step that releases a result and costs budget.

    Args:
        name: the name of its result.
        mechanism: the name of an installed mechanism or recipe, such as "gaussian".
        weight: its share: releases without a fixed level run at level weight · t, with one t solved from the budget.
        level: a fixed level instead of a share, in the mechanism's unit.
        rows: what this step sees instead of the plan's rows: ``about=``, ``scale=``, ``linear=``, ``norm=`` and
            ``center=`` of `dp.Rows`, such as ``{"about": dp.ref("center"), "norm": dp.ref("radius")}``.
        parameters: the parameters of the mechanism.
    """
    return made("release", name, mechanism, parameters, weight=weight, level=level, rows=rows)


def derive(name: str, postprocessor: str, **parameters: Any) -> Step:
    """A step that computes a function of released values, which is free.

    Args:
        name: the name of its result.
        postprocessor: the name of an installed post-processor, such as "top-subspace".
        parameters: the parameters of the post-processor; ``of="moment"`` names the step that it is applied to.
    """
    return made("derive", name, postprocessor, parameters)


def moment_steps(mechanism: str, task: str, *, rows: Rows, k: int | None) -> list[Step] | None:
    """The steps of a task of `dpframe.compare` with a mechanism that releases the second moment, or None.

    Args:
        mechanism: the name of the mechanism.
        task: the task.
        rows: the promise; from centered rows the covariance is derived first.
        k: the number of directions or eigenvalues.
    """
    steps = [release("moment", mechanism)]
    if rows.center:
        steps.append(derive("covariance", "covariance", of="moment"))
    if task == "moment":
        return steps
    tasks = {
        "subspace": ("components", "top-subspace"),
        "low-rank": ("estimate", "rank-k"),
        "eigenvalues": ("spectrum", "eigenvalues"),
    }
    if task not in tasks:
        return None
    name, postprocessor = tasks[task]
    return [*steps, derive(name, postprocessor, of=steps[-1].name, k=k)]


def made(role: str, name: str, action: str, parameters: Mapping[str, Any], **shares: Any) -> Step:
    """The step of `release` and `derive`, for parameters of any names: those of a file may be "name" or "mechanism".

    Args:
        role: "release" or "derive".
        name: the name of the result.
        action: the name of an installed mechanism, recipe or post-processor.
        parameters: its parameters.
        shares: weight and level of a release.
    """
    found: type[Any] = registry.mechanism(action) if role == "release" else registry.postprocessor(action)
    return Step(name=name, action=_build(found, name, parameters), **shares)


def _build(cls: type[A], step: str, parameters: Mapping[str, Any]) -> A:
    fields = parameters_of(cls)
    required = [alias for alias, field in fields.items() if field.default is attrs.NOTHING]
    problems = []
    if unknown := sorted(set(parameters) - set(fields)):
        problems.append(f"has no parameter {unknown[0]!r}; its parameters are: {', '.join(fields) or 'none'}.")
    if absent := [alias for alias in required if alias not in parameters]:
        problems.append(f"needs the parameter {absent[0]!r}{_taking(fields[absent[0]])}.")
    if problems:
        raise PlanError(f"step {step!r}: {cls.name!r} {' It '.join(problems)}")  # type: ignore[attr-defined]
    try:
        return cls(**parameters)
    except PlanError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:  # raised by a plugin's own validation
        raise PlanError(f"step {step!r}: {error}") from None


def _taking(field: attrs.Attribute[Any]) -> str:
    """What an input takes, and which installed steps give it; nothing for a parameter that is no input."""
    kinds = input_kinds(field)
    if not kinds:
        return ""
    makers = {"release": registry.classes("mechanism"), "derive": registry.classes("postprocessor")}
    giving = [
        f'dp.{maker}(..., "{cls.name}")'
        for maker, classes in makers.items()
        for cls in classes
        if issubclass(getattr(cls, "gives", object), kinds)
    ]
    steps = f", such as {' or '.join(giving[:3])}" if giving else ""
    return f": {titles(kinds)}, as numbers or by {field.alias}=dp.ref(name) from an earlier step that gives one{steps}"
