"""Checks of a mechanism: its stated loss, the order of a run, its randomness, and its releases on neighbors."""

from __future__ import annotations

import io
import itertools
import math
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any
from unittest import mock

import attrs
import numpy as np

from dpframe import registry
from dpframe.accounting.auto import accountant
from dpframe.auditing.auditor import most_telling
from dpframe.auditing.neighbor_pairs import cells
from dpframe.hookspecs import hookimpl
from dpframe.lattice import FloatArray
from dpframe.losses import PrivacyLoss, under_models
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.file import dumps, loads
from dpframe.reading.private_data import PrivateData
from dpframe.spec.matrix import Matrix
from dpframe.spec.refs import Ref, inputs
from dpframe.spec.rows import Rows
from dpframe.testing import statistic as statistic_checks
from dpframe.testing.checks import CHECKS, Failed, NotRun, check
from dpframe.testing.instruments import Recorder, held, known, traced, twice
from dpframe.testing.subjects import DELTA, MechanismStage, outputs, pairs, read, some_rows
from dpframe.validators import is_finite

FEWEST_NUMBERS = 3  # values of fewer numbers may repeat by chance
FEW_PAIRS = 3
STREAMS = 1500  # releases, each of which must draw new random words
LEVELS = [2.0**power for power in range(-10, 11)]


def _losses(stage: MechanismStage, rows: Rows, level: float) -> tuple[PrivacyLoss, ...]:
    return under_models(stage.losses(rows, level))


@check("mechanism")
def plan_file_round_trip(stage: MechanismStage) -> None:
    """A plan with it, written to TOML and read back, is the same plan with the same hash."""
    with known(type(stage.subject), "mechanism"):
        for plan in stage.plans:
            again = loads(dumps(plan))
            if again != plan or again.content_hash != plan.content_hash:
                raise Failed("the plan read back differs: a parameter is lost or changed in the plan file")


@check("mechanism")
def loss_is_public(stage: MechanismStage) -> None:
    """Its loss depends neither on data, nor on inputs, nor on the dimension, and is always the same."""
    mechanism: Any = stage.subject
    references = {name: Ref(name) for name, _, value in inputs(mechanism) if value is not None}
    unresolved = attrs.evolve(mechanism, **references)
    for rows in stage.rows:
        stated = mechanism.loss(rows, 1.0)
        unbound = rows if rows.columns is not None else attrs.evolve(rows, dim=None)
        for other in (mechanism.loss(rows, 1.0), unresolved.loss(rows, 1.0), unresolved.loss(unbound, 1.0)):
            if stated != other:
                raise Failed(f"its loss at level 1 is {stated}, but also {other}")
        if not all(isinstance(loss, PrivacyLoss) for loss in _losses(stage, rows, 1.0)):
            raise Failed(f"loss() gives {stated!r}, which is not a privacy loss")


@check("mechanism")
def loss_grows_with_level(stage: MechanismStage) -> None:
    """A larger level costs more, for levels from 2⁻¹⁰ to 2¹⁰."""
    composed = accountant("auto")
    for rows in stage.rows:
        costs = [composed.epsilon(_losses(stage, rows, level), DELTA) for level in LEVELS]
        for at, (cheap, dear) in enumerate(itertools.pairwise(costs)):
            if dear < cheap or dear == cheap > 0.0:
                raise Failed(f"level {LEVELS[at + 1]:g} costs epsilon={dear:.6g}, level {LEVELS[at]:g} {cheap:.6g}")


@check("mechanism")
def law_error_is_a_distance(stage: MechanismStage) -> None:
    """Its law error is from 0 to 1, public, the same for any inputs, and 0 for numerics graded exact."""
    mechanism: Any = stage.subject
    references = {name: Ref(name) for name, _, value in inputs(mechanism) if value is not None}
    for rows in stage.rows:
        for level in (2.0**-4, 1.0, 2.0**4):
            stated = mechanism.law_error(rows, level)
            if not (is_finite(stated) and 0.0 <= stated <= 1.0):
                raise Failed(f"its law error at level {level:g} is {stated!r}")
            if stated != attrs.evolve(mechanism, **references).law_error(rows, level):
                raise Failed("its law error depends on an input, which is not known when the plan is priced")
            if stated and mechanism.numerics == "exact":
                raise Failed(f"its numerics are graded exact, but its law error at level {level:g} is {stated:g}")


@check("mechanism")
def serves_any_data(stage: MechanismStage) -> str:
    """No data makes it fail, print or warn; results have one kind, the same names and units, and the declared shape."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        released = outputs(stage)
    if warned or out.getvalue():
        raise Failed("it prints or warns during a release, which may reveal something about the data")
    return f"{len(released)} data sets"


class Journal:
    """A source of rows that records the order of charges, reads and draws."""

    def __init__(self, data: Any) -> None:
        self.data, self.events = data, []  # type: ignore[var-annotated]

    def __iter__(self) -> Iterator[Any]:
        self.events.append("read")
        yield self.data

    @hookimpl
    def dpframe_before_charge(self) -> None:
        """Record the charge."""
        self.events.append("charge")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record the charge, and every draw from any keystream."""
        take = Keystream.take

        def noted(stream: Keystream, count: int) -> Any:
            self.events.append("draw")
            return take(stream, count)

        with registry.observing(self), mock.patch.object(Keystream, "take", noted):
            yield


@check("mechanism")
def charge_read_draw(stage: MechanismStage) -> None:
    """Building, pricing and explaining a plan draws nothing; a run charges, then reads, then draws."""
    for rows in stage.rows:
        if isinstance(rows, Matrix):
            continue  # it is no iterable that could note when it is read
        journal = Journal(cells(rows, some_rows(rows)[:5]))
        watching = journal.listening()
        with stage.releasing(), known(type(stage.subject), "mechanism"), watching:
            plan = stage.plan(rows)
            plan.explain()
            if journal.events:
                raise Failed("randomness is drawn before the charge, while the plan is built or explained")
            plan.run(journal)
        order = [event for at, event in enumerate(journal.events) if event not in journal.events[:at]]
        if order != [event for event in ("charge", "read", "draw") if event in order]:
            raise Failed(f"a run goes {' → '.join(order)} instead of charge → read → draw")


@check("mechanism")
def own_stream_only(stage: MechanismStage) -> None:
    """The same stream and data give the same value, and the global generators are not used."""
    library = stage.subject.drawn_by
    for plan in stage.plans:
        data = read(plan, pairs(plan.rows)[1].one)
        with stage.releasing():
            one, other, touched = twice(lambda: stage.released(plan, data, Random(Keystream.insecure(7))))  # noqa: B023
        if touched:
            raise Failed("it draws from a global generator instead of the stream that is passed to it")
        if library and one == other:
            raise Failed(f"it declares that {library} draws its noise, but the stream that is passed to it decides it")
        if not library and one != other:
            raise Failed("the same stream and data give different values: it draws from another source or keeps state")
    if library:
        raise NotRun(f"{library} draws its noise, as it declares; whether that is secure cannot be checked here")


@check("mechanism")
def fresh_randomness(stage: MechanismStage) -> str:
    """Different streams give different random words: noise is never reused, nor drawn from a small set of seeds."""
    plan = stage.plans[0]
    data, stream = read(plan, pairs(plan.rows)[1].one), Keystream.insecure(11)
    faint = stage.faint(plan)
    taken: list[list[bytes]] = []
    values = []
    with stage.releasing(), _noting(taken):
        for number in range(STREAMS):
            taken.append([])
            values.append(stage.released(faint, data, Random(stream.child(str(number)))).array)
    if any(taken) and not all(taken):
        raise Failed(f"only {sum(map(bool, taken))} of {STREAMS} releases draw: noise is kept and reused")
    words = [block for release in taken for block in set(release)]  # within a release, words may be read again
    if len(set(words)) < len(words):
        raise Failed(f"{STREAMS} streams give {len(words)} draws, but only {len(set(words))} different ones")
    whole = [
        value.tobytes() for value in values if value.size >= FEWEST_NUMBERS and value.all()
    ]  # no entry clipped at zero
    if len(set(whole)) < len(whole):
        raise Failed(
            f"{len(whole)} releases give {len(set(whole))} different values, at a noise scale where none should repeat"
        )
    return f"{STREAMS} streams"


@contextmanager
def _noting(taken: list[list[bytes]]) -> Iterator[None]:
    """Record every block of random words in the last list of ``taken``."""
    take = Keystream.take

    def noted(stream: Keystream, count: int) -> Any:
        position, words = take(stream, count)
        if count:
            taken[-1].append(words.tobytes())
        return position, words

    with mock.patch.object(Keystream, "take", noted):
        yield


@check("mechanism")
def replay(stage: MechanismStage) -> str:
    """With the same stream, neighbors execute the same lines of code and request the same noise."""
    if stage.subject.draws_depend_on_data:
        raise NotRun("its draws depend on the data, as it declares; stated-loss audits it")
    package = type(stage.subject).__module__
    package = package if package.startswith("dpframe.") else package.partition(".")[0]
    compared = 0
    for plan in stage.plans:
        for pair in pairs(plan.rows):
            records = []
            for data in (pair.one, pair.other):
                log: list[tuple[Any, ...]] = []
                private = read(plan, data)
                with stage.releasing():
                    recorder = Recorder(Keystream.insecure(5), log)
                    _, lines = traced(package, lambda: stage.released(plan, private, recorder))  # noqa: B023
                records.append((log, lines))
            if records[0][0] != records[1][0]:
                differing = [both for both in zip(records[0][0], records[1][0], strict=False) if both[0] != both[1]]
                detail = f": {differing[0][0]} and {differing[0][1]}" if differing else ""
                raise Failed(f"{pair.name}: neighbors request different noise{detail}")
            if records[0][1] != records[1][1]:
                raise Failed(f"{pair.name}: neighbors execute different lines of code")
            compared += 1
    return f"{compared} pairs"


@check("mechanism")
def one_lattice(stage: MechanismStage) -> None:
    """Neighbors are released on the same lattice: no digits below the spacing of the noise distinguish them."""
    for plan in stage.plans:
        for pair in pairs(plan.rows)[:FEW_PAIRS]:
            with stage.releasing():
                one, other = (_draws(stage, plan, read(plan, data)) for data in (pair.one, pair.other))
                _compare_lattices(pair.name, one, other)


def _compare_lattices(pair: str, one: FloatArray, other: FloatArray) -> None:
    for place in range(one.shape[1]):
        size = np.abs([one[:, place], other[:, place]]).max()
        spacing = _spacing(one[:, place] - one[0, place], 1e-9 * size)
        off = abs(math.remainder(other[0, place] - one[0, place], spacing)) if spacing else 0.0
        if off > 1e-3 * spacing and off > 1e-9 * size:
            raise Failed(f"{pair}: released numbers do not differ by whole multiples of {spacing:.3g}")


def _draws(stage: MechanismStage, plan: Plan, data: PrivateData) -> FloatArray:
    stream = Keystream.insecure(21)
    drawn = [stage.released(plan, data, Random(stream.child(str(number)))).array for number in range(24)]
    return np.array([np.concatenate([value.real.ravel(), value.imag.ravel()]) for value in drawn])


def _spacing(differences: FloatArray, error: float) -> float:
    """The largest number of which all differences are multiples, or 0 if it is within the error of floats."""
    spacing = 0.0
    for difference in np.abs(differences).tolist():
        rest = difference
        while rest > error:  # Euclid's algorithm, in floats
            spacing, rest = rest, abs(math.remainder(spacing, rest))
    return spacing if spacing > 1e3 * error else 0.0


@check("mechanism")
def keeps_no_data(stage: MechanismStage) -> None:
    """After a release nothing keeps a reference to the private statistics."""
    for plan in stage.plans:
        private = read(plan, pairs(plan.rows)[1].one)
        watched = [_Watched.of(part) for statistic in private.statistics for part in private.parts(statistic).values()]
        copies = iter(watched)
        handed = PrivateData(
            private.rows,
            statistics={
                statistic: {name: next(copies) for name in private.parts(statistic)} for statistic in private.statistics
            },
        )
        alive = [weakref.ref(part) for part in watched]
        with stage.releasing():
            value = stage.released(plan, handed, Random(Keystream.insecure(3)))
        del watched, copies, handed, private
        if held(alive):
            raise Failed("private statistics are still held after the release, by the mechanism or in its value")
        del value


class _Watched(np.ndarray[Any, Any]):
    """An array that supports weak references; its views keep it alive."""

    @classmethod
    def of(cls, array: Any) -> _Watched:
        """A copy of an array."""
        return np.array(array).view(cls)


@check("mechanism")
def stated_loss(stage: MechanismStage) -> str:
    """Audits find no more loss than stated, near the total variation or at delta = 0.01, for both relations."""
    details = []
    for plan in stage.audited:
        if plan.accept:
            raise NotRun("its guarantee holds under a model of the data, not for the worst case")
        middle = min(accountant("auto").delta(plan.pricing.all_losses, 0.05), 0.999)
        with stage.releasing():
            outcome = most_telling(
                plan,
                deltas=[DELTA, max(middle, DELTA)],
                trials=stage.trials,
                false_alarm=1e-7,
                pairs=stage.pairs,
                insecure_seed=13,
            )
        claim = f"epsilon={outcome.claim:.3g} at delta={outcome.delta:.3g}"
        if outcome.violated:
            raise Failed(
                f"{outcome.neighbors}, {outcome.pair}: it states {claim}, but epsilon is above {outcome.bound:.4g}"
            )
        bound = f"at least {outcome.bound:.3g} proved by the audit, power {outcome.power:.0%}"
        details.append(f"{plan.rows.neighbors}: {claim} stated, {bound}")
    return "; ".join(details)


def _on_its_statistics(name: str) -> Any:
    """A check of statistics as one of mechanisms, run on each statistic that the mechanism reads."""
    (of_statistics,) = [each for each in CHECKS["statistic"] if each.name == name]

    def run(stage: MechanismStage) -> str | None:
        details = [of_statistics.run(each) for each in stage.statistics]
        return "; ".join(filter(None, details))

    run.__name__, run.__doc__ = name.replace("-", "_"), of_statistics.about
    return run


for _each in statistic_checks.OF_MECHANISMS_TOO:
    check("mechanism")(_on_its_statistics(_each))
