"""Amin, Dick, Kulesza, Munoz Medina and Vassilvitskii, "Differentially private covariance estimation", NeurIPS 2019:
pure epsilon, one eigenvector after another.

Released: a center, the eigenvalues of the moment about it with Laplace noise, and eigenvectors one by one, each drawn
with density ∝ exp(κ uᵀMu) from the directions orthogonal to those before. The center has a tenth of epsilon. For a
covariance, eigenvalues have half of the rest and the d − 1 draws of a vector share the other half equally, the last
vector being determined; for k components, k draws share all the rest.

Privacy: about the released center no row is longer than R. All eigenvalues move in one direction, by the squared length
of the row in all, so by at most R² in sum where a row is added or removed and 2R² where one is replaced. On any
subspace, chosen by earlier releases, uᵀMu moves within an interval of R² or 2R² over all u. A draw with κ = ε/R², or
ε/2R², is ε-private, and pure epsilons add up. It holds with δ = 0, and δ is not used.

Strengthened: the largest κ that the argument allows, where libraries that implement the method take ε/4R²; exact draws;
a private center.
"""

from __future__ import annotations

import numpy as np

from benchmarks.rivals.center import SHARE, Estimate, centered_purely, rebuilt
from benchmarks.rivals.noise import Noise, Terms
from dpframe.lattice import FloatArray


def amin(rows: FloatArray, terms: Terms, noise: Noise) -> Estimate:
    """The covariance, from noisy eigenvalues and drawn eigenvectors."""
    epsilon, dim = terms.budget.epsilon, rows.shape[1]
    about = centered_purely(rows, terms, noise, SHARE * epsilon)
    moment, sensitivity, rest = about.moment(), _spread(terms, about.radius), (1 - SHARE) * epsilon
    values = noise.laplace(np.asarray(np.linalg.eigvalsh(moment)[::-1], dtype=float), sensitivity, rest / 2)
    vectors = _directions(moment, dim, sensitivity, rest / 2 / max(dim - 1, 1), noise)
    values = np.sort(np.clip(values / about.count, 0.0, about.radius**2))[::-1]
    return Estimate(covariance=rebuilt(values, vectors), penalty=sensitivity / (rest / 2) / about.count * np.eye(dim))


def amin_components(rows: FloatArray, k: int, terms: Terms, noise: Noise) -> FloatArray:
    """The leading k directions, without eigenvalues."""
    epsilon = terms.budget.epsilon
    about = centered_purely(rows, terms, noise, SHARE * epsilon)
    return _directions(about.moment(), k, _spread(terms, about.radius), (1 - SHARE) * epsilon / k, noise)


def _spread(terms: Terms, radius: float) -> float:
    return (2 if terms.replace else 1) * radius**2


def _directions(moment: FloatArray, k: int, sensitivity: float, epsilon: float, noise: Noise) -> FloatArray:
    """k orthonormal directions, drawn one by one; the last of all dimensions needs no draw."""
    free, found = np.eye(len(moment)), []
    for _ in range(k):
        if free.shape[1] == 1:
            found.append(free[:, 0])
            break
        direction = noise.direction(free.T @ moment @ free, sensitivity, epsilon)
        found.append(free @ direction)
        free = free @ np.linalg.qr(direction[:, None], mode="complete")[0][:, 1:]
    return np.column_stack(found)
