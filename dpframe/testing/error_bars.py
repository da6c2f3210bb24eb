"""Checks of the error bars of a mechanism: its law covers the value without noise, and redraws are of the same form."""

from __future__ import annotations

import math

import numpy as np

from dpframe.auditing.neighbor_pairs import cells
from dpframe.kinds import Kind
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.testing.checks import Failed, NotRun, check
from dpframe.testing.subjects import MechanismStage, read, some_rows

RELEASES = 400
CONFIDENCE = 0.95
DEVIATIONS = 5.0  # of the share of one number: a false alarm has a probability below 1e-6


@check("mechanism")
def error_bars_cover(stage: MechanismStage) -> str:
    """Its law, if it states one, covers the value without noise as often as it says, and redraws are of one form."""
    shares = []
    for plan in stage.plans[:2]:
        with stage.releasing():
            share = _share(stage, plan)
        least = CONFIDENCE - DEVIATIONS * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / RELEASES)
        if share < least:
            raise Failed(
                f"{plan.rows.neighbors}: intervals at {CONFIDENCE:g} cover in {share:.3f} of {RELEASES} releases"
            )
        shares.append(f"{plan.rows.neighbors}: {share:.3f} covered at {CONFIDENCE:g}")
    return "; ".join(shares)


def _share(stage: MechanismStage, plan: Plan) -> float:
    """The share of releases whose intervals cover, mean over the numbers of a value."""
    private = read(plan, cells(plan.rows, some_rows(plan.rows)))
    exact = stage.subject.noiseless(private)
    level, stream, inside = plan.pricing.levels[plan.steps[0].name], Keystream.insecure(23), []
    for number in range(RELEASES):
        value = stage.released(plan, private, Random(stream.child(str(number))))
        law = stage.subject.law(value, plan.rows, level, {})
        if law is None or exact is None:
            raise NotRun("it states no law of its noise" if law is None else "its value without noise is not known")
        if number == 0:
            _check_redraw(value, stage.subject.redraw(value, plan.rows, level, np.random.default_rng(0)))
        found = law.interval(CONFIDENCE)
        if found.low.shape != value.array.shape:
            raise Failed(f"its intervals have shape {found.low.shape}, but its value {value.array.shape}")
        room = 1e-9 * np.abs(exact.array).max(initial=0.0)
        covers = (found.low - room <= exact.array) & (exact.array <= found.high + room)
        inside.append(np.where(found.determined, covers, True).mean())
    return float(np.mean(inside))


def _check_redraw(value: Kind, again: Kind | None) -> None:
    if again is not None and (type(again), again.array.shape) != (type(value), value.array.shape):
        raise Failed("a redrawn value is of another kind or shape than the released one")
