"""The procedure of an audit: a pilot, the choice of an event, and the test of that event."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import validators
from dpframe.accounting.auto import accountant
from dpframe.auditing import evidence
from dpframe.auditing.neighbor_pairs import built_in, checked
from dpframe.auditing.outcome import Audit
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, Recipe
from dpframe.plan import Plan
from dpframe.plan.steps import Step, release
from dpframe.rounding import format_given
from dpframe.run.progress import Listener, reporting
from dpframe.spec.budget import Budget
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.auditing.trials import Experiment

PILOT_SHARE = 10  # the pilot of each pair has trials / PILOT_SHARE releases on either data set
LEAST_PILOT = 120
LEAST_TRIALS = 1000
DIM = 3  # of the synthetic rows, where the promise does not state it


def audit(
    subject: Plan | Step | Mechanism | Recipe | str,
    *,
    rows: Rows | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-2,
    trials: int = 10_000,
    false_alarm: float = 1e-6,
    pairs: Iterable[Any] = (),
    insecure_seed: int | None = None,
    progress: bool | Listener | None = None,
) -> Audit:
    """Try to prove from repeated releases that more privacy is lost than claimed.

    A pilot of a tenth of the trials on every pair of neighbors chooses the pair and the event with the largest expected
    bound. The event is defined by the likelihood ratio where mechanisms state their density, or by a statistic trained
    on the numbers released. It is then counted in ``trials`` fresh releases on each data set of that pair. Their number
    is fixed in advance, and one event is tested, so ``false_alarm`` bounds the probability that the bound is above the
    truth.

    Args:
        subject: a mechanism or recipe, by name or with its parameters; a step; or a whole plan, whose releases are
            audited jointly. A plan has its own promise and levels.
        rows: the promise; by default rows of norm one with three coordinates under add-remove.
        epsilon: the claim to calibrate a mechanism to; not used for a plan.
        delta: the delta at which the claim is audited. At a tiny delta an audit has no power: a guarantee stated at
            another delta is audited here through the same losses.
        trials: the number of releases on each data set of the pair that is tested.
        false_alarm: the largest probability that the audited bound is above the truth.
        pairs: further pairs (one, other) of data sets, which must be neighbors under the promise.
        insecure_seed: makes the audit repeatable.
        progress: True for a bar, or a function of a `dp.Progress`.

    >>> print(audit("gaussian", epsilon=2.0, trials=2000, insecure_seed=1).verdict)
    no violation found
    """
    return most_telling(
        subject,
        rows=rows,
        epsilon=epsilon,
        deltas=[delta],
        trials=trials,
        false_alarm=false_alarm,
        pairs=pairs,
        insecure_seed=insecure_seed,
        progress=progress,
    )


def most_telling(
    subject: Plan | Step | Mechanism | Recipe | str,
    *,
    rows: Rows | None = None,
    epsilon: float = 1.0,
    deltas: Sequence[float],
    trials: int,
    false_alarm: float,
    pairs: Iterable[Any] = (),
    insecure_seed: int | None = None,
    progress: bool | Listener | None = None,
) -> Audit:
    """Audit a claim at the one of several deltas where the pilot expects the bound to exceed the claim most.

    Args:
        subject, rows, epsilon, trials, false_alarm, pairs, insecure_seed, progress: as in `audit`.
        deltas: the deltas, of which the pilot chooses one.
    """
    from dpframe.auditing.trials import Experiment, Laboratory, tasks

    if not (validators.is_int(trials) and trials >= LEAST_TRIALS):
        raise PlanError(f"audit: trials must be an integer of at least {LEAST_TRIALS}; got {trials!r}.")
    if not (validators.is_finite(false_alarm) and 0.0 < false_alarm < 1.0):
        raise PlanError(f"audit: false_alarm must be a number between 0 and 1; got {false_alarm!r}.")
    for delta in deltas:
        validators.check_delta(delta)
    plan = _plan(subject, rows, epsilon, deltas[0])
    losses, composed = plan.pricing.all_losses, accountant(plan.accountant)
    claims = [composed.epsilon(losses, delta) for delta in deltas]
    if not all(map(math.isfinite, claims)):
        raise PlanError(
            f"audit: no finite epsilon is claimed at delta={format_given(min(deltas))}; audit at a larger delta."
        )
    candidates = (*built_in(plan.rows), *(checked(pair, plan.rows, i) for i, pair in enumerate(pairs, start=1)))
    experiment = Experiment(plan, candidates)
    pilot = max(trials // PILOT_SHARE, LEAST_PILOT)
    planned = 2 * (pilot * len(candidates) + trials)
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        reporter.releases(done, planned)

    terms = [evidence.Terms(trials=trials, delta=delta, false_alarm=false_alarm) for delta in deltas]
    with reporting(progress) as reporter, Laboratory(experiment, insecure_seed, report, planned=planned) as laboratory:
        reporter.begin(f"auditing {_title(plan)}, {plan.rows.neighbors}")
        seen = laboratory.perform([task for at in range(len(candidates)) for task in tasks(at, pilot, "pilot")])
        knows_density = experiment.knows_density
        events = {
            (at, which): evidence.best_event(seen[at, False], seen[at, True], each, ratio_first=knows_density)
            for at in range(len(candidates))
            for which, each in enumerate(terms)
        }
        at, which = max(events, key=lambda key: events[key].promise - claims[key[1]])
        counted = laboratory.perform(tasks(at, trials, "test"))
    event = events[at, which]
    hits, misses = (event.hits(counted[at, other]) for other in (event.reverse, not event.reverse))
    return Audit(
        subject=_title(plan),
        neighbors=str(plan.rows.neighbors),
        claim=claims[which],
        bound=evidence.lower_bound(hits, misses, terms[which]),
        visible=evidence.visible(lambda x: composed.delta(losses, x), claims[which], terms[which]),
        pair=candidates[at].name,
        statistic=_statistic(event, experiment),
        hits=hits,
        misses=misses,
        pilot={pair.name: events[number, which].promise for number, pair in enumerate(candidates)},
        **attrs.asdict(terms[which]),
    )


def _statistic(event: evidence.Event, experiment: Experiment) -> str:
    """The name of the statistic that defines the event."""
    return "likelihood ratio" if event.first_alone and experiment.knows_density else "trained statistic"


def _plan(subject: Plan | Step | Mechanism | Recipe | str, rows: Rows | None, epsilon: float, delta: float) -> Plan:
    """The plan to audit, with its dimension known."""
    if isinstance(subject, Plan):
        if rows is not None:
            raise PlanError("audit: a plan has its own rows; leave rows= out.")
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
