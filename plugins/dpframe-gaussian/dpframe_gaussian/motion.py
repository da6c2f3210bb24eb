"""Dyson Brownian motion: how eigenvalues and eigenvectors move as Gaussian noise is added.

For explanation, on made-up or public spectra: nothing here is private, and its randomness is not secure.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

import dpframe.plugin as dp

Floats = NDArray[np.float64]


def _values(spectrum: Any) -> Floats:
    return dp.Spectrum.of(spectrum).array


def _seed(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not dp.validators.is_int(value) or value < 0:
        raise dp.validators.refuse(owner, attribute.name, "an integer of at least 0", value)


@attrs.frozen(kw_only=True, slots=False, eq=False)
class DysonPaths:
    """One path of the eigenvalues and eigenvectors of M + N(t), for 0 ≤ t ≤ s².

    N is Brownian motion on symmetric matrices: over a time h its entries move independently by N(0, h) on the diagonal
    and N(0, h/2) off it. At t = s² it has the law of the noise that the mechanism ``gaussian`` adds with its default
    shape. Increments are drawn from this law and every matrix is decomposed anew, so at the chosen times the paths
    follow Dyson's stochastic differential equations without discretization error.

    This is for explanation, on made-up or public spectra: it draws from an ordinary generator, and its output for a
    private spectrum would reveal that spectrum.

    Args:
        spectrum: eigenvalues of M from the largest, none negative. M is diagonal; the noise has the same law in any
            orthonormal basis.
        scale: s, the deviation of the noise on the diagonal at the last time.
        steps: the number of equal parts into which [0, s²] is divided.
        seed: of the generator.

    References:
        Dyson, "A Brownian-motion model for the eigenvalues of a random matrix", J. Math. Phys. 1962.
        Mangoubi and Vishnoi, "Re-Analyze Gauss", NeurIPS 2022 [Re-Analyze Gauss: (2), (3), (4), Definition 3.1]; their
        B = W + Wᵀ at time t is N(4t).

    >>> paths = DysonPaths(spectrum=[9.0, 4.0, 1.0], scale=0.5, steps=100, seed=1)
    >>> paths.times.shape, paths.eigenvalues.shape, paths.vectors.shape
    ((101,), (101, 3), (101, 3, 3))
    >>> float(paths.errors([1.0])[0])  # of the leading direction, before any noise
    0.0
    """

    spectrum: Floats = attrs.field(converter=_values)
    scale: float = attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))
    steps: int = attrs.field(default=200, validator=dp.validators.positive_int)
    seed: int = attrs.field(validator=_seed)

    @cached_property
    def times(self) -> Floats:
        """The times, from 0 to s²."""
        return np.linspace(0.0, self.scale**2, self.steps + 1)

    @property
    def eigenvalues(self) -> Floats:
        """γ_1(t) ≥ … ≥ γ_d(t), one row for each time."""
        return self._decomposed[0]

    @property
    def vectors(self) -> Floats:
        """u_1(t), …, u_d(t) in the columns of one matrix for each time, with signs chosen for continuity."""
        return self._decomposed[1]

    def errors(self, target: ArrayLike) -> Floats:
        """‖U(t)ΛU(t)ᵀ − U(0)ΛU(0)ᵀ‖ at each time.

        Args:
            target: the diagonal of Λ from the largest value, none negative; zero beyond its end. k ones compare the
                projectors on the k leading directions.
        """
        wanted = _values(target)
        if len(wanted) > len(self.spectrum):
            raise dp.PlanError(
                f"the target has {len(wanted)} values, but the spectrum has {len(self.spectrum)}; give at most as many."
            )
        leading = self.vectors[:, :, : len(wanted)]
        moved = (leading * wanted) @ leading.transpose(0, 2, 1)
        distances: Floats = np.linalg.norm(moved - moved[0], axis=(1, 2))
        return distances

    @cached_property
    def _decomposed(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(np.diag(self.spectrum) + self._noise())
        values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        overlaps = np.einsum("tij,tij->tj", vectors[1:], vectors[:-1])
        signs = np.cumprod(np.where(overlaps < 0.0, -1.0, 1.0), axis=0)
        return values, np.concatenate([vectors[:1], vectors[1:] * signs[:, None, :]])

    def _noise(self) -> Floats:
        """N at each time: sums of independent increments."""
        dim = len(self.spectrum)
        square = np.random.default_rng(self.seed).standard_normal((self.steps, dim, dim))
        increments = (square + square.transpose(0, 2, 1)) * (self.scale / np.sqrt(4.0 * self.steps))
        return np.concatenate([np.zeros((1, dim, dim)), np.cumsum(increments, axis=0)])
