"""Runs a plan: the only place where private data is opened and randomness is passed to mechanisms.

The order is fixed: check the plan and the public schema → veto by plugins → charge the whole plan → read → draw →
derive. After the charge nothing that depends on the data aborts a run; any failure is reported, and the charge stands.
With a ledger, the charge is on disk before anything is read, so it survives a crash at any later moment.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from dpframe import registry
from dpframe.errors import DataError, PlanError, ReleaseFailed, SamplingError
from dpframe.interfaces import Mechanism, PostProcessor, Statistic
from dpframe.kinds import Kind
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.schedule import Pass, statistics_of
from dpframe.plan.steps import Step
from dpframe.reading.private_data import PrivateData
from dpframe.reading.totals import accumulate
from dpframe.run.progress import SILENT, Listener, ProgressReporter, reporting
from dpframe.run.result import Charge, Record, Result
from dpframe.run.statement import Line, statement
from dpframe.sources import Source, open_source
from dpframe.spec.refs import resolve
from dpframe.spec.rows import Rows
from dpframe.validators import is_int

if TYPE_CHECKING:
    from dpframe.ledger.account import Account

T = TypeVar("T")


def run(
    plan: Plan,
    data: Any,
    *,
    ledger: Any = None,
    dataset: str | None = None,
    insecure_seed: int | None = None,
    progress: bool | Listener | None = None,
) -> Result:
    """See :meth:`dpframe.Plan.run`."""
    with reporting(progress) as reporter:
        return _run(plan, data, ledger, dataset, insecure_seed=insecure_seed, reporter=reporter)


def _run(
    plan: Plan, data: Any, ledger: Any, dataset: str | None, *, insecure_seed: int | None, reporter: ProgressReporter
) -> Result:
    if insecure_seed is not None and not is_int(insecure_seed):
        raise PlanError(f"insecure_seed must be an integer; got {insecure_seed!r}.")
    account = None if ledger is None and dataset is None else _account(ledger, dataset, insecure_seed)
    source = open_source(data, plan.rows)
    content_hash = plan.content_hash
    plan = (plan if account is None else account.calibrated(plan)).bind(source.dim)
    needed = plan.schedule()[-1].number
    if source.one_shot and needed > 1:
        raise DataError(
            f"this plan reads the data {needed} times, but the source can be read only once. Nothing was charged. "
            "Pass an array, a list of chunks, or an object that can be iterated again."
        )
    random = Random(Keystream.secure() if insecure_seed is None else Keystream.insecure(insecure_seed))
    stated = statement(plan, content_hash)
    registry.hook().dpframe_before_charge(plan=plan, losses=plan.pricing.all_losses)
    charge = None if account is None else account.reserve(plan, content_hash)
    # From here on the plan is charged: `plan.spent` is spent whatever happens.
    try:
        values = draw_and_derive(plan, source, random, reporter)
    except ReleaseFailed as error:
        if account is not None and charge is not None:
            charge = _recorded(charge, partial(account.failed, charge, error.step))
            error.add_note(f"Charged to data set {charge.dataset!r}, entry {charge.entry}. Head: {charge.head}")
        raise
    if plan.rows.released_norm is not None:
        with suppress(Exception):  # the values are charged: return them, if need be without the noise scales
            scaled = statement(plan.with_released_norm(values), content_hash).lines
            stated = attrs.evolve(stated, lines=tuple(map(_with_guarantee_of, stated.lines, scaled)))
    records = {
        step.name: Record(name=step.name, value=values[step.name], line=stated.line(step.name)) for step in plan.steps
    }
    result = Result(statement=stated, records=records, private=random.private, versions=registry.versions())
    if account is not None and charge is not None:
        result = attrs.evolve(result, charge=_recorded(charge, partial(account.released, charge, result)))
    for record in records.values():
        _notify(record)
    return result


def _with_guarantee_of(planned: Line, scaled: Line) -> Line:
    """The line with its noise scales and the planned guarantee, which may rest on how the norm was released."""
    return attrs.evolve(scaled, guarantee=planned.guarantee)


def _account(ledger: Any, dataset: str | None, insecure_seed: int | None) -> Account:
    """The account of the data set that a run is charged to."""
    from dpframe.ledger.account import Account

    if insecure_seed is not None:
        raise PlanError(
            "a run with insecure_seed= is not private, so that no ledger can account for it. Nothing was charged. "
            "Leave out the seed, or the ledger."
        )
    return Account.open(ledger, dataset)


def _recorded(charge: Charge, record: Callable[[], Charge]) -> Charge:
    """The charge after the outcome was recorded. A failure to record it is only a warning: the result is not lost."""
    try:
        return record()
    except Exception as error:
        _warn(
            f"the outcome of the run could not be recorded in the ledger ({str(error).partition('. ')[0]}); the "
            f"charge, entry {charge.entry} of data set {charge.dataset!r}, stands."
        )
        return charge


def draw_and_derive(plan: Plan, source: Source, random: Random, reporter: ProgressReporter = SILENT) -> dict[str, Kind]:
    """The values of all steps: each pass over the data first reads all statistics, then its steps draw and derive.

    Args:
        plan: the plan, for rows of a known dimension.
        source: the data.
        random: the randomness of the run.
        reporter: receives the progress.
    """
    values: dict[str, Kind] = {}
    schedule = plan.schedule()
    for due in schedule:
        reporter.begin(f"reading the data, pass {due.number} of {schedule[-1].number}" if due.number else "preparing")
        data = _guarded(plan, due.steps[0].name, random, partial(read, plan, source, due, values, reporter))
        for step in due.steps:
            reporter.begin(_phase(step))
            work = partial(act, plan, step, data, values, random)
            values[step.name] = _guarded(plan, step.name, random, work)
    return values


def _phase(step: Step) -> str:
    """A description of the step for progress reports, which does not depend on the data."""
    waits = isinstance(step.action, Mechanism) and step.action.draws_depend_on_data
    return f"working on {step.name!r}" + (", which may take long: it draws until it is done" if waits else "")


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
    rows, wanted = plan.rows.with_released_norm(values), due.statistics(values)
    for statistic in wanted:
        _check_again(statistic, rows)
    if not wanted:
        return PrivateData(rows, statistics={})
    if source.partitions is not None:
        report = reporter.partitions if reporter.active else None
        return PrivateData(rows, statistics=source.partitions.accumulate(wanted, rows, source.meter, report))
    blocks = reporter.reading(source, source.blocks(), count_rows=rows.neighbors == "replace")
    return PrivateData(rows, statistics=accumulate(blocks, wanted, rows, expected=source.expected))


def _check_again(statistic: Statistic, rows: Rows) -> None:
    """Check a statistic whose references are resolved; the error depends on released values only, and may be shown."""
    try:
        statistic.check(rows)
    except PlanError as error:
        raise WrongKind(str(error)) from None


def act(plan: Plan, step: Step, data: PrivateData, values: Mapping[str, Kind], random: Random) -> Kind:
    """The value of one step, of the kind that the plan expects.

    Args:
        plan: the plan, for rows of a known dimension.
        step: the step.
        data: the statistics that were read.
        values: the results so far, by step.
        random: the randomness of the run; the step gets its own child stream.
    """
    import numpy as np

    action = resolve(step.action, values)
    with np.errstate(all="ignore"):  # whether NumPy warns or raises would depend on the data
        if isinstance(action, Mechanism):
            level = plan.pricing.levels[step.name]
            value = action.release(data.only(statistics_of(step, values)), level, random.child(step.name))
        else:
            assert isinstance(action, PostProcessor)
            value = action.apply()
    if not isinstance(value, plan.kinds[step.name]):
        raise WrongKind(f"it gave a {type(value).__name__} instead of {plan.kinds[step.name].title}.")
    return value


class WrongKind(Exception):
    """Raised when a step gives another kind than it declares, or a value that a later step cannot use."""


def _guarded(plan: Plan, step: str, random: Random, work: Callable[[], T]) -> T:
    """Do work after the charge; a failure is reported without details that may depend on the data.

    The error is raised outside the handler, so that it carries neither the original exception nor its frames, unless
    the run is seeded for a test. Only the messages of DataError, WrongKind and SamplingError are repeated.
    """
    try:
        return work()
    except SamplingError as error:
        error.step, error.spent = step, plan.spent
        raise
    except Exception as error:
        charged = plan.spent.within(plan.budget)
        detail = f": {error}" if isinstance(error, DataError | WrongKind) else f" ({type(error).__name__})."
        failure = ReleaseFailed(
            f"step {step!r} failed after the charge{detail} The charge of {charged} stands, and nothing of this run "
            "is returned. Other details are withheld, since they may depend on the data; running made-up data with "
            "insecure_seed=1 shows them.",
            step=step,
            spent=plan.spent,
        )
        if not random.private:
            raise failure from error
    raise failure


def _notify(record: Record) -> None:
    """Call every observer; the value is charged already, so a failure of one is only a warning."""
    for implementation in registry.hook().dpframe_after_release.get_hookimpls():
        try:
            implementation.function(*(record for _ in implementation.argnames))
        except Exception as error:
            _warn(f"a plugin failed after the release of {record.name!r}: {type(error).__name__}")


def _warn(text: str) -> None:
    """Warn without ever raising: where warnings are errors, the text is printed."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"RuntimeWarning: {text}", file=sys.stderr)
