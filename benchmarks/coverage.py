"""Coverage and width of error bars: how often an interval at 95 % holds the value without noise, and how wide it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe.plugin as dp
from benchmarks import real_tables
from benchmarks.coverage_plans import DELTA, PLANS, Releases
from benchmarks.table import Row, Table, Value
from benchmarks.timing import Turns
from dpframe.intervals.interval import Interval
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray
from dpframe.run.error_bars import CONFIDENCE, ErrorBars

RELEASES, QUICK_RELEASES = 200, 20
AGAIN = 5
"""How many times as many other releases a cell below `LEAST` is measured with, to tell a defect from chance."""

EPSILONS = (0.1, 1.0, 4.0)
LEAST, MOST, WIDEST = 0.93, 0.995, 1.3
LOW_NOISE = 0.1  # standard errors below this share of the value
ANGLES = "angle of "

BEGUN = Path(__file__).parent / "coverage-begun.json"
"""What an unfinished run has measured: the next one goes on from there. Delete it after a change of the code."""


def measure(turns: Turns) -> Table:
    """Every plan on every table at every epsilon."""
    releases = QUICK_RELEASES if turns.quick else RELEASES
    tables = list(_tables())
    turns.progress.expect(len(tables) * len(EPSILONS) * len(PLANS))
    found: dict[str, dict[str, Cell]] = {}
    begun = json.loads(BEGUN.read_text(encoding="utf-8")) if BEGUN.exists() and not turns.quick else {}
    for name, rows in tables:
        for epsilon in EPSILONS:
            for method in PLANS:
                turns.progress.says(f"{method}, {name}, ε = {epsilon:g}")
                at = f"{name}, ε = {epsilon:g}"
                if f"{method}, {at}" not in begun:
                    cells = measured(method, rows, epsilon, releases)
                    begun[f"{method}, {at}"] = {kind: attrs.asdict(cell) for kind, cell in cells.items()}
                    if not turns.quick:
                        BEGUN.write_text(json.dumps(begun), encoding="utf-8")
                for kind, cell in begun[f"{method}, {at}"].items():
                    found.setdefault(f"{method}: {kind}", {})[at] = Cell(**cell)
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
        f"A value of one number, such as a count, an angle or one share, is one trial for each release: intervals that "
        f"are exact at 0.95 are below {LEAST:g} in one cell of eight. So each cell below is measured again with "
        f"{AGAIN * releases} other releases, and again is the least of these shares. Too sure: the cells above "
        f"{MOST:g}, and those of them that are above it without what is not determined.",
        *((f"Not measured, since not in the folder shared/data: {', '.join(missing)}.",) if missing else ()),
    )
    details = tuple(
        {"kind": kind, "cell": cell, **attrs.asdict(figures)}
        for kind, cells in found.items()
        for cell, figures in cells.items()
    )
    BEGUN.unlink(missing_ok=True)
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
        known: the share of those that are covered; None without any.
        width: the relative width where noise is low; None where it is not.
        again: the share that is covered in other, more releases; None where that was not asked for.
    """

    covered: float
    determined: float
    known: float | None
    width: float | None
    again: float | None = None


def _row(kind: str, cells: dict[str, Cell]) -> Row:
    shares = [cell.covered for cell in cells.values()]
    widths = [cell.width for cell in cells.values() if cell.width is not None]
    again = [cell.again for cell in cells.values() if cell.again is not None]
    least, widest = min(cells, key=lambda name: cells[name].covered), max(widths, default=None)
    met = min(shares) >= LEAST and (widest is None or widest <= WIDEST)
    sure = [cell for cell in cells.values() if cell.covered > MOST]
    figures: dict[str, Value] = {
        "least": min(shares),
        "in": least,
        "below": f"{sum(share < LEAST for share in shares)} of {len(shares)}",
        "again": min(again) if again else "",
        "most": max(shares),
        "too sure": f"{len(sure)}, {sum(cell.known is not None and cell.known > MOST for cell in sure)}",
        "determined": float(np.mean([cell.determined for cell in cells.values()])),
        "width": widest if widest is not None else "noise not low",
    }
    goal = f"{LEAST:g} to {MOST:g}, width at most {WIDEST:g}"
    return Row(what=kind, figures=figures, goal=goal, verdict="met" if met else "not met")


def measured(method: str, rows: FloatArray, epsilon: float, releases: int) -> dict[str, Cell]:
    """The cells of one plan on one table, those below `LEAST` with what other releases give for them.

    Args:
        method: the plan.
        rows: the table.
        epsilon: epsilon.
        releases: the number of releases.
    """
    cells = _cells(PLANS[method](rows, epsilon, range(releases)))
    low = [kind for kind, cell in cells.items() if cell.covered < LEAST]
    if low:
        more = PLANS[method](rows, epsilon, range(releases, releases * (1 + AGAIN)))
        others = _cells(attrs.evolve(more, kept=frozenset(kind.removeprefix(ANGLES) for kind in low)))
        cells |= {kind: attrs.evolve(cells[kind], again=others[kind].covered) for kind in low}
    return cells


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


def _cells(releases: Releases) -> dict[str, Cell]:
    drawn, truths = releases.drawn, releases.truths
    found: dict[str, Cell] = {}
    bars = [ErrorBars(releases.plan, values) for values in drawn]
    for name in sorted(releases.kept):
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
    return Cell(float(covered.mean()), float(determined.mean()), _known(covered, determined), width)


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
    return Cell(float(covered.mean()), float(determined.mean()), _known(covered, determined), width)


def _known(covered: NDArray[np.bool_], determined: NDArray[np.bool_]) -> float | None:
    """The share of what is determined that is covered; None if nothing is."""
    return float(covered[determined].mean()) if determined.any() else None


def _aligned(value: Kind, truth: Kind, *, itself: bool = False) -> FloatArray:
    """The truth, or with ``itself`` the value, with the signs of directions turned to agree with the other."""
    if not isinstance(value, dp.Subspace):
        return value.array if itself else truth.array
    signs = np.where(np.einsum("ij,ij->j", value.array, truth.array) < 0.0, -1.0, 1.0)
    return np.asarray((value.array if itself else truth.array) * signs)
