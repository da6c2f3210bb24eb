"""How figures look, and how they are written: the same bytes from the same numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt

INK, GRID = "#1b2733", "#d9dee4"
STYLE = {
    "figure.facecolor": "white",  # a card of its own: legible on light and dark pages
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 11,
    "grid.color": GRID,
    "legend.frameon": False,
    "svg.hashsalt": "dpframe",  # the same bytes from the same numbers
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
