"""Coverage and width of error bars: how often an interval at 95 % holds the value without noise, and how wide it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from benchmarks import real_tables
from benchmarks.table import Row, Table, Value
from benchmarks.timing import Turns
from dpframe.intervals.interval import Interval
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream
from dpframe.run.error_bars import CONFIDENCE, ErrorBars
from dpframe.run.noise_law import noise_in
from dpframe.run.runner import act, draw_and_derive, read
from dpframe.sources import open_source

RELEASES, QUICK_RELEASES = 200, 20
EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-6
LEAST, MOST, WIDEST = 0.93, 0.995, 1.3
LOW_NOISE = 0.1  # standard errors below this share of the value
ANGLES = "angle of "

Truth = dict[str, FloatArray]
"""Values without noise, by step."""


def measure(turns: Turns) -> Table:
    """Every plan on every table at every epsilon."""
    releases = QUICK_RELEASES if turns.quick else RELEASES
    tables = list(_tables())
    turns.progress.expect(len(tables) * len(EPSILONS) * len(PLANS))
    found: dict[str, dict[str, Cell]] = {}
    for name, rows in tables:
        for epsilon in EPSILONS:
            for method, made in PLANS.items():
                turns.progress.says(f"{method}, {name}, ε = {epsilon:g}")
                for kind, cell in made(rows, epsilon, releases).items():
                    found.setdefault(f"{method}: {kind}", {})[f"{name}, ε = {epsilon:g}"] = cell
                turns.progress.advance()
    missing = real_tables.missing()
    notes = (
        f"Share of {releases} releases whose intervals at {CONFIDENCE:g} cover the value without noise, mean over the "
        "numbers of a value; what is not determined counts as covered. Least and most: over cells, a table at an "
        f"epsilon in {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}, δ = {DELTA:g}, add-remove. The value without "
        "noise is that of the same rows about the same released center, scaled down to the same released norm. Width: "
        "median width divided by 3.92 deviations of the released number, median over numbers whose standard error is "
        f"below {LOW_NOISE:g} of the value, the largest of all cells; for an angle, the median limit over the quantile "
        "of the true angle. All cells are in results.json.",
        *((f"Not measured, since not in the folder shared/data: {', '.join(missing)}.",) if missing else ()),
    )
    details = tuple(
        {"kind": kind, "cell": cell, **attrs.asdict(figures)}
        for kind, cells in found.items()
        for cell, figures in cells.items()
    )
    return Table(
        title="Coverage of error bars",
        notes=notes,
        rows=tuple(_row(kind, cells) for kind, cells in found.items()),
        details=details,
    )


@attrs.frozen
class Cell:
    """One kind of value of one plan on one table.

    Args:
        covered: the share of intervals that cover, or are not determined.
        determined: the share of numbers that are determined.
        width: the relative width where noise is low; None where it is not.
    """

    covered: float
    determined: float
    width: float | None


def _row(kind: str, cells: dict[str, Cell]) -> Row:
    shares = [cell.covered for cell in cells.values()]
    widths = [cell.width for cell in cells.values() if cell.width is not None]
    least, widest = min(cells, key=lambda name: cells[name].covered), max(widths, default=None)
    met = min(shares) >= LEAST and (widest is None or widest <= WIDEST)
    too_sure = f"; above {MOST:g} in {sum(share > MOST for share in shares)}" if max(shares) > MOST else ""
    figures: dict[str, Value] = {
        "least": min(shares),
        "in": least,
        "most": max(shares),
        "determined": float(np.mean([cell.determined for cell in cells.values()])),
        "width": widest if widest is not None else "noise not low",
    }
    goal = f"{LEAST:g} to {MOST:g}, width at most {WIDEST:g}"
    return Row(what=kind, figures=figures, goal=goal, verdict=("met" if met else "not met") + too_sure)


def _tables() -> Iterator[tuple[str, FloatArray]]:
    """Real tables, those that are there, and simulated ones with nearly equal and with very different eigenvalues."""
    for table in real_tables.shared():
        yield table.name, table.rows
    random = np.random.default_rng(7)
    for name, values, count in (
        ("nearly equal", [0.06, 0.0599, 0.059, 0.02, 0.0199, 0.0199, 0.0198, 0.0198], 10_000),
        ("ill-conditioned", (0.3 / 4.0 ** np.arange(8)).tolist(), 10_000),
        ("few rows", [0.1, 0.05, 0.02, 0.01], 500),
    ):
        basis = np.linalg.qr(random.standard_normal((len(values), len(values))))[0]
        rows = random.standard_normal((count, len(values))) * np.sqrt(values) @ basis.T + random.uniform(
            -0.3, 0.3, len(values)
        )
        yield name, np.clip(rows, -1.0, 1.0)


def _streams(epsilon: float, releases: int) -> Iterator[dp.Random]:
    """The randomness of each release, other than that at another epsilon."""
    stream = Keystream.insecure(round(1000 * epsilon))
    return (dp.Random(stream.child(str(number))) for number in range(releases))


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


def _plain(mechanism: str, delta: float) -> Callable[[FloatArray, float, int], dict[str, Cell]]:
    """A moment about the middle of the ranges, released many times from one reading of the data."""

    def made(rows: FloatArray, epsilon: float, releases: int) -> dict[str, Cell]:
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
        for random in _streams(epsilon, releases):
            moment = release.release(data, plan.pricing.levels["moment"], random)
            drawn.append(_chained(plan, {"moment": moment}))
        return _cells(plan, drawn, [truth] * releases)

    return made


def _chained(plan: dp.Plan, released: dict[str, Kind]) -> dict[str, Kind]:
    values = dict(released)
    for step in plan.steps:
        if step.name not in values:
            values[step.name] = act(plan, step, None, values, None)  # type: ignore[arg-type]
    return values


def _adaptive(goal: str) -> Callable[[FloatArray, float, int], dict[str, Cell]]:
    """The adaptive release; what is compared depends on the released center, scales and norm."""

    def made(rows: FloatArray, epsilon: float, releases: int) -> dict[str, Cell]:
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
        for random in _streams(epsilon, releases):
            values = draw_and_derive(plan, source, random).values
            exact = _with_map(plan, rows, values) if "cov.linear" in values else _augmented(rows, values)
            moment = dp.AugmentedMoment(exact, axes=without.rows.axes, constant=1.0)
            truth = _chained(without, {"moment": moment})
            drawn.append(values)
            truths.append({**truth, "cov.count": dp.Scalar(float(len(rows)))})
        kept = {"cov", "cov.count", *(step.name for step in _derived(dim, "cov"))}
        return _cells(plan, drawn, truths, kept)

    return made


def _augmented(rows: FloatArray, values: dict[str, Kind]) -> FloatArray:
    """The moment of the rows as they were placed and scaled down, in mapped coordinates, with a constant of 1."""
    about = np.clip(values["cov.about"].array, -1.0, 1.0)
    scale = values["cov.scale"].array if "cov.scale" in values else np.ones(rows.shape[1])
    wide = np.column_stack([_shortened((rows - about) / scale, values["cov.norm"]) * scale, np.ones(len(rows))])
    return np.asarray(wide.T @ wide)


def _with_map(plan: dp.Plan, rows: FloatArray, values: dict[str, Kind]) -> FloatArray:
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


def _sorted_spectrum(rows: FloatArray, epsilon: float, releases: int) -> dict[str, Cell]:
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
    drawn = [{"eigenvalues": release.release(data, levels, random)} for random in _streams(epsilon, releases)]
    return _cells(plan, drawn, [{"eigenvalues": dp.Spectrum(exact)}] * releases)


def _slopes(rows: FloatArray, epsilon: float, releases: int) -> dict[str, Cell]:
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
    drawn: list[dict[str, Kind]] = []
    truths: list[dict[str, Kind]] = []
    for random in _streams(epsilon, releases):
        values = draw_and_derive(plan, source, random).values
        moment = dp.AugmentedMoment(_augmented(rows, values), axes=plan.rows.axes, constant=1.0)
        drawn.append(values)
        model = dp.postprocess.Regression(of=moment, target=target, penalty=0.0).apply()
        intercept = mean[-1] - model.slopes @ mean[:-1]
        truths.append({"model": attrs.evolve(model, array=np.append(model.slopes, intercept))})
    return _cells(plan, drawn, truths, {"model"})


PLANS: dict[str, Callable[[FloatArray, float, int], dict[str, Cell]]] = {
    "gaussian": _plain("gaussian", DELTA),
    "matrix-laplace": _plain("matrix-laplace", 0.0),
    "adaptive, covariance": _adaptive("covariance"),
    "adaptive, correlation": _adaptive("correlation"),
    "adaptive, regression": _slopes,
    "laplace-eigenvalues": _sorted_spectrum,
}


def _cells(
    plan: dp.Plan, drawn: list[dict[str, Kind]], truths: list[dict[str, Kind]], kept: set[str] | None = None
) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    bars = [ErrorBars(plan, values) for values in drawn]
    for name in kept or drawn[0]:
        intervals = [each.interval(name, CONFIDENCE, None) for each in bars]
        exact = [_aligned(values[name], truth[name]) for values, truth in zip(drawn, truths, strict=True)]
        values = np.array([_aligned(each[name], drawn[0][name], itself=True) for each in drawn])
        errors = np.array([each.standard_error(name) for each in bars])
        found[name] = _cell(intervals, exact, values, errors)
        if name.startswith("components"):
            found[ANGLES + name] = _angles(intervals, drawn, truths, name)
    return found


def _cell(intervals: list[Interval], exact: list[FloatArray], values: FloatArray, errors: FloatArray) -> Cell:
    low, high = (np.array([getattr(each, end) for each in intervals]) for end in ("low", "high"))
    determined = np.array([each.determined for each in intervals])
    truth = np.array(exact)
    room = 1e-6 * np.abs(truth).max() + 1e-12  # rows are rounded to a lattice before they are added up
    covered = ((low - room <= truth) & (truth <= high + room)) | ~determined
    low_noise = (np.median(errors, axis=0) < LOW_NOISE * np.abs(truth).mean(axis=0)) & (errors > 0.0).all(axis=0)
    deviation = values.std(axis=0)
    with np.errstate(all="ignore"):
        widths = np.median(high - low, axis=0) / (3.92 * deviation)
    steady = low_noise & (deviation > 0.0)
    width = float(np.median(widths[steady])) if steady.any() else None
    return Cell(float(covered.mean()), float(determined.mean()), width)


def _angles(intervals: list[Interval], drawn: list[dict[str, Kind]], truths: list[dict[str, Kind]], name: str) -> Cell:
    limits = np.array([each.angle_degrees for each in intervals])
    angles = np.array(
        [
            np.degrees(np.arccos(min(float(np.linalg.svd(one[name].array.T @ other[name].array)[1].min()), 1.0)))
            for one, other in zip(drawn, truths, strict=True)
        ]
    )
    determined = limits < 90.0
    covered = (angles <= limits + 1e-5) | ~determined
    low_noise = determined.all() and np.median(limits) < np.degrees(LOW_NOISE)
    width = float(np.median(limits) / np.quantile(angles, CONFIDENCE)) if low_noise else None
    return Cell(float(covered.mean()), float(determined.mean()), width)


def _aligned(value: Kind, truth: Kind, *, itself: bool = False) -> FloatArray:
    """The truth, or with ``itself`` the value, with the signs of directions turned to agree with the other."""
    if not isinstance(value, dp.Subspace):
        return value.array if itself else truth.array
    signs = np.where(np.einsum("ij,ij->j", value.array, truth.array) < 0.0, -1.0, 1.0)
    return np.asarray((value.array if itself else truth.array) * signs)
