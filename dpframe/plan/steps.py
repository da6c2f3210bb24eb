"""The steps of a plan: releases, which cost budget, and derivations, which are free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from dpframe import registry, validators
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, PostProcessor, Recipe

if TYPE_CHECKING:
    from dpframe.spec.budget import Budget
    from dpframe.spec.rows import Rows
    from dpframe.spec.scenario import Scenario

A = TypeVar("A")


def _check_action(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Mechanism | Recipe | PostProcessor):
        raise validators.refuse(owner, "action", "a mechanism, recipe or post-processor", value)


@attrs.frozen(kw_only=True)
class Step:
    """One named step: a mechanism with its share of the budget, a recipe of such steps, or a post-processor.

    Args:
        name: what later steps and the result call it.
        action: the mechanism, recipe or post-processor.
        weight: a free release runs at level weight · t, with one t solved for the whole plan.
        level: a fixed level in the mechanism's own unit instead.
    """

    name: str = attrs.field(validator=validators.identifier)
    action: Mechanism | Recipe | PostProcessor = attrs.field(validator=_check_action)
    weight: float = attrs.field(default=1.0, converter=validators.as_float, validator=validators.number(above=0.0))
    level: float | None = attrs.field(
        default=None,
        converter=validators.as_float,
        validator=attrs.validators.optional(validators.number(above=0.0)),
    )

    def expanded(self, rows: Rows, budget: Budget, scenario: Scenario | None) -> tuple[Step, ...]:
        """The steps that a recipe stands for in a plan; any other step stands for itself."""
        if not isinstance(self.action, Recipe):
            return (self,)
        if self.level is not None:
            raise PlanError(f"step {self.name!r}: a recipe of several releases takes weight=, not level=.")
        with self.naming():
            settled = self.action.settled(rows, budget, scenario)
        inner = settled.steps(self.name, self.weight)
        return tuple(part for step in inner for part in step.expanded(rows, budget, scenario))

    def level_at(self, scale: float) -> float:
        """The level at which the step runs when free ones run at weight · scale."""
        return self.weight * scale if self.level is None else self.level

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Put the name of the step before whatever it refuses."""
        try:
            yield
        except PlanError as error:
            raise PlanError(f"step {self.name!r}: {error}") from None


def release(name: str, mechanism: str, *, weight: float = 1.0, level: float | None = None, **parameters: Any) -> Step:
    """A step that costs budget.

    Args:
        name: the name of its result.
        mechanism: the name of an installed mechanism or recipe, such as "gaussian".
        weight: its share: free releases run at level weight · t for one t solved from the budget.
        level: a fixed level in the mechanism's unit instead of a share.
        parameters: the mechanism's own parameters.
    """
    return Step(name=name, action=_build(registry.mechanism(mechanism), name, parameters), weight=weight, level=level)


def derive(name: str, postprocessor: str, **parameters: Any) -> Step:
    """A free step: a function of released values.

    Args:
        name: the name of its result.
        postprocessor: the name of an installed post-processor, such as "top-subspace".
        parameters: its own parameters; ``of="moment"`` names the step it works on.
    """
    return Step(name=name, action=_build(registry.postprocessor(postprocessor), name, parameters))


def _build(cls: type[A], step: str, parameters: dict[str, Any]) -> A:
    fields = {field.alias: field for field in attrs.fields(cls)}  # type: ignore[arg-type]
    allowed = ", ".join(fields) or "none"
    if unknown := sorted(set(parameters) - set(fields)):
        raise PlanError(
            f"step {step!r}: {cls.name!r} has no parameter {unknown[0]!r}; its parameters are: {allowed}."  # type: ignore[attr-defined]
        )
    required = [alias for alias, field in fields.items() if field.default is attrs.NOTHING]
    if absent := [alias for alias in required if alias not in parameters]:
        raise PlanError(f"step {step!r}: {cls.name!r} needs the parameter {absent[0]!r}.")  # type: ignore[attr-defined]
    try:
        return cls(**parameters)
    except PlanError:
        raise
    except (TypeError, ValueError) as error:  # a plugin's own checks may not use ours
        raise PlanError(f"step {step!r}: {error}") from None
