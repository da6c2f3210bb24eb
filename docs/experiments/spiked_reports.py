"""What the page on spiked covariances shows, run again: each function draws one figure and prints its tables."""

from __future__ import annotations

from functools import partial

import attrs
import numpy as np

from docs.experiments import covariances, digits, heavy_tails, spiked, spiked_figures
from docs.experiments.markdown import table


def panels(name: str, trials: int = spiked.TRIALS) -> None:
    """A figure on made-up rows: means and deviations, and medians and quartiles where the paper has boxes."""
    found = []
    for panel in spiked.FIGURES[name]:
        compared = spiked.methods(panel.what, panel.cases)
        errors = [spiked.simulated(case, panel.what, compared, trials) for case in panel.cases]
        found.append(errors)
        said = _quartiles if panel.boxes else _mean
        table(
            (
                f"{panel.what}, {panel.title}; {panel.axis} =",
                *(f"{value:,.10g}" for value in spiked.varying(panel.cases)),
            ),
            ((method, *(said(each[method]) for each in errors)) for method in compared),
        )
    spiked_figures.panels(name, found)


def _mean(errors: spiked.Floats) -> str:
    return f"{errors.mean():.3g} ± {errors.std(ddof=1):.2g}"


def _quartiles(errors: spiked.Floats) -> str:
    low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g} – {high:.3g})"


figure_1, figure_2, figure_3, figure_5, figure_6 = (partial(panels, name) for name in spiked.FIGURES)


def counted(trials: int = spiked.TRIALS) -> None:
    """The error of the paper's method over that of DP-Gauss, with noise for rows replaced, and for rows added."""
    methods = (spiked.PAPER, spiked.GAUSS, spiked.STARRED)
    lines = []
    for what, case in spiked.COUNTED:
        ratios = []
        for relation in ("replace", "add-remove"):
            errors = spiked.simulated(attrs.evolve(case, counted=relation), what, methods, trials)
            own, *others = (errors[method].mean() for method in methods)
            ratios += [f"{own / other:.2f}" for other in others]
        lines.append((f"{what}, n = {case.n:,}, p = {case.p}, r = {case.r}", *ratios))
    names = [f"{method}, rows {word}" for word in ("replaced", "added") for method in methods[1:]]
    table(("error of the paper's method, divided by that of", *names), lines)


def figure_4(trials: int = 20) -> None:
    """The digits: pixels as they are, and standardized; and DP-Gauss* on three blocks of digits."""
    prepared = {"pixels": False, "standardized": True}
    found = {name: digits.mnist(trials, standardized=word) for name, word in prepared.items()}
    drawn = {name: data for name, data in found.items() if data is not None}
    if not drawn:
        print(f"The digits are left out: {covariances.FOLDER} names no folder with mnist_149.npz.\n")
        return
    spiked_figures.digits(drawn)
    for name, data in drawn.items():
        print(f"{name}: three directions without privacy explain {data.best:.1%}\n")
        table(
            (f"variance explained, {name}", "median", "5 % to 95 % of seeds"),
            (
                (method, f"{middle:.1%}", f"{low:.1%} – {high:.1%}")
                for method, (low, middle, high) in data.explained.items()
            ),
        )
    blocks = [digits.mnist(trials, standardized=True, block=block) for block in range(3)]
    shares = [f"{data.explained[spiked.STARRED][1]:.2%}" for data in blocks if data is not None]
    print(f"{spiked.STARRED}, standardized, on three blocks of digits: {', '.join(shares)}\n")


def heavier_tails(trials: int = 20) -> None:
    """Shifts of what `spiked` allows for, and errors of methods that need no model, as tails become heavier."""
    names = ["normal" if np.isinf(degrees) else f"t, {degrees:g} degrees" for degrees in heavy_tails.DEGREES]
    for n in heavy_tails.NUMBERS:
        found = []
        for degrees in heavy_tails.DEGREES:
            tails = heavy_tails.Tails(degrees=degrees, n=n)
            found.append(np.array([heavy_tails.beyond(tails, seed) for seed in range(trials)]))
        table(
            (f"n = {n:,}", *names),
            (
                (
                    f"{part}, median (largest)",
                    *(f"{np.median(one[:, at]):.2f} ({one[:, at].max():.2f})" for one in found),
                )
                for at, part in enumerate(("projector", "covariance"))
            ),
        )
    every = [heavy_tails.Tails(degrees=degrees) for degrees in heavy_tails.DEGREES]
    lines = {"without privacy": [heavy_tails.without_privacy(tails, trials) for tails in every]}
    for method in heavy_tails.METHODS:
        lines[method] = [heavy_tails.errors(tails, method, trials) for tails in every]
    for at, part in enumerate(("subspace", "covariance")):
        table(
            (f"error of the {part}", *names),
            ((method, *(f"{np.median(one[:, at]):.3f}" for one in found)) for method, found in lines.items()),
        )
