"""Draw the figures of the documentation that come from numbers: ``python -m docs.figures.make``.

Needs matplotlib; ``make figures`` calls it. ``data-flow.svg`` is written by hand.
"""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from docs.figures.mechanisms import errors
from docs.figures.results import results
from docs.figures.style import INK, STYLE, plt, save
from dpframe.auditing.evidence import Terms, visible
from dpframe.auditing.neighbor_pairs import built_in
from dpframe.auditing.trials import Experiment
from dpframe.noise import Keystream
from dpframe_gaussian import SymmetricGaussian, classical_level

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "benchmarks" / "results.json"
BILLION = HERE.parent / "how-to" / "plan-for-a-billion-rows.md"
DELTA = 1e-6


def exact_level(epsilon: float, delta: float = DELTA) -> float:
    """The mu that the exact curve allows, as a plan solves it."""
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=10),
        budget=dp.Budget(epsilon=epsilon, delta=delta),
        steps=[dp.release("moment", "gaussian")],
    )
    return plan.pricing.levels["moment"]


def noise() -> None:
    """Off-diagonal noise of three shapes and two calibrations, for a sensitivity of one."""
    every = np.geomspace(0.1, 8.0, 60)
    proved = np.geomspace(0.1, 0.999, 40)
    exact = np.array([1 / exact_level(epsilon) for epsilon in every])
    classical = np.array([1 / classical_level(epsilon=epsilon, delta=DELTA) for epsilon in proved])
    root = math.sqrt(2)

    figure, axes = plt.subplots(figsize=(7.6, 4.4))
    axes.loglog(proved, root * classical, color="#b3541e", ls=(0, (1, 1.2)), lw=2, label="paper, classical (ε < 1)")
    axes.loglog(proved, classical, color="#7a4fa3", ls=(0, (5, 2)), lw=2, label="triangular, classical (ε < 1)")
    axes.loglog(every, exact, color="#2f7d4f", ls=(0, (7, 2, 1, 2)), lw=2, label="triangular, exact curve")
    axes.loglog(every, exact / root, color="#1f5fa8", lw=2.4, label="goe, exact curve (default)")
    axes.set_xlabel("ε, at δ = 10⁻⁶")
    axes.set_ylabel("deviation of an off-diagonal entry")
    ticks = [0.1, 0.2, 0.5, 1, 2, 4, 8]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    heights = [0.5, 1, 2, 5, 10, 20, 50]
    axes.set_yticks(heights, [f"{height:g}" for height in heights])
    axes.minorticks_off()
    axes.set_ylim(0.4, 90)
    axes.grid(True)
    axes.legend()
    save(figure, HERE / "noise.svg")


def lattice() -> None:
    """Rows, their images on a coarse lattice, and the two radii: three bits instead of sixteen."""
    radius, inner = 8, 7  # S = 2³ − ⌈√2/2⌉
    rows = np.array([[0.5, 0.66], [-0.36, 0.33], [-0.93, -0.13], [0.34, -0.65], [-1.4, 0.78], [1.15, -0.83]])
    scaled = rows * inner
    lengths = np.hypot(*scaled.T)
    integers = np.rint(scaled * np.minimum(1.0, inner / lengths)[:, None])

    figure, axes = plt.subplots(figsize=(5.6, 5.2))
    points = np.array([(x, y) for x in range(-11, 12) for y in range(-9, 10)])
    axes.plot(*points.T, ".", ms=2.5, color="#b6bfc9")
    for size, style, label in ((radius, "-", "radius 2ᵇ"), (inner, (0, (4, 3)), "inner radius S")):
        axes.add_patch(plt.Circle((0, 0), size, fill=False, ec=INK, lw=1.3, ls=style, label=label))
    for start, end in zip(scaled, integers, strict=True):
        style = "->" if np.hypot(*(end - start)) > 1 else "-"
        axes.annotate("", end, start, arrowprops={"arrowstyle": style, "color": "#b3541e", "lw": 1.4, "shrinkB": 3})
    axes.plot(*scaled.T, "o", ms=5.5, mfc="white", mec="#b3541e", label="row · S / norm")
    axes.plot(*integers.T, "s", ms=6, color="#1f5fa8", label="integer row q")
    axes.set_aspect("equal")
    axes.set_xlim(-11.5, 11.5)
    axes.set_ylim(-9.5, 9.5)
    axes.axis("off")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2)
    save(figure, HERE / "lattice.svg")


@attrs.frozen(kw_only=True)
class LowNoise(SymmetricGaussian):
    """Gaussian noise 20 % too small for its claim."""

    name = "low-noise"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return super().release(data, level / 0.8, random)


CLAIM = {"epsilon": 2.0, "delta": 1e-2}


def event() -> None:
    """The log-likelihood ratio of releases on two neighbors, and the event that an audit counts."""
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)
    plan = dp.Plan(rows=rows, budget=dp.Budget(**CLAIM), steps=[dp.release("moment", "gaussian")])
    experiment = Experiment(plan, tuple(built_in(rows)))
    stream = Keystream.insecure(1)
    samples = [
        np.concatenate([experiment.numbers(1, other, dp.Random(stream.child(f"{other} {i}"))) for i in range(4000)])
        for other in (True, False)
    ]
    threshold, bins = 1.0, np.linspace(-4, 4, 65)
    figure, axes = plt.subplots(figsize=(7.6, 3.6))
    for sample, color, label in zip(
        samples, ("#7f8b97", "#1f5fa8"), ("without the person", "with the person"), strict=True
    ):
        axes.hist(sample, bins, density=True, histtype="step", color=color, lw=1.6, label=label)
        axes.hist(sample[sample >= threshold], bins, weights=_share(sample, threshold, bins), color=color, alpha=0.35)
    axes.axvline(threshold, color="#b3541e", lw=1.4, ls=(0, (4, 3)))
    axes.text(threshold + 0.08, 0.47, "the event", color="#b3541e")
    axes.set_xlabel("log-likelihood ratio of a release")
    axes.set_ylabel("density")
    axes.set_ylim(0, 0.52)
    axes.legend(loc="upper left")
    save(figure, HERE / "event.svg")


def _share(sample: np.ndarray, threshold: float, bins: np.ndarray) -> np.ndarray:
    """Weights that make a histogram of the tail as high as that of the whole."""
    return np.full((sample >= threshold).sum(), 1 / (len(sample) * (bins[1] - bins[0])))


def audit() -> None:
    """What audits of right and of too little noise prove, against the number of releases."""
    level = exact_level(CLAIM["epsilon"], CLAIM["delta"])
    counts = np.geomspace(1e3, 1e6, 25)
    figure, axes = plt.subplots(figsize=(7.6, 4.2))
    cases = (
        (1.0, dp.release("m", "gaussian").action, "#1f5fa8", "as claimed"),
        (0.8, LowNoise(), "#b3541e", "20 % too small"),
    )
    for size, mechanism, color, label in cases:
        loss = [dp.losses.Gaussian(mu=level / size)]
        curve = partial(dp.accountant("gdp").delta, loss)
        reach = dp.accountant("gdp").epsilon(loss, CLAIM["delta"])
        expected = [
            visible(curve, reach, Terms(trials=int(count), delta=CLAIM["delta"], false_alarm=1e-6)) for count in counts
        ]
        axes.semilogx(counts, expected, color=color, lw=2, label=f"noise {label}: expected")
        trials = [1000, 4000, 16_000, 64_000]
        found = [dp.audit(mechanism, **CLAIM, trials=count, insecure_seed=count).bound for count in trials]
        axes.plot(trials, found, "o", color=color, label=f"noise {label}: audited")
    axes.axhline(CLAIM["epsilon"], color=INK, lw=1.2, ls=(0, (4, 3)))
    axes.text(1050, CLAIM["epsilon"] + 0.04, "the claim, ε = 2 at δ = 0.01")
    axes.set_xlabel("releases on either data set")
    axes.set_ylabel("ε that is proved")
    axes.grid(True)
    axes.legend(loc="lower right")
    save(figure, HERE / "audit.svg")


def measured(section: str) -> list[dict[str, Any]]:
    """The rows of a section of the benchmarks; empty where it was not measured."""
    sections = json.loads(RESULTS.read_text(encoding="utf-8"))["sections"]
    return sections[section]["table"]["rows"] if section in sections else []


def growth() -> None:
    """Seconds of the exact moment and of X.T @ X, against rows, coordinates and workers."""
    figure, panels = plt.subplots(1, 3, figsize=(10.4, 3.6))
    series = {"rows": "n", "coordinates": "d", "workers": "workers"}
    for axes, (label, name) in zip(panels, series.items(), strict=True):
        found = [row["figures"] for row in measured("growth") if row["what"].startswith(label)]
        places = [each[name] for each in found]
        axes.loglog(places, [each["X.T @ X"] for each in found], "s--", color="#7f8b97", lw=1.6, label="X.T @ X")
        axes.loglog(places, [each["seconds"] for each in found], "o-", color="#1f5fa8", lw=2, label="exact moment")
        axes.set_xticks(places, [f"{place:g}" if place < 1e4 else f"{place / 1e3:g}k" for place in places])
        axes.tick_params(axis="x", labelrotation=45)
        axes.minorticks_off()
        axes.set_xlabel(label)
        axes.grid(True)
    panels[0].set_ylabel("seconds")
    panels[0].legend()
    figure.tight_layout()
    save(figure, HERE / "moment-growth.svg")


def orbit() -> None:
    """Seconds of a draw on the orbit, against the dimension and the number of components."""
    found = {row["what"]: row["figures"]["seconds"] for row in measured("orbit") if "seconds" in row["figures"]}
    coupled = "coupling from the past"
    drawn = {tuple(map(int, re.findall(r"\d+", what))): what for what in found if what.startswith("d =")}
    series = {
        "d, with k = 5": {d: what for (d, k), what in sorted(drawn.items()) if k == 5},
        "k, with d = 200": {k: what for (d, k), what in sorted(drawn.items()) if d == 200},
    }
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True)
    for axes, (label, names) in zip(panels, series.items(), strict=True):
        places = list(names)
        axes.loglog(places, [found[what] for what in names.values()], "o-", color="#1f5fa8", lw=2, label="direct draw")
        beside = {place: found.get(f"{coupled}, {what}") for place, what in names.items()}
        others = [place for place in places if beside[place] is not None]
        axes.loglog(others, [beside[place] for place in others], "s--", color="#7f8b97", lw=1.6, label=coupled)
        axes.set_xticks(places, [f"{place}" for place in places])
        axes.minorticks_off()
        axes.set_xlabel(label)
        axes.grid(True)
    ticks = [0.1, 0.3, 1, 3, 10]
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[0].set_ylabel("seconds of one core")
    panels[0].legend()
    figure.tight_layout()
    save(figure, HERE / "orbit-time.svg")


def billion() -> None:
    """Write what the benchmarks found into the page that plans with it, between its marks."""
    rows = measured("growth")
    if not rows:
        return
    a, b, c = (rows[-1]["figures"][f"{name}, nanoseconds"] for name in "abc")
    cores = max(int(row["figures"].get("workers", 1)) for row in rows)
    hours = {workers: 1e9 * (a * 100 + b * 100**2) / workers / 1e9 / 3600 for workers in (1, cores, 16, 64)}
    ratios = [row["figures"]["ratio"] for row in rows if "ratio" in row["figures"]]
    lines = [
        f"On a machine with {cores} cores (`make bench-long`) a = {a:.2f} and b = {b:.3f} nanoseconds, with {c:.3f} in",
        "the place of b from 1,024 coordinates on, where products are in doubles. The exact moment took",
        f"{min(ratios):.2f} to {max(ratios):.2f} times as long as the product.",
        "A billion rows of 100 coordinates then take",
        "",
        "| Workers like its cores | Hours |",
        "|---:|---:|",
        *(f"| {workers} | {each:.2g} |" for workers, each in hours.items()),
    ]
    before, rest = BILLION.read_text(encoding="utf-8").split("<!-- growth -->", 1)
    after = rest.split("<!-- /growth -->", 1)[1]
    text = "\n".join(["<!-- growth -->", "", *lines, "", "<!-- /growth -->"])
    BILLION.write_text(before + text + after, encoding="utf-8")


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        noise()
        lattice()
        event()
        audit()
        growth()
        orbit()
        results()
        errors()
    billion()
