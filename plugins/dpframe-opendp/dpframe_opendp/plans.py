"""A plan as a measurement of OpenDP, whose privacy map is the plan's guarantee."""

from __future__ import annotations

import math
from typing import Any

import dpframe.plugin as dp

MANY = 10_000
"""Steps from which on the growth of delta is bounded by its last term, since there may be billions of them."""


def as_measurement(plan: dp.Plan, *, ledger: Any = None, dataset: str | None = None, note: str | None = None) -> Any:
    """A plan as an OpenDP measurement of data sets, which is invoked with whatever ``plan.run`` reads.

    Its input metric counts rows: ``SymmetricDistance`` where the plan is about people who are added or removed,
    ``ChangeOneDistance`` where their rows are replaced. Its map counts in how many steps from neighbor to neighbor,
    each of up to m = ``contributions`` rows, one data set becomes another: one for a distance of 1, and for up to m
    rows that are replaced; two for up to m rows of which some are added and some removed. k steps cost k · epsilon and
    delta · (1 + e^epsilon + … + e^((k − 1) epsilon)). The output measure is pure where the plan's delta is 0 and
    otherwise (epsilon, delta); the numerical slack of releases graded "floating" is added to delta. Each invocation is
    a run: it is charged where a ledger is given, and gives a ``dp.Result``.

    OpenDP asks for consent first: ``opendp.prelude.enable_features("contrib", "honest-but-curious")``. The second one
    is yours to give: it says that the function has the stability that its map states, here dpframe's guarantee.

    Raises PlanError for a plan that rests on a model of the data, has ``person=`` (OpenDP's distances count rows, not
    people: where a row of somebody with more than m rows is taken away, another one begins to count), or whose
    numerical slack is not known before the dimension is.

    Args:
        plan: the plan.
        ledger: the ledger that every invocation is charged to.
        dataset: the name of the data set in the ledger.
        note: why the runs are made; it is recorded with every charge.
    """
    import opendp.prelude as opendp

    (epsilon, delta), rows = _guarantee(plan, charged=ledger is not None), plan.rows

    def privacy_map(distance: int) -> float | tuple[float, float]:
        steps = steps_between(distance, rows.contributions, rows.neighbors == "add-remove")
        grown = group_privacy(epsilon, delta, steps)
        return grown[0] if delta == 0.0 else grown

    return opendp.m.make_user_measurement(
        opendp.user_domain("data that a dpframe plan reads", lambda _: True),
        opendp.symmetric_distance() if rows.neighbors == "add-remove" else opendp.change_one_distance(),
        opendp.max_divergence() if delta == 0.0 else opendp.fixed_smoothed_max_divergence(),
        lambda data: plan.run(data, ledger=ledger, dataset=dataset, note=note),
        privacy_map,
    )


def steps_between(distance: int, contributions: int, add_remove: bool) -> int:
    """The most steps from neighbor to neighbor that are needed between data sets at this distance.

    Replaced rows take one step for each m of them. Of rows that are added or removed, a and b with a + b the distance,
    those added take ⌈a/m⌉ steps and those removed ⌈b/m⌉, which together are at most 2 + ⌊(a + b − 2)/m⌋, and exactly
    that for a suitable a.

    >>> [steps_between(distance, 3, True) for distance in range(7)]
    [0, 1, 2, 2, 2, 3, 3]
    """
    if distance < 2:
        return distance
    return 2 + (distance - 2) // contributions if add_remove else -(-distance // contributions)


def group_privacy(epsilon: float, delta: float, steps: int) -> tuple[float, float]:
    """What (epsilon, delta)-privacy of neighbors is for data sets that are some steps apart, rounded up.

    >>> group_privacy(1.0, 0.0, 3)[0] >= 3.0
    True
    """
    if steps < 2:
        return (epsilon, delta) if steps else (0.0, 0.0)
    grown = dp.rounding.up(steps * epsilon)
    if delta == 0.0:
        return grown, 0.0
    if grown > 700.0:
        return grown, 1.0
    total = math.fsum(math.exp(step * epsilon) for step in range(steps)) if steps < MANY else steps * math.exp(grown)
    return grown, min(1.0, delta * total * (1 + 2.0**-40))


def _guarantee(plan: dp.Plan, *, charged: bool) -> tuple[float, float]:
    """The epsilon of a plan, and its delta with the numerical slack.

    Args:
        plan: the plan.
        charged: whether runs are charged to a ledger: then its accountant scales them to at most the plan's budget.
    """
    if plan.modeled:
        raise dp.PlanError("this plan rests on a model of the data; an OpenDP measurement holds for every data set.")
    if isinstance(plan.rows, dp.Matrix):
        raise dp.PlanError(
            "this plan is about a matrix that was computed elsewhere, but OpenDP's distances between data sets count "
            "rows. Compose its cost by plan.dp_events(), or keep a dpframe ledger."
        )
    if plan.rows.person is not None:
        raise dp.PlanError(
            "this plan limits rows by person=, but OpenDP's distances between data sets count rows, not people. Pass "
            "data in which nobody has more rows than contributions= says, and leave out person=."
        )
    slacks = [line.slack for line in plan.explain().statement.lines]
    if None in slacks:
        raise dp.PlanError("the numerical slack of this plan is known once the dimension is; say dp.Rows(dim=...).")
    slack = math.fsum(slack for slack in slacks if slack)
    epsilon = max(plan.spent.epsilon, plan.budget.epsilon) if charged else plan.spent.epsilon
    delta = plan.spent.delta + slack
    return epsilon, math.nextafter(delta, 1.0) if slack else delta
