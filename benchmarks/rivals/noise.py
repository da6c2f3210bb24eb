"""Noise of the rivals, each draw with what it spends; and the terms under which a rival answers.

These are yardsticks: floating-point noise from a seeded generator, fit for measuring errors and for nothing else. Every
draw names the statistic, its sensitivity and its loss, so that a test can compose the losses of a whole run, and
compare the statistics of neighbors with the sensitivities that were used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import attrs
import numpy as np

import dpframe as dp
from benchmarks.direction import real_direction
from dpframe.accounting.calibrate import largest_scale
from dpframe.lattice import FloatArray
from dpframe.losses import BoundedRange, Gaussian, PrivacyLoss, Pure
from dpframe.noise import Keystream, Random

Neighbors = Literal["add-remove", "replace"]
Norm = Literal["l2", "l1", "spread", "each", "each, one way"]
"""How far neighbors are apart: Frobenius or Euclidean; sum of absolute values; largest less smallest eigenvalue of the
difference; largest absolute value; the same where all entries move up, or all move down."""


@attrs.frozen(kw_only=True)
class Terms:
    """The guarantee that is asked for.

    Args:
        budget: epsilon and delta.
        neighbors: the relation.
    """

    budget: dp.Budget
    neighbors: Neighbors

    @property
    def replace(self) -> bool:
        """Whether neighbors differ in the values of one row; the number of rows is then public."""
        return self.neighbors == "replace"

    def moment(self, radius: float) -> float:
        """How far a row of at most this length moves Σ x xᵀ in Frobenius norm: R², or √2 R² where it is replaced.

        ‖x xᵀ − y yᵀ‖² = ‖x‖⁴ + ‖y‖⁴ − 2(xᵀy)² ≤ 2R⁴.
        """
        return math.sqrt(2) * radius**2 if self.replace else radius**2

    def scale(self, losses: Callable[[float], Sequence[PrivacyLoss]]) -> float:
        """The largest t for which the losses at t compose to the budget."""

        def epsilon(t: float) -> float:
            return dp.accountant().epsilon(losses(t), self.budget.delta)

        found = largest_scale(epsilon, self.budget.epsilon)
        assert found is not None  # losses vanish with t
        return found

    @property
    def mu(self) -> float:
        """The level of Gaussian noise alone that uses up the budget, by the exact curve."""
        return _mu(self.budget.epsilon, self.budget.delta)


@lru_cache
def _mu(epsilon: float, delta: float) -> float:
    terms = Terms(budget=dp.Budget(epsilon=epsilon, delta=delta), neighbors="replace")
    return terms.scale(lambda t: [Gaussian(mu=t)])


@attrs.frozen(kw_only=True, eq=False)
class Draw:
    """One use of the data.

    Args:
        statistic: what noise was added to; no part of the release.
        sensitivity: how far neighbors may move it.
        norm: the norm in which they do.
        loss: what the draw costs.
        answer: what is released.
    """

    statistic: FloatArray
    sensitivity: float
    norm: Norm
    loss: PrivacyLoss
    answer: FloatArray


@attrs.define
class Noise:
    """Draws noise and keeps a list of the draws."""

    rng: np.random.Generator
    draws: list[Draw] = attrs.field(factory=list)

    def gaussian(self, statistic: FloatArray, sensitivity: float, mu: float) -> FloatArray:
        """Independent noise of deviation sensitivity/mu on every entry."""
        noise = sensitivity / mu * self.rng.standard_normal(np.shape(statistic))
        return self.released(statistic, sensitivity, "l2", Gaussian(mu=mu), lambda: statistic + noise)

    def symmetric(self, statistic: FloatArray, sensitivity: float, mu: float) -> FloatArray:
        """GOE noise: deviation s = sensitivity/mu on the diagonal and s/√2 off it, isotropic in Frobenius norm."""
        return self.released(
            statistic, sensitivity, "l2", Gaussian(mu=mu), lambda: statistic + self.goe(statistic, sensitivity / mu)
        )

    def triangular(self, statistic: FloatArray, sensitivity: float, mu: float) -> FloatArray:
        """Independent noise of deviation sensitivity/mu on the upper triangle, mirrored.

        The upper triangle has a Euclidean norm of at most the Frobenius norm of the matrix.
        """
        upper = np.triu(self.rng.standard_normal(statistic.shape)) * (sensitivity / mu)
        noise = upper + np.triu(upper, 1).T
        return self.released(statistic, sensitivity, "l2", Gaussian(mu=mu), lambda: statistic + noise)

    def laplace(self, statistic: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        """Independent Laplace noise of scale sensitivity/epsilon on every entry."""
        noise = self.rng.laplace(scale=sensitivity / epsilon, size=np.shape(statistic))
        return self.released(statistic, sensitivity, "l1", Pure(epsilon=epsilon), lambda: statistic + noise)

    def direction(self, statistic: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        """A unit vector u of density ∝ exp(κ uᵀMu), κ = epsilon/sensitivity.

        For neighbors M and M', uᵀ(M' − M)u lies in an interval as long as the spread of M' − M, so the log-density,
        with its normalization, moves within an interval of length epsilon.
        """

        def draw() -> FloatArray:
            values, vectors = np.linalg.eigh(statistic)
            random = Random(Keystream.insecure(int(self.rng.integers(2**62))))
            return np.asarray(vectors @ real_direction(epsilon / sensitivity * (values[-1] - values), random))

        return self.released(statistic, sensitivity, "spread", BoundedRange(epsilon=epsilon), draw)

    def first_above(self, queries: FloatArray, sensitivity: float, epsilon: float, *, one_way: bool) -> int:
        """The first query above 0, or their number, by the sparse vector technique; only the place is released.

        Half of epsilon is for the threshold, with noise of scale 2Δ/epsilon. Noise on queries has scale 4Δ/epsilon, and
        2Δ/epsilon where neighbors move all of them in one direction (Lyu, Su and Li 2017).
        """

        def draw() -> FloatArray:
            threshold = self.rng.laplace(scale=2 * sensitivity / epsilon)
            noisy = queries + self.rng.laplace(scale=(2 if one_way else 4) * sensitivity / epsilon, size=len(queries))
            return np.array(float(np.argmax(np.append(noisy >= threshold, True))))

        norm: Norm = "each, one way" if one_way else "each"
        return int(self.released(queries, sensitivity, norm, Pure(epsilon=epsilon), draw))

    def order(self, count: int) -> list[int]:
        """A random order of that many rows; it is no release."""
        return [int(index) for index in self.rng.permutation(count)]

    def goe(self, like: FloatArray, deviation: float) -> FloatArray:
        """A symmetric matrix of normals, of this deviation on the diagonal."""
        square = self.rng.standard_normal(like.shape)
        return np.asarray(deviation / 2 * (square + square.T))

    def released(
        self, statistic: FloatArray, sensitivity: float, norm: Norm, loss: PrivacyLoss, draw: Callable[[], FloatArray]
    ) -> FloatArray:
        """Draws, and notes what was drawn."""
        answer = draw()
        self.draws.append(
            Draw(statistic=np.array(statistic), sensitivity=sensitivity, norm=norm, loss=loss, answer=answer)
        )
        return answer
