"""Covariances, eigenvalues and ranks of spiked data from released values: post-processing."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

_optional_positive = attrs.validators.optional(dp.validators.number(above=0.0))


def _check_rank(owner: Any, rank: int, rows: dp.Rows) -> None:
    if rows.dim is not None and 2 * rank >= rows.dim:
        raise dp.PlanError(f"{owner.name!r} needs a rank below half of the {rows.dim} coordinates; got rank={rank}.")


@attrs.frozen(kw_only=True)
class SpikedCovariance(dp.PostProcessor):
    """A covariance with r strong directions and the same variance σ² in all others, from a second moment.

    The moment is divided by n; its r leading eigenvectors keep their eigenvalues, and all other directions get
    σ² as given, or else the mean of the remaining eigenvalues. No eigenvalue falls below σ², nor σ² below zero.

    Args:
        of: a second moment Σxxᵀ of rows with mean zero.
        rank: r.
        n: the number of rows, public or assumed.
        noise: σ², if it is known.
    """

    name = "spiked-covariance"
    gives = dp.Covariance

    of: Any = dp.input(dp.SymmetricMatrix)
    rank: int = attrs.field(validator=dp.validators.positive_int)
    n: int = attrs.field(validator=dp.validators.positive_int)
    noise: float | None = attrs.field(default=None, converter=dp.validators.as_float, validator=_optional_positive)

    def check(self, rows: dp.Rows) -> None:
        _check_rank(self, self.rank, rows)

    def apply(self) -> dp.Covariance:
        matrix = self.of.array / self.n
        dim = len(matrix)
        values, vectors = dp.top_eigenpairs(matrix, self.rank)
        rest = (float(np.trace(matrix)) - float(values.sum())) / max(dim - self.rank, 1)
        noise = max(rest, 0.0) if self.noise is None else self.noise
        signal = (vectors * np.maximum(values - noise, 0.0)) @ vectors.T
        return dp.Covariance((signal + signal.T) / 2 + noise * np.eye(dim), axes=self.of.axes)


@attrs.frozen(kw_only=True)
class EigenvalueShrinkage(dp.PostProcessor):
    """Eigenvalues of a spiked covariance from those of a second moment, corrected for their bias at ratio p/n.

    In a sample of n rows in p coordinates, an eigenvalue λ + σ² of the covariance appears as (λ + σ²)(1 + γσ²/λ), with
    γ = p/n, if λ > σ²√γ; a smaller one appears at the edge σ²(1 + √γ)² of the bulk (Baik and Silverstein 2006). This
    post-processor inverts the map; eigenvalues not above the edge are replaced by σ².

    Args:
        of: the eigenvalues of a second moment Σxxᵀ, or the largest of them.
        n: the number of rows, public or assumed.
        dim: p.
        noise: σ².
    """

    name = "eigenvalue-shrinkage"
    gives = dp.Spectrum

    of: Any = dp.input(dp.Spectrum)
    n: int = attrs.field(validator=dp.validators.positive_int)
    dim: int = attrs.field(validator=dp.validators.positive_int)
    noise: float = attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))

    def check(self, rows: dp.Rows) -> None:
        if rows.dim not in (None, self.dim):
            raise dp.PlanError(f"'eigenvalue-shrinkage' has dim={self.dim}, but the rows have {rows.dim} coordinates.")

    def apply(self) -> dp.Spectrum:
        return dp.Spectrum.from_noisy(population_eigenvalues(self.of.array / self.n, self.dim / self.n, self.noise))


def population_eigenvalues(sample: dp.FloatArray, ratio: float, noise: float = 1.0) -> dp.FloatArray:
    """The population eigenvalues λ + σ² of sample eigenvalues; σ² for those within the bulk.

    Nothing is squared or divided by the noise, so eigenvalues of any size give finite results.

    >>> population_eigenvalues(np.array([(9 + 1) * (1 + 0.5 / 9)]), ratio=0.5).round(9).tolist()
    [10.0]
    """
    low, high = (noise * (1.0 + side * np.sqrt(ratio)) ** 2 for side in (-1.0, 1.0))
    above = np.maximum(sample, high)
    root = np.sqrt(above - high) * np.sqrt(above - low)
    return np.where(sample > high, above / 2 + (noise * (1.0 - ratio) + root) / 2, noise)


@attrs.frozen(kw_only=True)
class EigenRatioRank(dp.PostProcessor):
    """The number of strong directions: the position of the largest ratio between consecutive released eigenvalues.

    Args:
        of: released eigenvalues, at least one more than the largest rank.
        largest: the largest rank to consider; by default one less than the number of eigenvalues.
    """

    name = "eigen-ratio-rank"
    gives = dp.Scalar

    of: Any = dp.input(dp.Spectrum)
    largest: int | None = attrs.field(default=None, validator=attrs.validators.optional(dp.validators.positive_int))

    def check(self, rows: dp.Rows) -> None:
        known = len(self.of.array) if isinstance(self.of, dp.Spectrum) else rows.dim
        if known is not None and (known < 2 or (self.largest or 1) >= known):
            raise dp.PlanError(
                f"'eigen-ratio-rank' of a rank up to {self.largest or 1} needs more eigenvalues than that; "
                f"there are at most {known}."
            )

    def apply(self) -> dp.Scalar:
        values = self.of.array[: None if self.largest is None else self.largest + 1]
        floor = max(1e-12 * float(values[0]), np.finfo(float).tiny)
        kept = np.maximum(values, floor)  # values clipped at zero count as equal
        return dp.Scalar(1.0 + float(np.argmax(kept[:-1] / kept[1:])) if len(kept) > 1 else 1.0)
