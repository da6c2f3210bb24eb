"""Simulated releases of a plan on synthetic data, and the error of each result relative to that without privacy."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.forecast.error_norms import measured
from dpframe.forecast.population import Population, Sample, population
from dpframe.forecast.task_truth import Ideal
from dpframe.interfaces import Mechanism, PostProcessor
from dpframe.kinds import ComplexSubspace, Covariance, Kind, LinearMap, Spectrum, Subspace
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.schedule import statistics_of
from dpframe.plan.steps import Step
from dpframe.postprocess.eigen import top_eigenpairs
from dpframe.run import runner
from dpframe.run.progress import SILENT, ProgressReporter
from dpframe.spec.refs import references, resolve
from dpframe.spec.rows import Rows
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
    synthetic: Population | None = None,
) -> Simulation:
    """Simulate the errors of a plan's results for data with the scenario's figures; a repeated call is cached.

    The seed determines the synthetic data, and only the noise varies between releases. So the errors are those that
    privacy causes: noise, and the scaling down of long rows where the scenario has a model of rows. Of a table whose
    shape is not given, an equal share of the releases is simulated for each shape.

    Args:
        plan: the plan.
        scenario: the assumed data.
        draws: the number of releases.
        seed: the seed of the synthetic data and of the noise.
        reporter: receives the number of releases that are done.
        ideal: what the last result is compared with, instead of what its mechanism states it would be without noise.
        synthetic: the data of this scenario and seed, if it is at hand.
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
        shapes = scenario.variations if scenario.model == "table" else (scenario,)
        stream = Keystream.insecure(seed)
        sources = [Random(stream.child(f"release {draw}")) for draw in range(draws)]
        parts = [
            _simulated(plan, synthetic or population(plan, shape, seed), shared, reporter, ideal)
            for shape, shared in zip(shapes, np.array_split(np.array(sources, dtype=object), len(shapes)), strict=True)
            if len(shared)
        ]
        _known[key] = parts[0] if len(parts) == 1 else _together(parts)
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key]


def _together(parts: Sequence[Simulation]) -> Simulation:
    """The errors of several simulations, where all have them."""
    first, *others = parts
    errors = {
        step: {
            norm: _read_only(np.concatenate([part.errors[step][norm] for part in parts]))
            for norm in by_norm
            if all(norm in part.of(step) for part in others)
        }
        for step, by_norm in first.errors.items()
    }
    return Simulation(errors=errors, seconds=float(np.median([part.seconds for part in parts])))


def seconds_of_a_release(plan: Plan, synthetic: Population) -> float:
    """How long it takes to simulate one release, after the first, which reads what all have in common.

    Args:
        plan: the plan, for rows of a known dimension.
        synthetic: the synthetic data.
    """
    stream = Keystream.insecure(0)
    start = 0.0
    for draw in range(2):
        start = time.perf_counter()
        one_release(plan, synthetic, Random(stream.child(f"trial {draw}")))
    return time.perf_counter() - start


def _simulated(
    plan: Plan, synthetic: Population, sources: Iterable[Random], reporter: ProgressReporter, ideal: Ideal | None
) -> Simulation:
    truth: dict[str, Kind] = {}
    errors: dict[str, dict[str, list[float]]] = {}
    seconds = []
    sources = list(sources)
    scaled = any({"scale", "linear"} & plan.rows_of(step).awaited.keys() for step in plan.steps)
    for draw, random in enumerate(sources):
        values, taken = one_release(plan, synthetic, random)
        seconds.append(taken)
        if draw == 0 or scaled:  # released scales are the units of a result: the truth is computed in the same
            spreads = Spreads(plan, synthetic, values)
            truth = without_privacy(plan, synthetic, values, spreads)
            if ideal is not None:
                truth[plan.steps[-1].name] = ideal.of(plan, synthetic)
            moments = {name: spreads.of(name, truth) for name in truth}
        for name, exact in truth.items():
            by_norm = errors.setdefault(name, {})
            for norm, error in measured(values[name], exact, moments[name]).items():
                by_norm.setdefault(norm, []).append(error)
        reporter.releases(draw + 1, len(sources))
    arrays = {name: {norm: _read_only(each) for norm, each in by_norm.items()} for name, by_norm in errors.items()}
    return Simulation(errors=arrays, seconds=float(np.median(seconds)))


def _read_only(values: Sequence[float] | FloatArray) -> FloatArray:
    """A read-only array: the cache shares it between callers."""
    array = np.array(values)
    array.setflags(write=False)
    return array


def one_release(plan: Plan, synthetic: Population, random: Random) -> tuple[dict[str, Kind], float]:
    """The values of all steps as a run would give them, and the time taken to draw and derive them.

    Args:
        plan: the plan, for rows of a known dimension.
        synthetic: the synthetic data.
        random: the randomness of the release.
    """
    values: dict[str, Kind] = {}
    taken = 0.0
    for due in plan.schedule():
        data = synthetic.data(plan.rows.with_released(values), due.statistics(plan.rows, values))
        start = time.perf_counter()
        for step in due.steps:
            values[step.name] = runner.act(plan, step, data, values, random)
        taken += time.perf_counter() - start
    return values, taken


@attrs.frozen(eq=False)
class Spreads:
    """The second moments without noise that the results of a plan are about, by step.

    Args:
        plan: the plan.
        synthetic: the synthetic data.
        values: the values of one release, whose scales are the units of what follows.
    """

    plan: Plan
    synthetic: Population
    values: Mapping[str, Kind]
    _known: dict[Rows, FloatArray] = attrs.field(factory=dict, init=False)

    def rows(self, step: Step, truth: Mapping[str, Kind]) -> Rows | None:
        """The rows that a step sees without noise: about the exact center, divided by the released scales.

        None where the exact center is not known.
        """
        rows = self.plan.rows_of(step)
        if isinstance(step.action, Mechanism) and all(each.sees == "mapped" for each in step.action.reads()):
            rows = rows.unplaced
        known = {"about": truth, "scale": self.values, "linear": self.values}
        parts = {part: name for part, name in rows.awaited.items() if part in known}
        if not all(name in known[part] for part, name in parts.items()):
            return None
        return rows.with_released({name: known[part][name] for part, name in parts.items()})

    def of(self, name: str, truth: Mapping[str, Kind]) -> FloatArray:
        """The second moment that the result of a step is about: that of the rows of the last release it follows from.

        It is about the mean if these are about a released center whose exact value is not known, or multiplied by a
        matrix: what is derived from such rows is taken back to the coordinates of the columns.

        Args:
            name: the step.
            truth: the results without privacy that are known, by step.
        """
        source = self._source(name)
        rows = self.rows(source, truth)
        if rows is None or (rows.linear is not None and source.name != name):
            rows = attrs.evolve(self.plan.rows.unplaced, center=True)
        seen = rows if rows.columns is None else attrs.evolve(rows, norm=None)
        if seen not in self._known:
            self._known[seen] = self.synthetic.spread(seen)
        return self._known[seen]

    def _source(self, name: str) -> Step:
        steps = {step.name: step for step in self.plan.steps}
        found, order = [name], list(steps)
        for each in found:  # it grows meanwhile
            if not isinstance(steps[each].action, Mechanism):
                found += [other for other in references(steps[each].action) if other not in found]
        drawn = [each for each in found if isinstance(steps[each].action, Mechanism)]
        return steps[max(drawn, key=order.index, default=name)]


def without_privacy(plan: Plan, synthetic: Population, values: Mapping[str, Kind], spreads: Spreads) -> dict[str, Kind]:
    """The values of the steps without noise and without scaling down rows, where they are known.

    Args:
        plan: the plan.
        synthetic: the synthetic data.
        values: the values of one release, for their kinds and shapes.
        spreads: the second moments that results are about.
    """
    truth: dict[str, Kind] = {}
    for step in plan.steps:
        if isinstance(values[step.name], LinearMap):  # a choice of coordinates, those of what follows
            truth[step.name] = values[step.name]
            continue
        exact = _exact(plan, step, synthetic, truth, spreads)
        if exact is None:
            exact = _by_kind(values[step.name], spreads.of(step.name, truth), synthetic)
        if exact is not None:
            truth[step.name] = exact
    return truth


def _exact(plan: Plan, step: Step, synthetic: Population, truth: Mapping[str, Kind], spreads: Spreads) -> Kind | None:
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
    rows = spreads.rows(step, truth)
    if rows is None:
        return None
    statistics = [own for own, _ in statistics_of(step, plan.rows, truth)]
    return action.noiseless(synthetic.unclipped(rows, statistics))


def _by_kind(value: Kind, moment: FloatArray, synthetic: Population) -> Kind | None:
    """The exact value by its kind: leading eigenvectors for a subspace, leading eigenvalues for a spectrum.

    A covariance is taken to be in the coordinates of mapped rows.
    """
    if isinstance(value, ComplexSubspace):
        return Subspace(top_eigenpairs(moment, value.array.shape[1])[1])
    if isinstance(value, Spectrum):
        return Spectrum.from_noisy(top_eigenpairs(moment, len(value.array))[0])
    if isinstance(value, Covariance) and isinstance(synthetic, Sample):
        return Covariance(synthetic.covariance)
    return None
