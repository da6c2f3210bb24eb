"""The figures of the page on Re-Analyze Gauss, from the numbers of the experiments. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs.experiments import growth, motion, shapes
from docs.experiments.covariances import Covariance
from docs.experiments.wishart import Exponent, Gaps
from docs.figures.style import INK, plt, save

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, PURPLE, GREY = "#1f5fa8", "#b3541e", "#2f7d4f", "#7a4fa3", "#7f8b97"
DASHED, DOTTED = (0, (5, 2)), (0, (1, 1.2))


def plain(axis: plt.Axis, ticks: Sequence[float]) -> None:
    """Ticks of a logarithmic axis as ordinary numbers, and no others."""
    axis.set_ticks(ticks, [f"{tick:,g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def dyson_paths() -> None:
    """Eigenvalues repel; diagonal entries of the same matrices do not."""
    paths = motion.near()
    times = paths.times / paths.scale**2
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.4), sharey=True)
    colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(motion.NEAR)))
    for axes, curves, title in (
        (left, paths.eigenvalues, "eigenvalues of M + N(t)"),
        (right, motion.diagonals(paths), "diagonal entries of M + N(t)"),
    ):
        for curve, color in zip(curves.T, colors, strict=True):
            axes.plot(times, curve, color=color, lw=1.1)
        axes.set_title(title, fontsize=11, color=INK)
        axes.set_xlabel("t / s²")
        axes.set_xlim(0, 1)
        axes.grid(True)
    save(figure, HERE / "dyson-paths.svg")


def dyson_error(found: motion.ErrorAlongTime) -> None:
    figure, axes = plt.subplots(figsize=(7.6, 4.4))
    for index, single in enumerate(found.single):
        label = None if index else "single paths"
        axes.plot(found.times, single, color=GREY, lw=0.9, alpha=0.7, label=label)
    axes.plot(found.times, found.proved, color=ORANGE, lw=2, ls=DASHED, label="dyson, proved for the mean square")
    axes.plot(found.times, found.mean_square, color=BLUE, lw=4, alpha=0.55, label="root mean square of 400 paths")
    axes.plot(found.times, found.forecast, color=INK, lw=1.8, ls=DOTTED, label="first-order forecast, √(t S₁)")
    axes.set_xlabel("t / s²")
    axes.set_ylabel("‖P(t) − P‖, three directions")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, None)
    axes.grid(True)
    axes.legend(loc="upper left")
    save(figure, HERE / "dyson-error.svg")


def wishart_rows(printed: Sequence[Gaps], longer: Sequence[Gaps], powers: tuple[Exponent, Exponent]) -> None:
    """Figure 1: the printed axis on the left, and what follows beyond it."""
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.2))
    _gaps(axes[0], [one.rows for one in printed], printed, powers[0])
    _gaps(axes[1], [one.rows for one in longer], longer, powers[1])
    plain(axes[0].xaxis, [20, 50, 100, 200])
    plain(axes[0].yaxis, [0.5, 1, 2, 5, 10])
    plain(axes[1].xaxis, [20, 100, 1000, 10_000])
    plain(axes[1].yaxis, [1, 2, 5, 10, 20, 50])
    axes[0].set_ylim(0.5, 20)
    axes[1].set_ylim(0.5, 250)
    axes[0].set_ylabel("smallest eigenvalue gap")
    for one in axes:
        one.set_xlabel("rows m, at d = 10")
        one.grid(True)
        one.legend(loc="upper left")
    save(figure, HERE / "001-1.svg")


def wishart_dims(found: Sequence[Gaps], power: Exponent) -> None:
    """Figure 2."""
    figure, axes = plt.subplots(figsize=(5.6, 4.2))
    sizes = [one.dim for one in found]
    _gaps(axes, sizes, found, power)
    axes.plot(sizes, np.sqrt(sizes), color=ORANGE, lw=1.4, ls=DOTTED, label="√d")
    axes.set_xlabel("d, at m = d³ rows")
    axes.set_ylabel("smallest eigenvalue gap")
    plain(axes.xaxis, [5, 10, 20, 40, 80, 160])
    plain(axes.yaxis, [2, 5, 10, 20, 50])
    axes.set_ylim(2, 250)
    axes.grid(True)
    axes.legend(loc="upper left")
    save(figure, HERE / "001-2.svg")


def _gaps(axes: plt.Axes, sizes: Sequence[int], found: Sequence[Gaps], power: Exponent) -> None:
    low, high = zip(*(one.quartiles for one in found), strict=True)
    means = np.array([one.mean for one in found])
    axes.fill_between(sizes, low, high, color=BLUE, alpha=0.15, lw=0, label="quartiles")
    line = means[-1] * (np.array(sizes) / sizes[-1]) ** power.value
    axes.loglog(sizes, line, color=INK, lw=1.2, ls=DASHED, label=f"power {power}")
    axes.loglog(sizes, means, "o", color=BLUE, ms=5, label="mean")


def covariance(name: str, title: str, data: Covariance, rank: int) -> None:
    """Figures 3 to 5: eigenvalues on the left, gaps and what Assumption 2.1 asks of them on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), gridspec_kw={"wspace": 0.3})
    shown = min(rank + 4, len(data.gaps))
    places = np.arange(1, shown + 1)
    for axes, heights, label in (
        (left, data.spectrum[:shown], "eigenvalue i"),
        (right, data.gaps[:shown], "gap below eigenvalue i"),
    ):
        axes.bar(places, heights, color=[BLUE if place <= rank else GREY for place in places], width=0.7)
        axes.set_yscale("log")
        axes.set_ylim(max(heights.min(), 1e-3 * heights.max()) / 1.5, heights.max() * 8)
        axes.set_xlabel("i")
        axes.set_ylabel(label)
        axes.set_xticks(places)
    for root, color, style, label in (
        (False, ORANGE, DASHED, "without its root"),
        (True, INK, "-", "Assumption 2.1"),
    ):
        needed = data.threshold(rank, root=root)
        right.axhline(needed, color=color, lw=1.5, ls=style, label=f"{label}, k = {rank}: {needed:.2f}")
    right.legend(loc="upper right")
    left.set_title(title, fontsize=11, color=INK)
    save(figure, HERE / f"{name}.svg")


def rank_growth(spread: Sequence[growth.Errors], tied: Sequence[growth.Errors]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.4), gridspec_kw={"wspace": 0.28})
    unit = growth.SCALE
    _rates(left, "leading", spread[0].low_rank[0], unit, {"rate, Analyze Gauss": ORANGE, "rate, Corollary 2.3": INK})
    left.loglog(growth.RANKS, [one.low_rank[0] / unit for one in spread], "o", color=BLUE, label="simulated")
    left.set_ylabel("error of the rank-k part / s")
    unit = 1 / (growth.GAP * math.sqrt(growth.DIM))  # s/gap
    names = {"rate, Analyze Gauss": ORANGE, "rate, Corollary 2.4 (II)": INK}
    _rates(right, "components", spread[0].subspace[0], unit, names)
    for found, marker, color, label in (
        (spread, "o", BLUE, "simulated, equal gaps"),
        (tied, "s", PURPLE, "simulated, k equal eigenvalues"),
    ):
        right.loglog(growth.RANKS, [one.subspace[0] / unit for one in found], marker, color=color, ms=5.5, label=label)
    right.set_ylabel("error of the subspace · gap / s")
    for axes in (left, right):
        axes.set_xlabel("k")
        plain(axes.xaxis, growth.RANKS)
        axes.grid(True)
        axes.legend(loc="upper left")
    left.set_ylim(10, 8000)
    plain(left.yaxis, [10, 30, 100, 300, 1000, 3000])
    right.set_ylim(10, 1000)
    plain(right.yaxis, [10, 20, 50, 100, 200, 500])
    save(figure, HERE / "growth.svg")


def _rates(axes: plt.Axes, step: str, start: float, unit: float, names: dict[str, str]) -> None:
    """Printed rates, whose constants are unknown, drawn from the first simulated error; and the proved bound."""
    for (name, color), style in zip(names.items(), (DASHED, DOTTED), strict=True):
        rates = np.array([growth.said(name, growth.spread(k), k, step) for k in growth.RANKS])
        axes.loglog(growth.RANKS, rates * (start / rates[0] / unit), color=color, lw=1.6, ls=style, label=name)
    proved = [growth.said("dyson", growth.spread(k), k, step) / unit for k in growth.RANKS]
    axes.loglog(growth.RANKS, proved, color=GREEN, lw=1.4, label="dyson, proved (equal gaps)")


def noise_shapes(found: Sequence[shapes.Case]) -> None:
    figure, axes = plt.subplots(figsize=(7.6, 4.6))
    colors = {"paper": ORANGE, "triangular": PURPLE, "goe": BLUE}
    for shape, curve in shapes.CASES:
        cases = [one for one in found if (one.shape, one.curve) == (shape, curve)]
        exact = curve == "exact"
        axes.loglog(
            [one.epsilon for one in cases],
            [one.median for one in cases],
            color=colors[shape],
            marker="o",
            ls="-" if exact else DASHED,
            mfc=colors[shape] if exact else "white",
            lw=1.8,
            ms=5,
            label=f"{shape}, {curve}",
        )
    axes.set_xlabel("ε, at δ = 10⁻⁶")
    axes.set_ylabel("median of ‖P̂ − P‖, three directions")
    plain(axes.xaxis, shapes.EPSILONS)
    plain(axes.yaxis, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    axes.set_ylim(0.01, 0.7)
    axes.grid(True)
    axes.legend(ncols=2, handlelength=3.2)
    save(figure, HERE / "shapes.svg")
