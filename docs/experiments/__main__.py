"""`python -m docs.experiments [NAME ...]`: run published experiments again, draw the figures, print the tables.

A name is that of a figure, such as 001-1 (Re-Analyze Gauss, Figure 1) or 004-5 (spiked covariances, Figure 5); without
one, all are run. KDD Cup 1999, the American Community Survey and MNIST are read from the folder that the environment
variable DPFRAME_DATA names, and left out where there is none. DP-Oja is compared where examples/dpframe-oja is
installed. Figures need matplotlib.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

EXPERIMENTS = {
    "dyson": ("gauss_reports", "dyson"),
    "001-1": ("gauss_reports", "wishart_rows"),
    "001-2": ("gauss_reports", "wishart_dims"),
    "001-3": ("gauss_reports", "census"),
    "001-4": ("gauss_reports", "kdd"),
    "001-5": ("gauss_reports", "adult"),
    "growth": ("gauss_reports", "rank_growth"),
    "shapes": ("gauss_reports", "noise_shapes"),
    "004-1": ("spiked_reports", "figure_1"),
    "004-2": ("spiked_reports", "figure_2"),
    "004-3": ("spiked_reports", "figure_3"),
    "004-4": ("spiked_reports", "figure_4"),
    "004-5": ("spiked_reports", "figure_5"),
    "004-6": ("spiked_reports", "figure_6"),
    "counted": ("spiked_reports", "counted"),
    "heavy-tails": ("spiked_reports", "heavier_tails"),
}
"""Where each figure is drawn: a module here, and its function."""


def main(names: Sequence[str]) -> None:
    """Run the experiments of these names, or all of them."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise SystemExit(f"no figure is named {unknown[0]!r}; there are {', '.join(sorted(EXPERIMENTS))}.")
    from docs.figures.style import STYLE, plt

    with plt.rc_context(STYLE):
        for name in names or sorted(EXPERIMENTS):
            module, function = EXPERIMENTS[name]
            print(f"## {name}\n")
            getattr(import_module(f"docs.experiments.{module}"), function)()


if __name__ == "__main__":
    main(sys.argv[1:])
