"""Norms in which the error of a result is measured, relative to the result without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.kinds import AugmentedMoment, ComplexSubspace, Kind, Loadings
from dpframe.lattice import FloatArray

FROBENIUS = "Frobenius, of the difference"
SPECTRAL = "spectral, of the difference"
PROJECTORS = "Frobenius, of the difference of projectors"
SPECTRAL_PROJECTORS = "spectral, of the difference of projectors"
ANGLE = "largest principal angle, in degrees"
CAPTURED = "captured variance, as a share of the best"

SEED = 1
CONFIDENCE = 0.99  # of the confidence interval of each simulated figure

TARGETS = {
    "angle_degrees": (ANGLE,),
    "frobenius": (PROJECTORS, FROBENIUS),
    "spectral": (SPECTRAL_PROJECTORS, SPECTRAL),
    "captured_variance": (CAPTURED,),
}
"""The norms of a target, by the keyword that users type; a result has at most one of them."""


def larger_is_better(norm: str) -> bool:
    """Whether a larger figure in this norm is a better result."""
    return norm == CAPTURED


def measured(value: Kind, truth: Kind, moment: FloatArray) -> dict[str, float]:
    """The errors of one result, by norm.

    Args:
        value: the result.
        truth: what it would be without privacy, of the same kind and shape.
        moment: the second moment of the data, for the variance that a subspace captures.
    """
    if isinstance(value, ComplexSubspace):
        return _of_subspaces(value.array, truth.array, moment)
    if isinstance(value, AugmentedMoment | Loadings):
        return {}  # not comparable: a constant that depends on the norm, and arbitrary signs
    difference = value.array - truth.array
    errors = {FROBENIUS: float(np.linalg.norm(difference))}
    if difference.ndim == 2:
        errors[SPECTRAL] = float(np.linalg.norm(difference, 2))
    return errors


def _of_subspaces(basis: NDArray[Any], best: NDArray[Any], moment: FloatArray) -> dict[str, float]:
    outside = basis - best @ (best.conj().T @ basis)  # singular values: sines of the principal angles
    sine = min(float(np.linalg.norm(outside, 2)), 1.0)
    errors = {
        PROJECTORS: math.sqrt(2) * float(np.linalg.norm(outside)),
        SPECTRAL_PROJECTORS: sine,
        ANGLE: math.degrees(math.asin(sine)),
    }
    most = _captured(best, moment)
    if most > 0.0:
        errors[CAPTURED] = _captured(basis, moment) / most
    return errors


def _captured(basis: NDArray[Any], moment: FloatArray) -> float:
    return float(np.einsum("ij,ij->", basis.conj(), moment @ basis).real)


def quantile(errors: FloatArray, share: float, norm: str) -> float:
    """The error that all but a share 1 − `share` of releases stay within.

    Args:
        errors: the simulated errors.
        share: the share of releases.
        norm: the norm of the errors.
    """
    return float(np.quantile(errors, 1.0 - share if larger_is_better(norm) else share))


def interval(errors: FloatArray, share: float, norm: str, confidence: float) -> tuple[float, float]:
    """A confidence interval of the quantile between two order statistics, valid for any distribution of the errors.

    Args:
        errors: the simulated errors.
        share: the share of releases that stay within the quantile.
        norm: the norm of the errors.
        confidence: the least probability that the interval contains the quantile.
    """
    from scipy.special import bdtr

    ordered = np.sort(errors)
    count, level = len(ordered), 1.0 - share if larger_is_better(norm) else share
    below = bdtr(np.arange(count + 1.0), count, level)  # P(at most i errors are below the quantile)
    tail = (1.0 - confidence) / 2
    first = int(np.searchsorted(below, tail, side="right"))  # fewer below it with probability ≤ tail
    last = int(np.searchsorted(below, 1.0 - tail, side="left"))
    low = float(ordered[first - 1]) if first > 0 else 0.0
    high = float(ordered[last]) if last < count else math.inf
    return low, high
