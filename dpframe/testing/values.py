"""Checks of mechanisms, statistics and post-processors as values: frozen, comparable, with validated parameters."""

from __future__ import annotations

from typing import Any

import attrs

from dpframe import discovery
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism
from dpframe.spec.refs import inputs
from dpframe.testing.checks import Failed, NotRun, check

NONSENSE = (float("nan"), object(), b"bytes")


def _role(subject: Any) -> str:
    return next(role for role, bases in discovery.ROLES.items() if isinstance(subject, bases))


def _free_fields(subject: Any) -> list[str]:
    """The parameters that are not inputs, by the names users type."""
    declared = {name for name, _, _ in inputs(subject)}
    return [str(field.alias) for field in attrs.fields(type(subject)) if field.init and field.name not in declared]


def _arguments(subject: Any) -> dict[str, Any]:
    return {field.alias: getattr(subject, field.name) for field in attrs.fields(type(subject)) if field.init}


@check("mechanism", "statistic", "postprocessor")
def frozen_value(stage: Any) -> None:
    """It is a valid frozen attrs class; instances with the same parameters are equal and have the same hash."""
    subject = stage.subject
    discovery.checked_class(_role(subject), type(subject))
    twin = type(subject)(**_arguments(subject))
    if subject != twin or hash(subject) != hash(twin):
        raise Failed(
            "two instances with the same parameters differ; decorate the class with @attrs.frozen(kw_only=True)"
        )
    for field in attrs.fields(type(subject)):
        try:
            setattr(twin, field.name, getattr(subject, field.name))
        except (attrs.exceptions.FrozenError, AttributeError):
            continue
        raise Failed(f"its field {field.name!r} can be changed; decorate the class with @attrs.frozen(kw_only=True)")


@check("mechanism", "statistic", "postprocessor")
def bad_parameters_refused(stage: Any) -> str:
    """Invalid values of a parameter are refused at construction or by check(), with an error that names it."""
    subject = stage.subject
    fields = _free_fields(subject)
    if not fields:
        raise NotRun("it has no parameters")
    for name in fields:
        for nonsense in NONSENSE:
            _must_refuse(subject, stage, name, nonsense)
    return f"refused in each of: {', '.join(fields)}"


def _must_refuse(subject: Any, stage: Any, name: str, nonsense: Any) -> None:
    try:
        made = type(subject)(**_arguments(subject) | {name: nonsense})
        for rows in getattr(stage, "rows", ()):
            made.check(rows)
            for statistic in made.reads() if isinstance(made, Mechanism) else ():
                statistic.check(rows)
    except PlanError as error:
        if name not in str(error):
            raise Failed(f"{name}={nonsense!r} is refused without naming {name!r}: {error}") from None
    except Exception as error:
        raise Failed(f"{name}={nonsense!r} gives {type(error).__name__}, not a dp.PlanError: {error}") from None
    else:
        raise Failed(f"{name}={nonsense!r} is accepted; give the field a validator, such as dp.validators.number()")
