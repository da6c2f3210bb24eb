"""Simulated releases of a plan on made-up data, and how far each result is from what it would be without privacy."""

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
from dpframe.run.progress import SILENT, Teller
from dpframe.spec.refs import references, resolve
from dpframe.spec.scenario import Scenario

KEPT = 64  # simulations that are remembered


@attrs.frozen(kw_only=True, eq=False)
class Simulation:
    """Errors over many releases of one plan.

    Args:
        errors: one figure per release, by step and norm. A step has none where nobody knows its true value.
        seconds: the median time of a release, without reading the data.
    """

    errors: Mapping[str, Mapping[str, FloatArray]]
    seconds: float

    def of(self, step: str) -> Mapping[str, FloatArray]:
        return self.errors.get(step, {})


_known: OrderedDict[tuple[object, ...], Simulation] = OrderedDict()


def simulate(
    plan: Plan,
    scenario: Scenario,
    *,
    draws: int,
    seed: int,
    teller: Teller = SILENT,
    ideal: Ideal | None = None,
) -> Simulation:
    """Errors of a plan's results for data like the scenario's; the same call gives the same figures, at once.

    The made-up data is fixed by the seed; what varies is the noise. So errors are those that privacy causes: noise, and
    the scaling down of long rows where the scenario has a model of rows. With an `ideal` the last result is compared
    with that, whatever its mechanism says it would be without noise.
    """
    for name, value in (("draws", draws), ("seed", seed)):
        if not validators.is_int(value) or value < (1 if name == "draws" else 0):
            raise PlanError(
                f"{name} must be a {'positive' if name == 'draws' else 'non-negative'} integer; got {value!r}."
            )
    plan = plan.bind(scenario.dim)
    actions = tuple(type(step.action) for step in plan.steps)  # a class may be written anew under its old name
    key = (plan.content_hash, actions, scenario, draws, seed, ideal)
    if key not in _known:
        stream = Keystream.insecure(seed)
        sources = [Random(stream.child(f"release {draw}")) for draw in range(draws)]
        _known[key] = _simulated(plan, population(plan, scenario, seed), sources, teller, ideal)
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key]


def _simulated(
    plan: Plan, made_up: Population, sources: list[Random], teller: Teller, ideal: Ideal | None
) -> Simulation:
    truth: dict[str, Kind] = {}
    errors: dict[str, dict[str, list[float]]] = {}
    seconds = []
    for draw, random in enumerate(sources):
        values, taken = _release(plan, made_up, random)
        seconds.append(taken)
        if draw == 0:
            truth = without_privacy(plan, made_up, values)
            if ideal is not None:
                truth[plan.steps[-1].name] = ideal.of(made_up, plan.rows)
        for name, exact in truth.items():
            found = errors.setdefault(name, {})
            for norm, error in measured(values[name], exact, made_up.moment).items():
                found.setdefault(norm, []).append(error)
        teller.releases(draw + 1, len(sources))
    arrays = {name: {norm: _read_only(each) for norm, each in found.items()} for name, found in errors.items()}
    return Simulation(errors=arrays, seconds=float(np.median(seconds)))


def _read_only(values: list[float]) -> FloatArray:
    """What is remembered for the next caller is not for this one to change."""
    found = np.array(values)
    found.setflags(write=False)
    return found


def _release(plan: Plan, made_up: Population, random: Random) -> tuple[dict[str, Kind], float]:
    """The values of all steps as a run would give them, and the time that drawing and deriving took."""
    values: dict[str, Kind] = {}
    taken = 0.0
    for due in plan.schedule():
        data = made_up.data(plan.rows.with_released_norm(values), due.statistics(values))
        start = time.perf_counter()
        for step in due.steps:
            values[step.name] = runner.act(plan, step, data, values, random)
        taken += time.perf_counter() - start
    return values, taken


def without_privacy(plan: Plan, made_up: Population, values: Mapping[str, Kind]) -> dict[str, Kind]:
    """What the steps would give without noise and without scaling down rows, where that is known."""
    truth: dict[str, Kind] = {}
    for step in plan.steps:
        exact = _exact(plan, step, made_up, truth)
        if exact is None:
            exact = _leading(values[step.name], made_up.moment)
        if exact is not None:
            truth[step.name] = exact
    return truth


def _exact(plan: Plan, step: Step, made_up: Population, truth: Mapping[str, Kind]) -> Kind | None:
    """By the step itself, where it says so and all that it refers to is known."""
    if not all(name in truth for name in references(step.action)):
        return None
    action = resolve(step.action, truth)
    if isinstance(action, PostProcessor):
        return action.apply()
    assert isinstance(action, Mechanism)
    reads = action.reads()
    if not all(name in truth for statistic in reads for name in references(statistic)):
        return None
    return action.noiseless(made_up.unclipped(plan.rows, statistics_of(step, truth)))


def _leading(value: Kind, moment: FloatArray) -> Kind | None:
    """By its kind: a subspace stands for the leading eigenvectors, a spectrum for the leading eigenvalues."""
    if isinstance(value, ComplexSubspace):
        return Subspace(top_eigenpairs(moment, value.array.shape[1])[1])
    if isinstance(value, Spectrum):
        return Spectrum.from_noisy(top_eigenpairs(moment, len(value.array))[0])
    return None
