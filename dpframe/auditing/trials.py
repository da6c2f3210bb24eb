"""The trials of an audit: releases repeated many times on synthetic data, on every core."""

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

from dpframe.auditing.pair import Pair
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

BATCH = 500  # the most trials of one task; progress is reported after each task
WORTH_WORKERS = 40_000  # releases from which on worker processes pay; starting them takes as long as a few thousand


@attrs.frozen(eq=False, slots=False)
class Experiment:
    """A plan, and the pairs of neighbors that it is released on.

    Args:
        plan: the plan, for rows of a known dimension.
        pairs: the pairs.
    """

    plan: Plan
    pairs: tuple[Pair, ...]

    @cached_property
    def _data(self) -> dict[tuple[int, bool], PrivateData]:
        """The statistics read so far: a plan of one pass reads each data set once for all trials."""
        return {}

    @property
    def one_pass(self) -> bool:
        """Whether the plan reads the data once."""
        return self.plan.schedule()[-1].number == 1

    def data(self, pair: int, other: bool) -> PrivateData:
        """The statistics of one data set, for a plan of one pass.

        Args:
            pair: the index of the pair.
            other: which of its two data sets.
        """
        if (pair, other) not in self._data:
            source = self._source(pair, other)
            self._data[pair, other] = runner.read(self.plan, source, self.plan.schedule()[-1], {})
        return self._data[pair, other]

    def _source(self, pair: int, other: bool) -> Any:
        return open_source(self.pairs[pair].other if other else self.pairs[pair].one, self.plan.rows)

    def released(self, pair: int, other: bool, random: Random) -> dict[str, Kind]:
        """The values of all steps in a new release.

        Args:
            pair: the index of the pair.
            other: which of its two data sets.
            random: the randomness of the release.
        """
        if not self.one_pass:
            return runner.draw_and_derive(self.plan, self._source(pair, other), random).checked(self.plan)
        values: dict[str, Kind] = {}
        for step in self.plan.steps:
            values[step.name] = runner.act(self.plan, step, self.data(pair, other), values, random)
        return values

    def numbers(self, pair: int, other: bool, random: Random) -> FloatArray:
        """The outcome of one trial: the log-likelihood ratio where it is known, then all numbers released.

        The ratio is not used alone, so that a wrongly stated density cannot hide what the numbers reveal.

        Args:
            pair: the index of the pair.
            other: which of its two data sets.
            random: the randomness of the release.
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
            handed = [runner.handed(self.plan, step, self.data(pair, which), values) for which in (False, True)]
            one, other = (mechanism.log_density(values[step.name], data, level) for data in handed)
            if one is None or other is None:
                return None
            if not (math.isfinite(one) and math.isfinite(other)):
                raise PlanError(f"the log-density of {mechanism.name!r} is {one} and {other}, not finite numbers.")
            total += one - other
        return total

    @cached_property
    def knows_density(self) -> bool:
        """Whether the likelihood ratio is known, as determined by one release."""
        values = self.released(0, False, Random(Keystream.secure())) if self.one_pass else {}
        return bool(values) and self._log_ratio(0, values) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        plan = {field.alias: getattr(self.plan, field.name) for field in attrs.fields(Plan)}
        return _rebuilt, (plan, self.pairs)


def _rebuilt(plan: dict[str, Any], pairs: tuple[Pair, ...]) -> Experiment:
    return Experiment(Plan(**plan), pairs)


def _numbers(value: Kind) -> FloatArray:
    """The numbers of a released value, and those released with it."""
    array = value.array
    arrays = [array]
    if isinstance(value, HermitianMatrix):
        arrays = [array[_upper(len(array))]]
    if isinstance(value, ComplexSubspace):
        arrays.append((array @ array.conj().T)[_upper(len(array))])  # what does not depend on the basis
    parts = [part for each in arrays for part in ((each.real, each.imag) if np.iscomplexobj(each) else (each,))]
    extra = [float(number) for number in value.beside if isinstance(number, int | float)]
    if value.axes is not None:
        extra += [*value.axes.scale, *value.axes.offset]
    return np.concatenate([*(part.ravel() for part in parts), np.array(extra)]).astype(np.float64)


@lru_cache(maxsize=4)
def _upper(dim: int) -> Any:
    """The indices of an upper triangle."""
    return np.triu_indices(dim)


@attrs.frozen(kw_only=True)
class Task:
    """A batch of trials on one data set.

    Args:
        pair: the index of the pair.
        other: which of its two data sets.
        name: the name of the random stream.
        count: the number of trials.
    """

    pair: int
    other: bool
    name: str
    count: int


def tasks(pair: int, count: int, phase: str) -> list[Task]:
    """The tasks for a number of trials on each data set of a pair.

    Args:
        pair: the index of the pair.
        count: the number of trials on each data set.
        phase: "pilot" or "test", which have different random streams.
    """
    sizes = [min(BATCH, count - start) for start in range(0, count, BATCH)]
    return [
        Task(pair=pair, other=other, name=f"{phase} {pair} {other} {number}", count=size)
        for other in (False, True)
        for number, size in enumerate(sizes)
    ]


def _performed(experiment: Experiment, task: Task, seed: int | None) -> FloatArray:
    """The numbers of each trial of a task; its random stream does not depend on the process that performs it."""
    random = Random(Keystream.secure() if seed is None else Keystream.insecure(seed)).child(task.name)
    draws = [experiment.numbers(task.pair, task.other, random.child(str(trial))) for trial in range(task.count)]
    if len({len(numbers) for numbers in draws}) > 1:
        raise PlanError("what is released has no fixed shape, or a density only at times; an audit needs both fixed.")
    return np.stack(draws)


class Laboratory:
    """Performs the tasks of one experiment, in worker processes where that is faster.

    A mechanism that another process cannot import, such as one defined in a notebook, is run in this process.

    Args:
        experiment: the experiment.
        seed: makes the trials repeatable; None for secure randomness.
        report: called with the number of trials of each task that is done.
        planned: the number of releases of the whole audit.
    """

    def __init__(
        self, experiment: Experiment, seed: int | None, report: Callable[[int], None], *, planned: int
    ) -> None:
        self._experiment, self._seed, self._report = experiment, seed, report
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None
        if cores > 1 and planned >= WORTH_WORKERS and _importable(experiment):
            self._pool = _start_workers(cores, experiment, seed)

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def perform(self, wanted: list[Task]) -> dict[tuple[int, bool], FloatArray]:
        """The numbers of all trials, by pair and data set.

        Args:
            wanted: the tasks.
        """
        samples: dict[tuple[int, bool], list[FloatArray]] = {}
        for task, numbers in zip(wanted, self._results(wanted), strict=True):
            samples.setdefault((task.pair, task.other), []).append(numbers)
            self._report(task.count)
        return {key: np.concatenate(parts) for key, parts in samples.items()}

    def _results(self, wanted: list[Task]) -> Iterator[FloatArray]:
        done = 0
        if self._pool is not None:
            try:
                for numbers in self._pool.map(_perform_in_worker, wanted):
                    yield numbers
                    done += 1
            except BrokenProcessPool:  # a class that only this process can import, or too little memory
                self._pool = None
        yield from (_performed(self._experiment, task, self._seed) for task in wanted[done:])


def _start_workers(cores: int, experiment: Experiment, seed: int | None) -> ProcessPoolExecutor:
    """A pool of worker processes, all started, that hold the experiment.

    The name of the main script is hidden meanwhile: otherwise each worker would run it, with any release in it.
    """
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {name: vars(main).pop(name) for name in ("__spec__", "__file__") if name in vars(main)}
    main.__spec__ = None
    try:
        pool = ProcessPoolExecutor(
            cores,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_initialize,
            initargs=(experiment, seed),
        )
        with suppress(BrokenProcessPool):
            for waiting in [pool.submit(os.getpid) for _ in range(cores)]:
                waiting.result()
    finally:
        vars(main).update(hidden)
    return pool


_held: list[tuple[Experiment, int | None]] = []
"""In a worker process, the experiment and its seed."""


def _initialize(experiment: Experiment, seed: int | None) -> None:
    _held[:] = [(experiment, seed)]


def _perform_in_worker(task: Task) -> FloatArray:
    ((experiment, seed),) = _held
    return _performed(experiment, task, seed)


def _importable(experiment: Experiment) -> bool:
    """Whether a worker process can get the experiment: it can be pickled, and uses no class of the main script."""
    if any(type(step.action).__module__ == "__main__" for step in experiment.plan.steps):
        return False
    try:
        pickle.dumps(experiment)
    except Exception:  # third-party classes may raise anything
        return False
    return True
