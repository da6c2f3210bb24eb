"""The spread of simulated figures about their typical value, and how far that is off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpframe.lattice import FloatArray

FOLLOWED = 2048  # figures from which the shape of the distribution is found


def margins(errors: Sequence[FloatArray], confidence: float) -> tuple[FloatArray, FloatArray]:
    """Half-widths of the intervals about the median that hold a share of the draws, and the medians of the errors.

    A released radius that is far too long makes some releases much noisier than others, so a standard deviation says
    little. The half-width of a figure is its mean absolute deviation times a factor, which is found from the draws of
    many figures together: their distributions have about the same shape, and one figure alone has few draws that far
    out.

    Args:
        errors: the errors of all figures in each draw.
        confidence: the share of draws.
    """
    drawn = np.stack(errors)
    medians = np.median(drawn, axis=0)
    apart = np.abs(drawn - medians)
    deviations = apart.mean(axis=0)
    followed = np.flatnonzero(deviations > 0.0)
    followed = followed[:: -(-len(followed) // FOLLOWED) or 1]
    factor = np.quantile(apart[:, followed] / deviations[followed], confidence) if len(followed) else 0.0
    return deviations * factor, medians
