"""Recipes for a matrix of rank k under pure differential privacy: eigenvalues and eigenvectors, both released."""

from __future__ import annotations

from typing import Any

import attrs

import dpframe.plugin as dp


@attrs.frozen(kw_only=True)
class _LowRank(dp.Recipe):
    """What the recipes have in common: a rank, and a share of the level for eigenvalues."""

    k: int = attrs.field(validator=dp.validators.positive_int)
    share: float = attrs.field(
        default=0.5, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0, below=1.0)
    )

    def _joined(self, name: str, weight: float, drawn: dp.Step) -> list[dp.Step]:
        """The k largest eigenvalues, what is drawn, and the matrix with the eigenvectors of that."""
        spectrum = f"{name}.spectrum"
        return [
            dp.release(spectrum, "laplace-eigenvalues", k=self.k, weight=self.share * weight),
            attrs.evolve(drawn, weight=(1.0 - self.share) * weight),
            dp.derive(name, "with-spectrum", of=drawn.name, spectrum=spectrum),
        ]


@attrs.frozen(kw_only=True)
class OrbitLowRank(_LowRank):
    """A matrix of rank k, close to the second moment: Algorithm 2 of Mangoubi et al., with a result of rank k.

    The k largest eigenvalues are released with Laplace noise, and then a Hermitian matrix that has them, with the
    eigenvectors drawn together (`orbit`). Its real part has up to twice the rank, and smaller eigenvalues; the result
    is the matrix with its k leading eigenvectors and the released eigenvalues (`with-spectrum`), which is free.

    Args:
        k: the rank.
        share: of the level, for the eigenvalues; one half as in the paper.

    Guarantee:
        A Laplace and a BoundedRange loss whose levels add up to weight·t, hence pure epsilon-DP at that sum; worst
        case, for either neighboring relation.

    References:
        Mangoubi, Wu, Kale, Thakurta and Vishnoi, "Private matrix approximation and geometry of unitary orbits",
        COLT 2022 [Unitary orbits: Algorithm 2, Theorem 2.3].
    """

    name = "orbit-low-rank"

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        return self._joined(name, weight, dp.release(f"{name}.draw", "orbit", spectrum=dp.ref(f"{name}.spectrum")))


@attrs.frozen(kw_only=True)
class BinghamLowRank(_LowRank):
    """A matrix of rank k, close to the second moment, with eigenvectors drawn one at a time, as Amin et al. do.

    The k largest eigenvalues are released with Laplace noise, then k directions, each by the exponential mechanism in
    the orthogonal complement of the earlier ones (`bingham`); the result is the matrix with these eigenvectors and
    eigenvalues (`with-spectrum`). With k the number of coordinates it estimates all of the moment.

    Amin et al. give each direction a level of its own; here they have equal ones. For k of two and more
    `orbit-low-rank`, which draws all directions together, has less error.

    Args:
        k: the rank.
        share: of the level, for the eigenvalues.

    Guarantee:
        A Laplace loss and k BoundedRange losses whose levels add up to weight·t, hence pure epsilon-DP at that sum;
        worst case, for either neighboring relation.

    References:
        Amin, Dick, Kulesza, Muñoz Medina and Vassilvitskii, "Differentially private covariance estimation", NeurIPS
        2019.
    """

    name = "bingham-low-rank"

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """A low-rank part."""
        return cls(k=public["k"]).steps("estimate", 1.0) if task == "low-rank" else None

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        drawn = dp.release(f"{name}.directions", "bingham", k=self.k, spectrum=dp.ref(f"{name}.spectrum"))
        return self._joined(name, weight, drawn)


@attrs.frozen(kw_only=True)
class Deflation(_LowRank):
    """A matrix of rank k, close to the second moment: one direction after the other, and the scores along them.

    k directions are released one after the other, after Kapralov and Talwar: each by the exponential mechanism on what
    is left of the moment, here with the earlier ones projected out (`bingham`); then the scores vᵀMv along them, which
    cost together what one costs (`laplace-scores`). The result is Σ score·vvᵀ, with zero for negative scores
    (`with-spectrum`). Unlike the k largest eigenvalues of `bingham-low-rank` the scores belong to the directions that
    were drawn: without their noise, no matrix with these eigenvectors would be closer.

    Args:
        k: the rank.
        share: of the level, for the scores.

    Guarantee:
        k BoundedRange losses and a Laplace loss whose levels add up to weight·t, hence pure epsilon-DP at that sum;
        worst case, for either neighboring relation.

    References:
        Kapralov and Talwar, "On differentially private low rank approximation", SODA 2013.
    """

    name = "deflation"

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """A low-rank part."""
        return cls(k=public["k"]).steps("estimate", 1.0) if task == "low-rank" else None

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        directions, scores = f"{name}.directions", f"{name}.scores"
        return [
            dp.release(directions, "bingham", k=self.k, weight=(1.0 - self.share) * weight),
            dp.release(scores, "laplace-scores", directions=dp.ref(directions), weight=self.share * weight),
            dp.derive(name, "with-spectrum", of=directions, spectrum=scores),
        ]
