"""Draw the errors of mechanisms on real tables, for "Which mechanism?"."""

from __future__ import annotations

from pathlib import Path

from docs.building.measured import PLANS, TASKS, section
from docs.figures.style import plt, save

MARKS = {
    "plain": ("|", "#1b2733"),
    "centered by hand": ("s", "#7a4fa3"),
    "best rival of each cell": ("^", "#b3541e"),
    "adaptive": ("o", "#1f5fa8"),
}


def errors() -> None:
    """Errors of plans on real tables, each as a share of the error of the plain plan."""
    found = {row["what"]: float(row["ratio"]) for row in section("Errors on real tables")}
    figure, axes = plt.subplots(figsize=(7.6, 3.6))
    places = range(len(TASKS), 0, -1)
    for plan, (mark, color) in MARKS.items():
        shares = [found[f"{task}: {plan}"] for task in TASKS]
        axes.plot(
            shares, places, mark, color=color, ms=11 if mark == "|" else 8, mew=2, label=PLANS[plan].replace("`", "")
        )
    axes.set_yticks(list(places), TASKS)
    axes.set_xlim(0, 1.05)
    axes.set_xlabel("error, as a share of that of gaussian over the ranges (left is better)")
    axes.grid(axis="y")
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=4, fontsize=9, handletextpad=0.2, columnspacing=1.2
    )
    save(figure, Path(__file__).parent / "mechanisms.svg")
