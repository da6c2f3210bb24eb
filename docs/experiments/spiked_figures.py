"""The figures of the page on spiked covariances, from the numbers of the experiments. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docs.experiments import spiked
from docs.experiments.digits import Digits
from docs.experiments.figures import BLUE, DASHED, DOTTED, GREEN, GREY, HERE, ORANGE, PURPLE, plain
from docs.figures.style import INK, plt, save

Errors = dict[str, spiked.Floats]
COLORS = dict(
    zip(
        (*spiked.METHODS, spiked.OJA, spiked.ROUNDS),
        (ORANGE, GREY, PURPLE, GREEN, BLUE, INK, "#b08a00"),
        strict=True,
    )
)
STYLES = {spiked.PAPER: DASHED, spiked.STARRED: DOTTED, spiked.OJA: DASHED}


def panels(name: str, found: Sequence[Sequence[Errors]]) -> None:
    """A published figure on made-up rows: means with deviations, or boxes where the paper has them."""
    figure, axes = plt.subplots(1, len(found), figsize=(1.0 + 5.4 * len(found), 4.4), squeeze=False)
    for one, panel, errors in zip(axes[0], spiked.FIGURES[name], found, strict=True):
        (_boxes if panel.boxes else _means)(one, spiked.varying(panel.cases), errors)
        one.set_title(panel.title, fontsize=11, color=INK)
        one.set_xlabel(panel.axis)
        one.set_yscale("log")
        one.yaxis.set_minor_formatter("")
        one.grid(True, axis="y")
    axes[0, 0].set_ylabel(f"error of the {spiked.FIGURES[name][0].what}, Frobenius norm")
    handles = {label: handle for one in axes[0] for handle, label in zip(*one.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=4, fontsize=10
    )
    save(figure, HERE / f"{name}.svg")


def _means(axes: plt.Axes, values: Sequence[float], errors: Sequence[Errors]) -> None:
    for number, method in enumerate(errors[0]):
        means, deviations = (np.array([pick(each[method]) for each in errors]) for pick in (np.mean, np.std))
        aside = np.array(values) * 1.03 ** (number - len(errors[0]) / 2)  # so that bars do not hide each other
        bars = np.vstack([np.minimum(deviations, 0.9 * means), deviations])
        style = {"color": COLORS[method], "ls": STYLES.get(method, "-"), "marker": "o", "ms": 4, "lw": 1.6}
        axes.errorbar(aside, means, yerr=bars, elinewidth=1, capsize=2, label=method, **style)
    axes.set_xscale("log")
    plain(axes.xaxis, values)


def _boxes(axes: plt.Axes, values: Sequence[float], errors: Sequence[Errors]) -> None:
    methods = list(errors[0])
    for number, method in enumerate(methods):
        places = np.arange(len(values)) + (number - (len(methods) - 1) / 2) * 0.15
        drawn = axes.boxplot(
            [each[method] for each in errors],
            positions=places,
            widths=0.12,
            patch_artist=True,
            showfliers=False,
            medianprops={"color": INK, "lw": 1},
        )
        for box in drawn["boxes"]:
            box.set(facecolor=COLORS[method], edgecolor=COLORS[method], alpha=0.8)
        axes.plot([], [], color=COLORS[method], lw=6, label=method)
    axes.set_xticks(np.arange(len(values)), [f"{value:,.10g}" for value in values])


def digits(found: dict[str, Digits]) -> None:
    """Every fifth digit in the first two directions, without privacy and with it, for each preparation of pixels."""
    shown = ("", spiked.PAPER, spiked.STARRED, spiked.BLOCK)
    figure, panels = plt.subplots(len(found), 4, figsize=(12.4, 3.4 * len(found)), sharex="row", sharey="row")
    for line, (name, data) in zip(panels, found.items(), strict=True):
        for axes, method in zip(line, shown, strict=True):
            for digit, color in zip((1, 4, 9), (BLUE, ORANGE, GREEN), strict=True):
                points = data.scores[method][data.labels == digit][::5]
                sign = np.sign(np.sum(data.scores[method] * data.scores[""], axis=0))  # as without privacy
                axes.scatter(*(points * sign).T, s=7, color=color, alpha=0.7, lw=0, label=str(digit))
            share = data.explained[method][1] if method else data.best
            axes.set_title(f"{method or 'without privacy'}: {share:.1%}", fontsize=10.5, color=INK)
            axes.grid(True)
        line[0].set_ylabel(f"{name}\nsecond direction")
    for axes in panels[-1]:
        axes.set_xlabel("first direction")
    panels[0, 0].legend(markerscale=2, fontsize=9)
    save(figure, HERE / "004-4.svg")
