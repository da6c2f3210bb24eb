"""The numerical slack of a plan: by how much floating-point arithmetic may raise delta.

Let the law of each release, as computed, be within a distance τ_i in total variation of its law in exact arithmetic,
whatever its inputs are. All releases together are then within τ = Σ τ_i, since they can be coupled one after another.
If they are (ε, δ)-private in exact arithmetic,

    P′(S) ≤ P(S) + τ ≤ e^ε Q(S) + δ + τ ≤ e^ε Q′(S) + δ + (1 + e^ε) τ

for the laws P and Q of neighbors, computed as P′ and Q′: the slack is (1 + e^ε) τ. Here ε is that of the guarantee
stated for all releases together. That of a single release would be too small: composed by zCDP, forty releases of
ε = 0.6 each have ε = 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism
from dpframe.validators import is_finite

if TYPE_CHECKING:
    from dpframe.plan import Plan
    from dpframe.spec.rows import Rows

LARGEST = 1e-5
"""A plan with more slack is refused."""


def slack(epsilon: float, law_error: float) -> float:
    """(1 + e^epsilon) · law_error, or 1 if that is less.

    Args:
        epsilon: of the stated guarantee.
        law_error: the sum of the law errors of all releases that it covers.
    """
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * law_error)


def law_errors(plan: Plan, levels: Mapping[str, float]) -> dict[str, float | None]:
    """The law error of each release, by step; None where it depends on a dimension that is not known yet.

    Args:
        plan: the plan.
        levels: the level of each release, by step.
    """
    errors = {}
    for step, mechanism in plan.releases:
        with step.naming():
            errors[step.name] = _law_error(mechanism, plan.rows_of(step), levels[step.name])
    return errors


def _law_error(mechanism: Mechanism, rows: Rows, level: float) -> float | None:
    if type(mechanism).law_error is Mechanism.law_error:
        return 0.0
    if rows.dim is None:
        return None
    error = mechanism.law_error(rows, level)
    if not is_finite(error) or not 0.0 <= error <= 1.0:
        raise PlanError(f"the law error of {mechanism.name!r} must be from 0 to 1; it states {error!r}.")
    return float(error)


def check_slack(plan: Plan, levels: Mapping[str, float]) -> None:
    """Raise PlanError where the slack of the whole plan is above LARGEST, as far as it is known.

    Args:
        plan: the plan.
        levels: the level of each release, by step.
    """
    errors = {step: error for step, error in law_errors(plan, levels).items() if error}
    if (total := slack(plan.budget.epsilon, math.fsum(errors.values()))) > LARGEST:
        raise PlanError(
            f"the floating-point releases of this plan ({', '.join(map(repr, errors))}) would have a numerical slack "
            f"of {total:.1e} in delta, more than {LARGEST:g}. Nothing was charged. Round them to a coarser grid (each "
            "bit of bits= less halves it), release fewer of them, or lower the budget's epsilon."
        )
