"""The noise of released and derived values, as far as it is known: a function of the plan and of released values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from dpframe.interfaces import Mechanism, PostProcessor
from dpframe.kinds import Kind
from dpframe.plan import Plan
from dpframe.plan.steps import Step
from dpframe.spec.refs import Ref, noise_fields, resolve


def with_inputs(plan: Plan, step: Step, values: Mapping[str, Kind]) -> PostProcessor:
    """The post-processor of a derivation, with the values of its inputs and the noise that it asks for.

    Args:
        plan: the plan.
        step: the derivation.
        values: the results so far, by step.
    """
    assert isinstance(step.action, PostProcessor)
    known = {
        field: noise_in(plan, of.name, values) for field, of in noise_fields(step.action).items() if isinstance(of, Ref)
    }
    action: Any = resolve(step.action, values)
    return attrs.evolve(action, **known) if known else action  # type: ignore[no-any-return]


def noise_in(plan: Plan, name: str, values: Mapping[str, Kind]) -> Mapping[str, float]:
    """Standard deviations of the noise in the result of a step, by name; empty where they are not known.

    Args:
        plan: the plan.
        name: the name of the step.
        values: the results so far, by step.
    """
    step = next(step for step in plan.steps if step.name == name)
    if not isinstance(step.action, Mechanism):
        return with_inputs(plan, step, values).result_noise()
    rows = plan.rows_of(step).with_released(values)
    if rows.awaited or rows.dim is None:
        return {}
    return resolve(step.action, values).noise(rows, plan.pricing.levels[name])
