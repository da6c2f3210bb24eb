"""Releases repeated many times on made-up data, on every core."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any

import attrs
import numpy as np

from dpframe.auditing.neighbor_pairs import Pair
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism
from dpframe.kinds import ComplexSubspace, HermitianMatrix, Kind
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.reading.private_data import PrivateData
from dpframe.run import runner
from dpframe.sources import open_source
from dpframe.spec.refs import resolve

BATCH = 500  # trials of one task; also how often progress is told
WORTH_WORKERS = 40_000  # releases; starting processes takes as long as a few thousand


@attrs.frozen(eq=False, slots=False)
class Experiment:
    """A plan, and the neighbours it is released on."""

    plan: Plan
    pairs: tuple[Pair, ...]

    @cached_property
    def _data(self) -> dict[tuple[int, bool], PrivateData]:
        """What has been read: plans of one pass read each data set once for all trials."""
        return {}

    @property
    def one_pass(self) -> bool:
        return self.plan.schedule()[-1].number == 1

    def data(self, pair: int, other: bool) -> PrivateData:
        if (pair, other) not in self._data:
            source = self._source(pair, other)
            self._data[pair, other] = runner.read(self.plan, source, self.plan.schedule()[-1], {})
        return self._data[pair, other]

    def _source(self, pair: int, other: bool) -> Any:
        return open_source(self.pairs[pair].other if other else self.pairs[pair].one, self.plan.rows)

    def released(self, pair: int, other: bool, random: Random) -> dict[str, Kind]:
        """The values of all steps, drawn anew."""
        if not self.one_pass:
            return runner.draw_and_derive(self.plan, self._source(pair, other), random)
        values: dict[str, Kind] = {}
        for step in self.plan.steps:
            values[step.name] = runner.act(self.plan, step, self.data(pair, other), values, random)
        return values

    def numbers(self, pair: int, other: bool, random: Random) -> FloatArray:
        """What one trial tells: all numbers released, after the log-likelihood ratio where it is known.

        The ratio is one number among others: a density that is stated wrongly must not hide what is released.
        """
        values = self.released(pair, other, random)
        ratio = self._log_ratio(pair, values) if self.one_pass else None
        first = np.zeros(0) if ratio is None else np.array([ratio])
        return np.concatenate([first, *(_numbers(values[step.name]) for step, _ in self.plan.releases)])

    def _log_ratio(self, pair: int, values: dict[str, Kind]) -> float | None:
        total = 0.0
        for step, _ in self.plan.releases:
            mechanism, level = resolve(step.action, values), self.plan.pricing.levels[step.name]
            assert isinstance(mechanism, Mechanism)
            one = mechanism.log_density(values[step.name], self.data(pair, False), level)
            other = mechanism.log_density(values[step.name], self.data(pair, True), level)
            if one is None or other is None:
                return None
            if not (math.isfinite(one) and math.isfinite(other)):
                raise PlanError(f"the log-density of {mechanism.name!r} is {one} and {other}, not finite numbers.")
            total += one - other
        return total

    @cached_property
    def knows_density(self) -> bool:
        """Whether the likelihood ratio is known; one draw tells."""
        values = self.released(0, False, Random(Keystream.secure())) if self.one_pass else {}
        return bool(values) and self._log_ratio(0, values) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        plan = {field.alias: getattr(self.plan, field.name) for field in attrs.fields(Plan)}
        return _rebuilt, (plan, self.pairs)


def _rebuilt(plan: dict[str, Any], pairs: tuple[Pair, ...]) -> Experiment:
    return Experiment(Plan(**plan), pairs)


def _numbers(value: Kind) -> FloatArray:
    """The numbers of a released value, and of what is released beside it."""
    array = value.array
    arrays = [array]
    if isinstance(value, HermitianMatrix):
        arrays = [array[_upper(len(array))]]
    if isinstance(value, ComplexSubspace):
        arrays.append((array @ array.conj().T)[_upper(len(array))])  # what does not depend on the basis
    parts = [part for each in arrays for part in ((each.real, each.imag) if np.iscomplexobj(each) else (each,))]
    beside = [float(number) for number in value.beside if isinstance(number, int | float)]
    if value.axes is not None:
        beside += [*value.axes.scale, *value.axes.offset]
    return np.concatenate([*(part.ravel() for part in parts), np.array(beside)]).astype(np.float64)


@lru_cache(maxsize=4)
def _upper(dim: int) -> Any:
    """Where the entries of an upper triangle are."""
    return np.triu_indices(dim)


@attrs.frozen(kw_only=True)
class Task:
    """Some trials on one data set."""

    pair: int
    other: bool
    name: str
    count: int


def tasks(pair: int, count: int, phase: str) -> list[Task]:
    """The tasks for so many trials on either data set of a pair."""
    sizes = [min(BATCH, count - start) for start in range(0, count, BATCH)]
    return [
        Task(pair=pair, other=other, name=f"{phase} {pair} {other} {number}", count=size)
        for other in (False, True)
        for number, size in enumerate(sizes)
    ]


def _performed(experiment: Experiment, task: Task, seed: int | None) -> FloatArray:
    """The numbers of each trial of a task; the stream belongs to the task, whoever performs it."""
    random = Random(Keystream.secure() if seed is None else Keystream.insecure(seed)).child(task.name)
    draws = [experiment.numbers(task.pair, task.other, random.child(str(trial))) for trial in range(task.count)]
    if len({len(numbers) for numbers in draws}) > 1:
        raise PlanError("what is released has no fixed shape, or a density only at times; an audit needs both fixed.")
    return np.stack(draws)


class Laboratory:
    """Performs the tasks of one experiment, in processes of its own where that is worth while.

    A mechanism that another process cannot import, such as one of a notebook, is tried in this process.
    """

    def __init__(self, experiment: Experiment, seed: int | None, tell: Callable[[int], None], *, planned: int) -> None:
        self._experiment, self._seed, self._tell = experiment, seed, tell
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None
        if cores > 1 and planned >= WORTH_WORKERS and _importable(experiment):
            self._pool = _hire(cores, experiment, seed)

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def perform(self, wanted: list[Task]) -> dict[tuple[int, bool], FloatArray]:
        """The numbers of all trials, by pair and data set."""
        found: dict[tuple[int, bool], list[FloatArray]] = {}
        for task, numbers in zip(wanted, self._results(wanted), strict=True):
            found.setdefault((task.pair, task.other), []).append(numbers)
            self._tell(task.count)
        return {key: np.concatenate(parts) for key, parts in found.items()}

    def _results(self, wanted: list[Task]) -> Iterator[FloatArray]:
        done = 0
        if self._pool is not None:
            try:
                for numbers in self._pool.map(_at_work, wanted):
                    yield numbers
                    done += 1
            except BrokenProcessPool:  # a class that only this process can find, or no memory for others
                self._pool = None
        yield from (_performed(self._experiment, task, self._seed) for task in wanted[done:])


def _hire(cores: int, experiment: Experiment, seed: int | None) -> ProcessPoolExecutor:
    """Processes that have the experiment, all of them started.

    A new process would run the script that started this one, and with it any release in it, were its name not hidden.
    """
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {name: vars(main).pop(name) for name in ("__spec__", "__file__") if name in vars(main)}
    main.__spec__ = None
    try:
        pool = ProcessPoolExecutor(
            cores,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_hired,
            initargs=(experiment, seed),
        )
        with suppress(BrokenProcessPool):
            for waiting in [pool.submit(os.getpid) for _ in range(cores)]:
                waiting.result()
    finally:
        vars(main).update(hidden)
    return pool


_employed: list[tuple[Experiment, int | None]] = []


def _hired(experiment: Experiment, seed: int | None) -> None:
    _employed[:] = [(experiment, seed)]


def _at_work(task: Task) -> FloatArray:
    ((experiment, seed),) = _employed
    return _performed(experiment, task, seed)


def _importable(experiment: Experiment) -> bool:
    """Whether another process can have the experiment: no class of the script that started this one."""
    if any(type(step.action).__module__ == "__main__" for step in experiment.plan.steps):
        return False
    try:
        pickle.dumps(experiment)
    except Exception:  # whatever a class of somebody else raises
        return False
    return True
