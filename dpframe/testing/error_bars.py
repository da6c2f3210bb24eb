"""Checks of the error bars of a mechanism: its law and its redraws cover the value without noise."""

from __future__ import annotations

import math

import numpy as np

from dpframe.auditing.neighbor_pairs import cells
from dpframe.intervals.law import Law
from dpframe.intervals.redrawn import RedrawnLaw
from dpframe.kinds import Kind
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.testing.checks import Failed, NotRun, check
from dpframe.testing.subjects import MechanismStage, read, some_rows

RELEASES = 400
REDRAWN, REDRAWS = 100, 60  # releases that are drawn again, and how often each
CONFIDENCE = 0.95
DEVIATIONS = 5.0  # of the share of one number: a false alarm has a probability below 1e-6


@check("mechanism")
def error_bars_cover(stage: MechanismStage) -> str:
    """Its law, if it states one, covers the value without noise as often as it says, and so do redrawn releases."""
    shares = []
    for plan in stage.plans[:2]:
        with stage.releasing():
            share, redrawn = _shares(stage, plan)
        _refuse_low(share, RELEASES, f"{plan.rows.neighbors}: intervals")
        shares.append(f"{plan.rows.neighbors}: {share:.3f} covered at {CONFIDENCE:g}")
        if redrawn is not None:
            _refuse_low(redrawn, REDRAWN, f"{plan.rows.neighbors}: intervals from redrawn releases")
            shares[-1] += f", {redrawn:.3f} by redrawing"
    return "; ".join(shares)


def _refuse_low(share: float, releases: int, what: str) -> None:
    least = CONFIDENCE - DEVIATIONS * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / releases)
    if share < least:
        raise Failed(f"{what} at {CONFIDENCE:g} cover in {share:.3f} of {releases} releases")


def _shares(stage: MechanismStage, plan: Plan) -> tuple[float, float | None]:
    """The share of releases whose intervals cover, mean over the numbers of a value: by law, and by redrawing.

    The second is None where a release cannot be drawn again.
    """
    private = read(plan, cells(plan.rows, some_rows(plan.rows)))
    exact = stage.subject.noiseless(private)
    level, stream = plan.pricing.levels[plan.steps[0].name], Keystream.insecure(23)
    inside: list[float] = []
    inside_redrawn: list[float] = []
    for number in range(RELEASES):
        value = stage.released(plan, private, Random(stream.child(str(number))))
        law = stage.subject.law(value, plan.rows, level, {})
        if law is None or exact is None:
            raise NotRun("it states no law of its noise" if law is None else "its value without noise is not known")
        inside.append(_covered(law, value, exact))
        if number < REDRAWN and len(inside_redrawn) == number:
            again = _redrawn(stage, plan, value, np.random.default_rng(number))
            inside_redrawn += [] if again is None else [_covered(again, value, exact)]
    return float(np.mean(inside)), float(np.mean(inside_redrawn)) if inside_redrawn else None


def _covered(law: Law, value: Kind, exact: Kind) -> float:
    """The share of the numbers of a value whose intervals hold the value without noise, or say nothing."""
    found = law.interval(CONFIDENCE)
    if found.low.shape != value.array.shape:
        raise Failed(f"its intervals have shape {found.low.shape}, but its value {value.array.shape}")
    room = 1e-9 * np.abs(exact.array).max(initial=0.0)
    covers = (found.low - room <= exact.array) & (exact.array <= found.high + room)
    return float(np.where(found.determined, covers, True).mean())


def _redrawn(stage: MechanismStage, plan: Plan, value: Kind, random: np.random.Generator) -> Law | None:
    """The law of a value from redrawn releases, as derivations without a law of their own have it."""
    level, draws = plan.pricing.levels[plan.steps[0].name], []
    for _ in range(REDRAWS):
        again = stage.subject.redraw(value, plan.rows, level, random)
        if again is None:
            return None
        if (type(again), again.array.shape) != (type(value), value.array.shape):
            raise Failed("a redrawn value is of another kind or shape than the released one")
        draws.append(again)
    return RedrawnLaw.of(value, draws)
