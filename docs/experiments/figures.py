"""The figures of the results page, from the numbers of the experiments. Needs matplotlib."""

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


def dyson_paths() -> None:
    """Eigenvalues repel; diagonal entries of the same matrices do not."""
    paths = motion.near()
    times = paths.times / paths.scale**2
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.4), sharey=True)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(motion.NEAR)))
    for axes, curves, title in (
        (left, paths.eigenvalues, "eigenvalues of M + N(t)"),
        (right, motion.diagonals(paths), "diagonal entries of M + N(t)"),
    ):
        for curve, colour in zip(curves.T, colours, strict=True):
            axes.plot(times, curve, color=colour, lw=1.1)
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
    axes.plot(found.times, found.mean_square, color=BLUE, lw=2.4, label="root mean square of 400 paths")
    axes.plot(found.times, found.forecast, color=INK, lw=1.6, ls=DOTTED, label="first-order forecast, √(t S₁)")
    axes.set_xlabel("t / s²")
    axes.set_ylabel("‖P(t) − P‖, three directions")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, None)
    axes.grid(True)
    axes.legend(loc="upper left")
    save(figure, HERE / "dyson-error.svg")


def wishart(first: Sequence[Gaps], second: Sequence[Gaps], powers: tuple[Exponent, Exponent]) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.2))
    _gaps(axes[0], [one.rows for one in first], first, powers[0])
    axes[0].set_xlabel("rows m, at d = 10")
    axes[0].set_ylabel("smallest eigenvalue gap")
    sizes = [one.dim for one in second]
    _gaps(axes[1], sizes, second, powers[1])
    axes[1].plot(sizes, np.sqrt(sizes), color=ORANGE, lw=1.4, ls=DOTTED, label="√d")
    axes[1].set_xlabel("d, at m = d³ rows")
    ticks = [5, 10, 20, 40, 80, 160]
    axes[1].set_xticks(ticks, [str(tick) for tick in ticks])
    heights = [2, 5, 10, 20, 50]
    axes[1].set_yticks(heights, [str(height) for height in heights])
    for one in axes:
        one.minorticks_off()
        one.grid(True)
        one.legend(loc="upper left")
    save(figure, HERE / "wishart.svg")


def _gaps(axes: plt.Axes, sizes: Sequence[int], found: Sequence[Gaps], power: Exponent) -> None:
    low, high = zip(*(one.quartiles for one in found), strict=True)
    means = np.array([one.mean for one in found])
    axes.fill_between(sizes, low, high, color=BLUE, alpha=0.15, lw=0, label="quartiles")
    line = means[-1] * (np.array(sizes) / sizes[-1]) ** power.value
    axes.loglog(sizes, line, color=INK, lw=1.2, ls=DASHED, label=f"power {power}")
    axes.loglog(sizes, means, "o", color=BLUE, ms=5, label="mean")


def covariances(found: dict[str, tuple[Covariance, int]]) -> None:
    figure, panels = plt.subplots(1, len(found), figsize=(4.8 * len(found), 4.2), squeeze=False)
    for axes, (name, (data, rank)) in zip(panels[0], found.items(), strict=True):
        shown = data.gaps[: rank + 4]
        places = np.arange(1, len(shown) + 1)
        axes.bar(places, shown, color=[BLUE if place <= rank else GREY for place in places], width=0.7)
        for root, colour, style, label in (
            (False, ORANGE, DASHED, "without the root"),
            (True, INK, "-", "Assumption 2.1 as printed"),
        ):
            axes.axhline(data.threshold(rank, root=root), color=colour, lw=1.5, ls=style, label=label)
        axes.set_yscale("log")
        axes.set_title(f"{name}, threshold for k = {rank}", fontsize=11, color=INK)
        axes.set_xlabel("i")
        axes.set_ylabel("σ_i − σ_{i+1}")
        axes.set_xticks(places)
        axes.legend(loc="upper right")
    save(figure, HERE / "covariances.svg")


def rank_growth(spread: Sequence[growth.Errors], tied: Sequence[growth.Errors]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.4))
    ranks = np.array(growth.RANKS, dtype=float)
    gap = growth.GAP * growth.SCALE * math.sqrt(growth.DIM)
    start = spread[0].low_rank[0] / growth.SCALE
    left.loglog(ranks, start * ranks, color=ORANGE, lw=1.6, ls=DASHED, label="Analyze Gauss: grows as k√d")
    left.loglog(ranks, start * np.sqrt(ranks), color=INK, lw=1.6, ls=DOTTED, label="Corollary 2.3: grows as √(kd)")
    left.loglog(ranks, [one.low_rank[0] / growth.SCALE for one in spread], "o", color=BLUE, label="simulated")
    left.set_ylabel("error of the rank-k part, in units of s")
    start = spread[0].subspace[0] * gap / growth.SCALE
    right.loglog(ranks, start * np.sqrt(ranks), color=ORANGE, lw=1.6, ls=DASHED, label="Analyze Gauss: √(kd)/gap")
    right.loglog(ranks, np.full(len(ranks), start), color=INK, lw=1.6, ls=DOTTED, label="Corollary 2.4: √d/gap")
    for found, marker, colour, label in (
        (spread, "o", BLUE, "simulated, equal gaps"),
        (tied, "s", PURPLE, "simulated, k equal eigenvalues"),
    ):
        right.loglog(
            ranks, [one.subspace[0] * gap / growth.SCALE for one in found], marker, color=colour, label=label, ms=5.5
        )
    right.set_ylabel("error of the subspace, in units of s/gap")
    for axes in (left, right):
        axes.set_xlabel("k")
        axes.set_xticks(growth.RANKS, [str(k) for k in growth.RANKS])
        axes.minorticks_off()
        axes.grid(True)
        axes.legend(loc="upper left")
    save(figure, HERE / "growth.svg")


def noise_shapes(found: Sequence[shapes.Case]) -> None:
    figure, axes = plt.subplots(figsize=(7.6, 4.6))
    colours = {"paper": ORANGE, "triangular": PURPLE, "goe": BLUE}
    for shape, curve in shapes.CASES:
        cases = [one for one in found if (one.shape, one.curve) == (shape, curve)]
        exact = curve == "exact"
        axes.loglog(
            [one.epsilon for one in cases],
            [one.median for one in cases],
            color=colours[shape],
            marker="o",
            ls="-" if exact else DASHED,
            mfc=colours[shape] if exact else "white",
            lw=1.8,
            ms=5,
            label=f"{shape}, {curve}",
        )
    axes.set_xlabel("ε, at δ = 10⁻⁶")
    axes.set_ylabel("median of ‖P̂ − P‖, three directions")
    axes.set_xticks(shapes.EPSILONS, [f"{epsilon:g}" for epsilon in shapes.EPSILONS])
    axes.minorticks_off()
    axes.grid(True)
    axes.legend(ncols=2)
    save(figure, HERE / "shapes.svg")
