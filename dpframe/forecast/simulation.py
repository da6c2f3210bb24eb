"""Simulated releases of a plan on synthetic data, and the error of each result relative to that without privacy."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping

import attrs
import numpy as np

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.forecast.error_norms import measured
from dpframe.forecast.population import Population, population
from dpframe.forecast.task_truth import Ideal
from dpframe.interfaces import Mechanism, PostProcessor
from dpframe.kinds import ComplexSubspace, Kind, Spectrum, Subspace
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.schedule import statistics_of
from dpframe.plan.steps import Step
from dpframe.postprocess.eigen import top_eigenpairs
from dpframe.run import runner
from dpframe.run.progress import SILENT, ProgressReporter
from dpframe.spec.refs import references, resolve
from dpframe.spec.scenario import Scenario

KEPT = 64  # simulations in the cache


@attrs.frozen(kw_only=True, eq=False)
class Simulation:
    """The errors of many releases of one plan.

    Args:
        errors: one figure per release, by step and norm. A step whose value without privacy is not known has none.
        seconds: the median time of a release, without reading the data.
    """

    errors: Mapping[str, Mapping[str, FloatArray]]
    seconds: float

    def of(self, step: str) -> Mapping[str, FloatArray]:
        """The errors of one step, by norm.

        Args:
            step: the name of the step.
        """
        return self.errors.get(step, {})


_known: OrderedDict[tuple[object, ...], Simulation] = OrderedDict()


def simulate(
    plan: Plan,
    scenario: Scenario,
    *,
    draws: int,
    seed: int,
    reporter: ProgressReporter = SILENT,
    ideal: Ideal | None = None,
) -> Simulation:
    """Simulate the errors of a plan's results for data with the scenario's figures; a repeated call is cached.

    The seed determines the synthetic data, and only the noise varies between releases. So the errors are those that
    privacy causes: noise, and the scaling down of long rows where the scenario has a model of rows.

    Args:
        plan: the plan.
        scenario: the assumed data.
        draws: the number of releases.
        seed: the seed of the synthetic data and of the noise.
        reporter: receives the number of releases that are done.
        ideal: what the last result is compared with, instead of what its mechanism states it would be without noise.
    """
    for name, value in (("draws", draws), ("seed", seed)):
        if not validators.is_int(value) or value < (1 if name == "draws" else 0):
            raise PlanError(
                f"{name} must be a {'positive' if name == 'draws' else 'non-negative'} integer; got {value!r}."
            )
    plan = plan.bind(scenario.dim)
    actions = tuple(type(step.action) for step in plan.steps)  # a class may be redefined under the same name
    key = (plan.content_hash, actions, scenario, draws, seed, ideal)
    if key not in _known:
        stream = Keystream.insecure(seed)
        sources = [Random(stream.child(f"release {draw}")) for draw in range(draws)]
        _known[key] = _simulated(plan, population(plan, scenario, seed), sources, reporter, ideal)
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key]


def _simulated(
    plan: Plan, synthetic: Population, sources: list[Random], reporter: ProgressReporter, ideal: Ideal | None
) -> Simulation:
    truth: dict[str, Kind] = {}
    errors: dict[str, dict[str, list[float]]] = {}
    seconds = []
    for draw, random in enumerate(sources):
        values, taken = _release(plan, synthetic, random)
        seconds.append(taken)
        if draw == 0:
            truth = without_privacy(plan, synthetic, values)
            if ideal is not None:
                truth[plan.steps[-1].name] = ideal.of(synthetic, plan.rows)
        for name, exact in truth.items():
            by_norm = errors.setdefault(name, {})
            for norm, error in measured(values[name], exact, synthetic.moment).items():
                by_norm.setdefault(norm, []).append(error)
        reporter.releases(draw + 1, len(sources))
    arrays = {name: {norm: _read_only(each) for norm, each in by_norm.items()} for name, by_norm in errors.items()}
    return Simulation(errors=arrays, seconds=float(np.median(seconds)))


def _read_only(values: list[float]) -> FloatArray:
    """A read-only array: the cache shares it between callers."""
    array = np.array(values)
    array.setflags(write=False)
    return array


def _release(plan: Plan, synthetic: Population, random: Random) -> tuple[dict[str, Kind], float]:
    """The values of all steps as a run would give them, and the time taken to draw and derive them."""
    values: dict[str, Kind] = {}
    taken = 0.0
    for due in plan.schedule():
        data = synthetic.data(plan.rows.with_released(values), due.statistics(plan.rows, values))
        start = time.perf_counter()
        for step in due.steps:
            values[step.name] = runner.act(plan, step, data, values, random)
        taken += time.perf_counter() - start
    return values, taken


def without_privacy(plan: Plan, synthetic: Population, values: Mapping[str, Kind]) -> dict[str, Kind]:
    """The values of the steps without noise and without scaling down rows, where they are known.

    Args:
        plan: the plan.
        synthetic: the synthetic data.
        values: the values of one release, for their kinds and shapes.
    """
    truth: dict[str, Kind] = {}
    for step in plan.steps:
        exact = _exact(plan, step, synthetic, truth)
        if exact is None:
            exact = _leading(values[step.name], synthetic.moment)
        if exact is not None:
            truth[step.name] = exact
    return truth


def _exact(plan: Plan, step: Step, synthetic: Population, truth: Mapping[str, Kind]) -> Kind | None:
    """The exact value as the step itself computes it; None where it cannot, or where an input is not known."""
    if not all(name in truth for name in references(step.action)):
        return None
    action = resolve(step.action, truth)
    if isinstance(action, PostProcessor):
        return action.apply()
    assert isinstance(action, Mechanism)
    reads = action.reads()
    if not all(name in truth for statistic in reads for name in references(statistic)):
        return None
    statistics = [own for own, _ in statistics_of(step, plan.rows, truth)]
    return action.noiseless(synthetic.unclipped(plan.rows, statistics))


def _leading(value: Kind, moment: FloatArray) -> Kind | None:
    """The exact value by its kind: leading eigenvectors for a subspace, leading eigenvalues for a spectrum."""
    if isinstance(value, ComplexSubspace):
        return Subspace(top_eigenpairs(moment, value.array.shape[1])[1])
    if isinstance(value, Spectrum):
        return Spectrum.from_noisy(top_eigenpairs(moment, len(value.array))[0])
    return None
