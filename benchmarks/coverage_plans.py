"""Plans whose error bars are measured: each is released many times on a table, beside its values without noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream
from dpframe.run.noise_law import noise_in
from dpframe.run.runner import act, draw_and_derive, read
from dpframe.sources import open_source

DELTA = 1e-6
FEW = 3  # eigenvalues that are released by themselves

Values = dict[str, Kind]
"""By step."""


@attrs.frozen
class Releases:
    """Releases of one plan on one table at one epsilon.

    Args:
        plan: the plan, for rows of a known dimension.
        drawn: the values of each release.
        truths: the values without noise, for each release.
        kept: the steps whose error bars are measured.
    """

    plan: dp.Plan
    drawn: list[Values]
    truths: list[Values]
    kept: frozenset[str]


Plans = Callable[[FloatArray, float, range], Releases]
"""Releases of a plan: from rows, epsilon, and the numbers that stand for the randomness of each release."""


def _streams(epsilon: float, numbers: range) -> Iterator[dp.Random]:
    """The randomness of each release, other than that at another epsilon."""
    stream = Keystream.insecure(round(1000 * epsilon))
    return (dp.Random(stream.child(str(number))) for number in numbers)


def _columns(dim: int) -> list[dp.Column]:
    return [dp.Column(f"x{number}", -1, 1) for number in range(dim)]


def _derived(dim: int, of: str) -> list[dp.Step]:
    """What is derived from a covariance."""
    steps = [
        dp.derive("covariance_in_units", "to-units", of=of),
        dp.derive("correlation", "correlation", of=of),
        dp.derive("eigenvalues", "eigenvalues", of=of),
    ]
    for k in (1, 3):
        steps += [
            dp.derive(f"components-{k}", "top-subspace", of=of, k=k),
            dp.derive(f"low-rank-{k}", "rank-k", of=of, k=k),
            dp.derive(f"explained-{k}", "explained-variance", of=of, components=f"components-{k}"),
        ]
    return steps


def _plain(mechanism: str, delta: float) -> Plans:
    """A moment about the middle of the ranges, released many times from one reading of the data."""

    def made(rows: FloatArray, epsilon: float, numbers: range) -> Releases:
        dim = rows.shape[1]
        plan = dp.Plan(
            rows=dp.Rows(columns=_columns(dim), neighbors="add-remove", center=True),
            budget=dp.Budget(epsilon=epsilon, delta=delta),
            steps=[
                dp.release("moment", mechanism),
                dp.derive("count", "count", of="moment"),
                dp.derive("mean", "mean", of="moment"),
                dp.derive("covariance", "covariance", of="moment"),
                dp.derive("scales", "scales", of="covariance"),
                *_derived(dim, "covariance"),
            ],
        )
        data = read(plan, open_source(rows, plan.rows), plan.schedule()[0], {})
        release: Any = plan.steps[0].action
        truth = _chained(plan, {"moment": release.noiseless(data)})
        drawn = []
        for random in _streams(epsilon, numbers):
            moment = release.release(data, plan.pricing.levels["moment"], random)
            drawn.append(_chained(plan, {"moment": moment}))
        return Releases(plan, drawn, [truth] * len(drawn), frozenset(truth))

    return made


def _chained(plan: dp.Plan, released: Values) -> Values:
    values = dict(released)
    for step in plan.steps:
        if step.name not in values:
            values[step.name] = act(plan, step, None, values, None)  # type: ignore[arg-type]
    return values


def _adaptive(goal: str) -> Plans:
    """The adaptive release; what is compared depends on the released center, scales and norm."""

    def made(rows: FloatArray, epsilon: float, numbers: range) -> Releases:
        dim = rows.shape[1]
        plan = dp.Plan(
            rows=dp.Rows(columns=_columns(dim), neighbors="add-remove"),
            budget=dp.Budget(epsilon=epsilon, delta=DELTA),
            steps=[dp.release("cov", "adaptive", goal=goal), *_derived(dim, "cov")],
        )
        without = dp.Plan(
            rows=dp.Rows(columns=_columns(dim), neighbors="add-remove", center=True),
            budget=plan.budget,
            steps=[
                dp.release("moment", "gaussian"),
                dp.derive("cov", "covariance", of="moment"),
                *_derived(dim, "cov"),
            ],
        )
        source = open_source(rows, plan.rows)
        drawn, truths = [], []
        for random in _streams(epsilon, numbers):
            values = draw_and_derive(plan, source, random).values
            exact = _with_map(plan, rows, values) if "cov.linear" in values else _augmented(rows, values)
            moment = dp.AugmentedMoment(exact, axes=without.rows.axes, constant=1.0)
            truth = _chained(without, {"moment": moment})
            drawn.append(values)
            truths.append({**truth, "cov.count": dp.Scalar(float(len(rows)))})
        kept = frozenset({"cov", "cov.count", *(step.name for step in _derived(dim, "cov"))})
        return Releases(plan, drawn, truths, kept)

    return made


def _augmented(rows: FloatArray, values: Values) -> FloatArray:
    """The moment of the rows as they were placed and scaled down, in mapped coordinates, with a constant of 1."""
    about = np.clip(values["cov.about"].array, -1.0, 1.0)
    scale = values["cov.scale"].array if "cov.scale" in values else np.ones(rows.shape[1])
    wide = np.column_stack([_shortened((rows - about) / scale, values["cov.norm"]) * scale, np.ones(len(rows))])
    return np.asarray(wide.T @ wide)


def _with_map(plan: dp.Plan, rows: FloatArray, values: Values) -> FloatArray:
    """The same where there is a linear map, about the mean: each entry is the average of both moments, by precision."""
    axes, rates, _ = np.linalg.svd(values["cov.linear"].array)
    about = (rows - np.clip(values["cov.center"].array, -1.0, 1.0)) @ axes
    products = np.outer(rates, rates)
    pilot = np.cov(_shortened(about, values["cov.radius"]).T, bias=True)
    moment = np.cov(_shortened(about * rates, values["cov.linear-radius"]).T, bias=True) / products
    noise = {name: noise_in(plan, f"cov.{name}", values)["off-diagonal"] for name in ("pilot", "moment")}
    weight = 1 / (1 + (noise["moment"] / products / noise["pilot"]) ** 2)
    found = axes @ (weight * moment + (1 - weight) * pilot) @ axes.T
    whole = np.eye(len(found) + 1)
    whole[:-1, :-1] = (found + found.T) / 2
    return np.asarray(whole * len(rows))


def _shortened(rows: FloatArray, norm: Kind) -> FloatArray:
    """Rows scaled down to a released norm."""
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    return np.asarray(rows * np.minimum(1.0, float(norm.array) / lengths)[:, None])


def _sorted_spectrum(rows: FloatArray, epsilon: float, numbers: range) -> Releases:
    """The largest eigenvalues of the moment, by Laplace noise."""
    plan = dp.Plan(
        rows=dp.Rows(columns=_columns(rows.shape[1]), neighbors="add-remove"),
        budget=dp.Budget(epsilon=epsilon),
        steps=[dp.release("eigenvalues", "laplace-eigenvalues", k=3)],
    )
    data = read(plan, open_source(rows, plan.rows), plan.schedule()[0], {})
    release: Any = plan.steps[0].action
    exact = np.linalg.eigvalsh(rows.T @ rows)[::-1][:3]
    levels = plan.pricing.levels["eigenvalues"]
    drawn = [{"eigenvalues": release.release(data, levels, random)} for random in _streams(epsilon, numbers)]
    return Releases(plan, drawn, [{"eigenvalues": dp.Spectrum(exact)}] * len(drawn), frozenset({"eigenvalues"}))


def _slopes(rows: FloatArray, epsilon: float, numbers: range) -> Releases:
    """The model of the last column: the slopes of the rows as they were scaled down, through the mean of all rows."""
    dim = rows.shape[1]
    target, mean = f"x{dim - 1}", rows.mean(axis=0)
    plan = dp.Plan(
        rows=dp.Rows(columns=_columns(dim), neighbors="add-remove"),
        budget=dp.Budget(epsilon=epsilon, delta=DELTA),
        steps=[
            dp.release("cov", "adaptive", goal="regression", target=target),
            dp.derive("model", "regression", of="cov", target=target),
        ],
    )
    source = open_source(rows, plan.rows)
    drawn: list[Values] = []
    truths: list[Values] = []
    for random in _streams(epsilon, numbers):
        values = draw_and_derive(plan, source, random).values
        moment = dp.AugmentedMoment(_augmented(rows, values), axes=plan.rows.axes, constant=1.0)
        drawn.append(values)
        model = dp.postprocess.Regression(of=moment, target=target, penalty=0.0).apply()
        intercept = mean[-1] - model.slopes @ mean[:-1]
        truths.append({"model": attrs.evolve(model, array=np.append(model.slopes, intercept))})
    return Releases(plan, drawn, truths, frozenset({"model"}))


def _directions(mechanism: str) -> Plans:
    """The leading direction by the exponential mechanism, with eigenvalues that were released before it."""

    def made(rows: FloatArray, epsilon: float, numbers: range) -> Releases:
        drawn = {
            "orbit": [
                dp.release("draw", "orbit", spectrum=dp.ref("spectrum")),
                dp.derive("components-1", "top-subspace", of="draw", k=1),
            ],
            "bingham": [dp.release("components-1", "bingham", spectrum=dp.ref("spectrum"))],
        }
        steps = [dp.release("spectrum", "laplace-eigenvalues", k=FEW), *drawn[mechanism]]
        return _of_moment(dp.Budget(epsilon=epsilon), steps, {"components-1"}, rows, numbers)

    return made


def _blocks(rows: FloatArray, epsilon: float, numbers: range) -> Releases:
    """A moment in blocks along a released direction, with radii that no row exceeds."""
    radii = [float(np.sqrt(rows.shape[1]))] * 2
    steps = [
        dp.release("moment", "spiked-block", rank=1, shares=(0.5, 0.5), radii=radii),
        dp.derive("eigenvalues", "eigenvalues", of="moment"),
        dp.derive("components-1", "top-subspace", of="moment", k=1),
    ]
    return _of_moment(dp.Budget(epsilon=epsilon, delta=DELTA), steps, {step.name for step in steps}, rows, numbers)


def _of_moment(budget: dp.Budget, steps: list[dp.Step], kept: set[str], rows: FloatArray, numbers: range) -> Releases:
    """Releases from the moment of rows that keep their length, and the same of the exact one."""
    plan = dp.Plan(rows=dp.Rows(columns=_columns(rows.shape[1]), neighbors="add-remove"), budget=budget, steps=steps)
    source = open_source(rows, plan.rows)
    moment = dp.SymmetricMatrix(rows.T @ rows)
    exact: Values = {
        "moment": moment,
        "eigenvalues": dp.postprocess.Eigenvalues(of=moment).apply(),
        "components-1": dp.postprocess.TopSubspace(of=moment, k=1).apply(),
    }
    drawn = [draw_and_derive(plan, source, random).values for random in _streams(budget.epsilon, numbers)]
    return Releases(plan, drawn, [exact] * len(drawn), frozenset(kept))


PLANS: dict[str, Plans] = {
    "gaussian": _plain("gaussian", DELTA),
    "matrix-laplace": _plain("matrix-laplace", 0.0),
    "adaptive, covariance": _adaptive("covariance"),
    "adaptive, correlation": _adaptive("correlation"),
    "adaptive, regression": _slopes,
    "laplace-eigenvalues": _sorted_spectrum,
    "orbit": _directions("orbit"),
    "bingham": _directions("bingham"),
    "spiked-block": _blocks,
}
