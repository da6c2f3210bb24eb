"""Runs a plan: the only place where private data is opened and randomness is passed to mechanisms.

The order is fixed: check the plan and the public schema → veto by plugins → charge the whole plan → read → draw →
derive. After the charge nothing that depends on the data aborts a run; any failure is reported, and the charge stands.
What was released before it is returned with the error (:mod:`dpframe.run.attempt`). With a ledger, the charge is on
disk before anything is read, so it survives a crash at any later moment.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

from dpframe import registry
from dpframe.errors import DataError, PlanError
from dpframe.interfaces import Mechanism, PostProcessor
from dpframe.kinds import Kind
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.schedule import Pass, declared_statistics, statistics_of
from dpframe.plan.steps import Step
from dpframe.reading.private_data import PrivateData
from dpframe.reading.process_state import one_blas_thread
from dpframe.reading.totals import accumulate
from dpframe.run.attempt import Attempt
from dpframe.run.derivations import WrongKind, derived, of_its_kind, rehearse
from dpframe.run.error_bars import ErrorBars
from dpframe.run.memory import check_memory
from dpframe.run.noise_law import with_inputs
from dpframe.run.progress import SILENT, Listener, ProgressReporter, reporting
from dpframe.run.result import Charge, Record, Result
from dpframe.run.statement import Line, Statement, statement
from dpframe.run.within_noise import within_noise
from dpframe.sources import Source, open_source
from dpframe.sources.matrices import refuse_square
from dpframe.spec.matrix import Matrix
from dpframe.spec.refs import resolve
from dpframe.validators import is_int

if TYPE_CHECKING:
    from dpframe.ledger.account import Account

T = TypeVar("T")

SMALL = 128
"""Matrices of at most this many coordinates are decomposed with one BLAS thread: more would wait for each other."""


def run(
    plan: Plan,
    data: Any,
    *,
    ledger: Any = None,
    dataset: str | None = None,
    note: str | None = None,
    insecure_seed: int | None = None,
    progress: bool | Listener | None = None,
) -> Result:
    """See :meth:`dpframe.Plan.run`."""
    small = plan.rows.dim is not None and plan.rows.dim <= SMALL
    with reporting(progress) as reporter, one_blas_thread() if small else nullcontext():
        return _run(plan, data, ledger, dataset, note=note, insecure_seed=insecure_seed, reporter=reporter)


def _run(
    plan: Plan,
    data: Any,
    ledger: Any,
    dataset: str | None,
    *,
    note: str | None,
    insecure_seed: int | None,
    reporter: ProgressReporter,
) -> Result:
    if insecure_seed is not None and not is_int(insecure_seed):
        raise PlanError(f"insecure_seed must be an integer; got {insecure_seed!r}.")
    random = Random(Keystream.secure() if insecure_seed is None else Keystream.insecure(insecure_seed))
    plan_file = _written(plan)
    ready = prepared(plan, data, ledger, dataset, note=note, insecure_seed=insecure_seed)
    plan, source, account, stated = ready.plan, ready.source, ready.account, ready.stated
    charge = None if account is None else account.reserve(plan, stated)
    # From here on the plan is charged: `plan.spent` is spent whatever happens.
    attempt = Attempt()

    def so_far() -> Result:
        result = _result(plan, stated, attempt, charge, private=random.private, plan_file=plan_file)
        return result if account is None else account.signed(result)

    with _kept(so_far), closing(source):
        draw_and_derive(plan, source, random, reporter, attempt)
    result, error = so_far(), attempt.error(plan)
    with _kept(lambda: result):
        if account is not None and (charge := result.charge) is not None:
            outcome = partial(account.released, charge, result)
            if error is not None:
                outcome = partial(account.failed, charge, error.step, result if result else None)
            charge = _recorded(charge, outcome)
            result = attrs.evolve(result, charge=charge)
            if error is not None:
                error.add_note(f"Charged to data set {charge.dataset!r}, entry {charge.entry}. Head: {charge.head}")
        for record in result.records.values():
            _notify(record)
    if error is not None:
        error.result = result if result else None
        raise error
    return result


@attrs.frozen(kw_only=True)
class Prepared:
    """Everything that a run needs to be charged.

    Args:
        plan: the plan, for rows of a known dimension, priced by the accountant of the data set.
        source: the data, of which only the public schema was looked at.
        account: the account to charge; None without a ledger.
        stated: what the plan promises and costs.
    """

    plan: Plan
    source: Source
    account: Account | None
    stated: Statement


def prepared(
    plan: Plan, data: Any, ledger: Any, dataset: str | None, *, note: str | None, insecure_seed: int | None = None
) -> Prepared:
    """Everything up to the charge, with all that may refuse it; see :meth:`dpframe.Plan.run` for the arguments."""
    charged = not (ledger is None and dataset is None and note is None)
    account = _account(ledger, dataset, note, insecure_seed) if charged else None
    _check_seed(plan, insecure_seed)
    refuse_square(data, plan.rows)
    source = open_source(data, plan.rows)
    content_hash = plan.content_hash
    plan = (plan if account is None else account.calibrated(plan)).bind(source.dim)
    needed = plan.schedule()[-1].number
    if source.one_shot and needed > 1:
        raise DataError(
            f"this plan reads the data {needed} times, but the source can be read only once. Nothing was charged. "
            "Pass an array, a list of chunks, or an object that can be iterated again."
        )
    stated = statement(plan, content_hash)
    check_memory(plan)
    rehearse(plan)
    if source.pushed is not None:
        source.pushed.check(declared_statistics(plan), plan.rows, needed)
    registry.before_charge(plan, plan.pricing.all_losses)
    return Prepared(plan=plan, source=source, account=account, stated=stated)


def _check_seed(plan: Plan, insecure_seed: int | None) -> None:
    """Raise PlanError where a seed is given for noise that another library draws."""
    for step, mechanism in plan.releases:
        if mechanism.drawn_by and insecure_seed is not None:
            raise PlanError(
                f"the noise of step {step.name!r} is drawn inside {mechanism.drawn_by}, which insecure_seed= cannot "
                "seed. Nothing was charged. Leave out the seed."
            )


def _written(plan: Plan) -> str:
    """The plan file of a plan; empty where no file can hold it."""
    try:
        return plan.dumps()
    except PlanError:
        return ""


def _result(
    plan: Plan, stated: Statement, attempt: Attempt, charge: Charge | None, *, private: bool, plan_file: str
) -> Result:
    """The result of a run, with the values that there are."""
    if not plan.same_public_rows:
        with suppress(Exception):  # the values are charged: return them, if need be without the noise scales
            scaled = statement(plan.with_released(attempt.values), stated.plan).lines
            stated = attrs.evolve(stated, lines=tuple(map(_with_guarantee_of, stated.lines, scaled)))
    records = {
        step.name: Record(name=step.name, value=attempt.values[step.name], line=stated.line(step.name))
        for step in plan.steps
        if step.name in attempt.values
    }
    words = attempt.explained()
    failed = {
        step.name: words.get(step.name, "not computed, since the run was interrupted.")
        for step in plan.steps
        if step.name not in records
    }
    return Result(
        statement=stated,
        records=records,
        private=private,
        versions=registry.versions(),
        charge=charge,
        warnings=_warnings(plan, records),
        failed=failed,
        choices=_choices(plan, attempt.values),
        plan_file=plan_file,
        bars=ErrorBars(plan, attempt.values),
    )


@contextmanager
def _kept(result: Callable[[], Result]) -> Iterator[None]:
    """Attach what was released to whatever ends the run from outside, such as a KeyboardInterrupt."""
    try:
        yield
    except BaseException as error:
        with suppress(Exception):
            if kept := result():
                error.result = kept  # type: ignore[attr-defined]
                error.add_note(f"The run was charged. What was released is in error.result: {', '.join(kept)}.")
        raise


def _warnings(plan: Plan, records: Mapping[str, Record]) -> tuple[str, ...]:
    """Warnings about the released values, which are charged: they are returned, if need be without warnings."""
    with suppress(Exception):
        of_steps = ((plan.rows_of(step), records[step.name]) for step in plan.steps if step.name in records)
        return tuple(warning for rows, record in of_steps for warning in within_noise(rows, [record]))
    return ()


def _choices(plan: Plan, values: Mapping[str, Kind]) -> dict[str, str]:
    """What steps chose from released values; a step that cannot say it is left out, since all values are charged."""
    choices = {}
    for step in plan.steps:
        if isinstance(step.action, PostProcessor) and step.name in values:
            with suppress(Exception):
                if words := with_inputs(plan, step, values).choice():
                    choices[step.name] = words
    return choices


def _with_guarantee_of(planned: Line, scaled: Line) -> Line:
    """The line with its noise scales; its references, parameters and guarantee are as planned."""
    return attrs.evolve(scaled, guarantee=planned.guarantee, of=planned.of, parameters=planned.parameters)


def _account(ledger: Any, dataset: str | None, note: str | None, insecure_seed: int | None) -> Account:
    """The account of the data set that a run is charged to."""
    from dpframe.ledger.account import Account

    if insecure_seed is not None:
        raise PlanError(
            "a run with insecure_seed= is not private, so that no ledger can account for it. Nothing was charged. "
            "Leave out the seed, or the ledger."
        )
    return Account.open(ledger, dataset, note)


def _recorded(charge: Charge, record: Callable[[], Charge]) -> Charge:
    """The charge after the outcome was recorded. A failure to record it is only a warning: the result is not lost."""
    try:
        return record()
    except Exception as error:
        from dpframe.ledger.account import not_recorded

        notice = not_recorded(charge, error)
        _warn(f"{notice}.")
        return attrs.evolve(charge, notices=(*charge.notices, notice))


def draw_and_derive(
    plan: Plan, source: Source, random: Random, reporter: ProgressReporter = SILENT, attempt: Attempt | None = None
) -> Attempt:
    """The values of all steps: each pass over the data first reads all statistics, then its steps draw and derive.

    Args:
        plan: the plan, for rows of a known dimension.
        source: the data.
        random: the randomness of the run.
        reporter: receives the progress.
        attempt: receives the values and failures, so that they are known even if the call is interrupted.
    """
    attempt = Attempt() if attempt is None else attempt
    schedule = plan.schedule()
    for due in schedule:
        reporter.begin(f"reading the data, pass {due.number} of {schedule[-1].number}" if due.number else "preparing")
        possible = Pass(due.number, tuple(step for step in due.steps if attempt.is_possible(plan, step)))
        drawn = [step.name for step in possible.steps if isinstance(step.action, Mechanism)]
        reading = partial(read, plan, source, possible, attempt.values, reporter)
        data = attempt.guarded(drawn[0], random, reading, derivation=False, reading=True) if drawn else None
        for step in possible.steps:
            if attempt.is_possible(plan, step):
                reporter.begin(_phase(step))
                _attempt(attempt, plan, step, data, random, reporter=reporter)
    return attempt


def _attempt(
    attempt: Attempt, plan: Plan, step: Step, data: PrivateData | None, random: Random, *, reporter: ProgressReporter
) -> None:
    """Add the value of a step, or its failure."""
    derivation = isinstance(step.action, PostProcessor)
    if derivation:
        work = partial(derived, plan, step, attempt.values)
    else:
        assert data is not None  # where reading fails, no release is possible
        work = partial(act, plan, step, data, attempt.values, random, reporter=reporter)
    value = attempt.guarded(step.name, random, work, derivation=derivation)
    if value is not None:
        attempt.values[step.name] = value


def _phase(step: Step) -> str:
    """A description of the step for progress reports, which does not depend on the data."""
    waits = isinstance(step.action, Mechanism) and step.action.draws_depend_on_data
    return f"working on {step.name!r}" + (", which may take long" if waits else "")


def read(
    plan: Plan, source: Source, due: Pass, values: Mapping[str, Kind], reporter: ProgressReporter = SILENT
) -> PrivateData:
    """The statistics of all releases that are due, read in one pass over the data.

    Args:
        plan: the plan, for rows of a known dimension.
        source: the data.
        due: the pass, with its steps.
        values: the results of earlier passes, by step.
        reporter: receives the progress.
    """
    rows, wanted = _told(lambda: (plan.rows.with_released(values), due.statistics(plan.rows, values)))
    for statistic in wanted:
        _told(partial(statistic.check, rows))
    if not wanted:
        return PrivateData(rows, statistics={})
    if source.matrix is not None:
        assert isinstance(rows, Matrix)  # or it would not have been opened
        return PrivateData(rows, statistics={each: {"moment": source.matrix.moment(rows)} for each in wanted})
    if source.partitions is not None:
        report = reporter.partitions if reporter.active else None
        return PrivateData(rows, statistics=source.partitions.accumulate(wanted, rows, source.meter, report))
    if source.pushed is not None:
        return PrivateData(rows, statistics=source.pushed.accumulate(wanted, rows, source.meter))
    blocks = reporter.reading(source, source.blocks(), count_rows=rows.neighbors == "replace")
    passes = plan.schedule()[-1].number - due.number + 1
    return PrivateData(rows, statistics=accumulate(blocks, wanted, rows, expected=passes * source.expected))


def _told(check: Callable[[], T]) -> T:
    """The result of a check with references resolved; its error depends on released values only, and may be shown."""
    try:
        return check()
    except PlanError as error:
        raise WrongKind(str(error)) from None


def act(
    plan: Plan,
    step: Step,
    data: PrivateData,
    values: Mapping[str, Kind],
    random: Random,
    *,
    reporter: ProgressReporter = SILENT,
) -> Kind:
    """The value of one step, of the kind that the plan expects.

    Args:
        plan: the plan, for rows of a known dimension.
        step: the step.
        data: the statistics that were read.
        values: the results so far, by step.
        random: the randomness of the run; the step gets its own child stream.
        reporter: receives the progress of a long draw.
    """
    action = resolve(step.action, values)
    if not isinstance(action, Mechanism):
        return derived(plan, step, values)
    level = plan.pricing.levels[step.name]
    with np.errstate(all="ignore"):  # whether NumPy warns or raises would depend on the data
        given = handed(plan, step, data, values, reporter)
        value = action.release(given, level, random.child(step.name))
    return of_its_kind(plan, step, value)


def handed(
    plan: Plan, step: Step, data: PrivateData, values: Mapping[str, Kind], reporter: ProgressReporter = SILENT
) -> PrivateData:
    """What the mechanism of a step is handed: its own statistics, with its own promise.

    Args:
        plan: the plan, for rows of a known dimension.
        step: the step.
        data: the statistics that were read.
        values: the results so far, by step.
        reporter: receives the progress of a long draw.
    """
    rows, statistics = plan.rows_of(step).with_released(values), dict(statistics_of(step, plan.rows, values))
    return data.handed(rows, statistics, reporter.parts)


def _notify(record: Record) -> None:
    """Call every observer. The value is charged already, so a failure of one, or an attempt to end the process or to be
    cancelled, is only a warning; an interrupt by the user is not."""
    for implementation in registry.hook().dpframe_after_release.get_hookimpls():
        try:
            implementation.function(*(record for _ in implementation.argnames))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _warn(f"a plugin failed after the release of {record.name!r}: {type(error).__name__}")


def _warn(text: str) -> None:
    """Warn without ever raising: where warnings are errors, the text is printed."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        with suppress(OSError, ValueError):  # standard error may be closed or full
            print(f"RuntimeWarning: {text}", file=sys.stderr)
