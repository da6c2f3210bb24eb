"""Laws of releases with additive noise of stated deviations, and releases drawn again with that noise."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from dpframe.intervals.law import EntryLaw, Law
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.tails import LARGE, NORMAL
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray


def law_of(value: Kind, noise: Mapping[str, float], shape: float = NORMAL, *, semidefinite: bool = True) -> Law | None:
    """The law of a release with additive noise; None if its noise has neither of the known forms.

    Args:
        value: the released value.
        noise: deviations by name: "diagonal" and "off-diagonal" of a symmetric matrix, or "each".
        shape: of the law of the noise (of entries on a diagonal); see :mod:`dpframe.intervals.tails`.
        semidefinite: whether a matrix without noise has no negative eigenvalues (`Rows.semidefinite`).
    """
    array = value.array
    if array.dtype.kind != "f":
        return None
    if {"diagonal", "off-diagonal"} <= set(noise) and array.ndim == 2 and np.array_equal(array, array.T):
        return MatrixLaw.of_noise(array, noise["diagonal"], noise["off-diagonal"], shape, semidefinite=semidefinite)
    if "each" in noise:
        return EntryLaw(center=array, deviation=np.full(array.shape, noise["each"]), shape=shape)
    return None


def redrawn(value: Kind, law: Law | None, random: np.random.Generator) -> Kind | None:
    """The value with noise of its law added; None if the law is not one of additive noise.

    Args:
        value: the released value.
        law: its law.
        random: draws the noise.
    """
    if isinstance(law, MatrixLaw) and law.rotation is None:
        drawn = np.sqrt(law.variances()) * _noise(random, value.array.shape, 2 * law.shape)
        noise = np.triu(drawn, 1)
        noise = noise + noise.T
        deviations = np.sqrt(np.diag(law.variances()))
        noise[np.diag_indices_from(noise)] = deviations * _noise(random, (law.dim,), law.shape)
    elif isinstance(law, EntryLaw):
        noise = law.deviation * _noise(random, value.array.shape, law.shape)
    else:
        return None
    return attrs.evolve(value, array=value.array + noise)


def _noise(random: np.random.Generator, size: tuple[int, ...], shape: float) -> FloatArray:
    """Noise of unit variance: normal, with a variance of its own if the shape is finite."""
    normal = random.standard_normal(size)
    return normal if shape > LARGE else normal * np.sqrt(random.standard_gamma(shape, size) / shape)
