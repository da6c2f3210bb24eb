"""An auditor: how much privacy loss can be proved from releases on worst-case neighbours.

An audit can find that a mechanism spends more than it claims; it can never prove that it does not. What it would find
if the claim were spent in full is told with it, so that a bound of little power is not taken for a clean bill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from dpframe import validators
from dpframe.accounting.auto import accountant
from dpframe.auditing import evidence
from dpframe.auditing.pairs import Pair, built_in, checked
from dpframe.auditing.report import Audit
from dpframe.budget import Budget
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, Recipe
from dpframe.lattice import FloatArray
from dpframe.plan import Plan
from dpframe.rows import Rows
from dpframe.steps import Step, release

__all__ = ["Audit", "Pair", "audit"]

PILOT_SHARE = 10  # of the trials, for each pair
LEAST_PILOT = 200
LEAST_TRIALS = 1000
DIM = 3  # of the made-up rows, where the promise does not say

Progress = Callable[[int, int], None]


def audit(
    subject: Plan | Step | Mechanism | Recipe | str,
    *,
    rows: Rows | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-2,
    trials: int = 10_000,
    false_alarm: float = 1e-6,
    neighbours: Iterable[Any] = (),
    insecure_seed: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Try to prove from repeated releases that more privacy is lost than claimed.

    A pilot of a tenth of the trials on every pair of neighbours chooses the pair and the event that tell most: by the
    likelihood ratio where mechanisms state their density, otherwise by a linear statistic trained on the pilot. Then
    ``trials`` fresh releases on both data sets of that pair are counted. Their number is fixed in advance, and one
    event is tested, so that ``false_alarm`` bounds the chance that the bound is above the truth.

    Args:
        subject: a mechanism or recipe, by name or with its parameters; a step; or a whole plan, whose releases are
            seen together. A plan brings its own promise and levels.
        rows: the promise; unit rows of three coordinates under add-remove unless given.
        epsilon: the claim to calibrate a mechanism to; a plan brings its own.
        delta: the delta at which the claim is audited. A tiny one leaves nothing to see: a guarantee at another delta
            is audited here by the same losses.
        trials: releases on either data set of the pair that is tested.
        false_alarm: the largest probability that the audited bound is above the truth.
        neighbours: further pairs (one, other) of data sets; they must be neighbours under the promise.
        insecure_seed: makes the audit repeatable.
        progress: called with the number of releases done and of all that there will be.

    >>> print(audit("gaussian", epsilon=2.0, trials=2000, insecure_seed=1).verdict)
    no violation found
    """
    (found,) = audits(
        subject,
        rows=rows,
        epsilon=epsilon,
        deltas=[delta],
        trials=trials,
        false_alarm=false_alarm,
        neighbours=neighbours,
        insecure_seed=insecure_seed,
        progress=progress,
    )
    return found


def audits(
    subject: Plan | Step | Mechanism | Recipe | str,
    *,
    rows: Rows | None = None,
    epsilon: float = 1.0,
    deltas: Sequence[float],
    trials: int,
    false_alarm: float,
    neighbours: Iterable[Any] = (),
    insecure_seed: int | None = None,
    progress: Progress | None = None,
) -> list[Audit]:
    """Audits of one claim at several deltas by the same releases; ``false_alarm`` is that of all of them together."""
    from dpframe.auditing.trials import Experiment, Laboratory, tasks

    if not (validators.is_int(trials) and trials >= LEAST_TRIALS):
        raise PlanError(f"audit: trials must be an integer of at least {LEAST_TRIALS}; got {trials!r}.")
    if not (validators.is_finite(false_alarm) and 0.0 < false_alarm < 1.0):
        raise PlanError(f"audit: false_alarm must be a number between 0 and 1; got {false_alarm!r}.")
    plan = _plan(subject, rows, epsilon, deltas[0])
    pairs = (*built_in(plan.rows), *(checked(pair, plan.rows, i) for i, pair in enumerate(neighbours, start=1)))
    experiment = Experiment(plan, pairs)
    pilot = max(trials // PILOT_SHARE, LEAST_PILOT)
    planned = 2 * (pilot * len(pairs) + trials * len(deltas))
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, planned)

    terms = [evidence.Terms(trials=trials, delta=delta, false_alarm=false_alarm / len(deltas)) for delta in deltas]
    with Laboratory(experiment, insecure_seed, tell, planned=planned) as laboratory:
        seen = laboratory.perform([task for at in range(len(pairs)) for task in tasks(at, pilot, "pilot")])
        chosen = [_most_telling(seen, len(pairs), each) for each in terms]
        fresh = {at for at, _ in chosen}
        counted = laboratory.perform([task for at in sorted(fresh) for task in tasks(at, trials, "test")])
    tell(planned - done)
    losses, composed = plan.pricing.all_losses, accountant(plan.accountant)
    found = []
    for (at, events), each in zip(chosen, terms, strict=True):
        event = events[at]
        hits, misses = (event.hits(counted[at, other]) for other in (event.reverse, not event.reverse))
        claim = composed.epsilon(losses, each.delta)
        found.append(
            Audit(
                subject=_title(plan),
                neighbors=str(plan.rows.neighbors),
                claim=claim,
                bound=evidence.lower_bound(hits, misses, each),
                visible=evidence.visible(lambda x: composed.delta(losses, x), claim, each),
                pair=pairs[at].name,
                statistic="likelihood ratio" if experiment.knows_density else "trained linear statistic",
                hits=hits,
                misses=misses,
                pilot={pair.name: event.promise for pair, event in zip(pairs, events, strict=True)},
                **attrs.asdict(each),
            )
        )
    return found


def _most_telling(
    seen: Mapping[tuple[int, bool], FloatArray], pairs: int, terms: evidence.Terms
) -> tuple[int, list[evidence.Event]]:
    """The pair whose event the pilot expects most of, and the best event of each pair."""
    events = [evidence.best_event(seen[at, False], seen[at, True], terms) for at in range(pairs)]
    return max(range(pairs), key=lambda at: events[at].promise), events


def _plan(subject: Plan | Step | Mechanism | Recipe | str, rows: Rows | None, epsilon: float, delta: float) -> Plan:
    """The plan to audit, with its dimension known."""
    if isinstance(subject, Plan):
        if rows is not None:
            raise PlanError("audit: a plan brings its own rows; leave rows= out.")
        return subject.bind(subject.rows.dim or DIM)
    if isinstance(subject, str):
        subject = release("release", subject)
    if isinstance(subject, Mechanism | Recipe):
        subject = Step(name="release", action=subject)
    if not isinstance(subject, Step):
        raise PlanError("audit takes a plan, a step, a mechanism or the name of one.")
    promise = rows or Rows(norm=1.0, neighbors="add-remove", dim=DIM)
    plan = Plan(rows=promise, budget=Budget(epsilon=epsilon, delta=delta), steps=[subject])
    return plan.bind(promise.dim or DIM)


def _title(plan: Plan) -> str:
    return " + ".join(mechanism.name for _, mechanism in plan.releases)
