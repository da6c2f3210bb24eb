"""AdaSSP: Wang, "Revisiting differentially private linear regression: optimal and adaptive prediction and estimation in
unbounded domain", UAI 2018.

Released: a center, the smallest eigenvalue of XᵀX, XᵀX and Xᵀy about the center, each with noise; the smallest
eigenvalue tells how much ridge penalty the noise on XᵀX calls for. Of mu², the center has a tenth; the three share the
rest equally.

Privacy: about the released center no row of X is longer than R and no |y| larger than S. Where a row is added or
removed, XᵀX moves by at most R² in Frobenius norm, its smallest eigenvalue by R², and Xᵀy by RS; where one is replaced,
by √2 R², R² (one row raises it and the other lowers it, each by at most R²) and 2RS. Gaussian levels add up in squares.

Strengthened: GOE noise, the exact curve, a private center. The high-probability margins are the authors', at 0.05.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rivals.center import SHARE, centered
from benchmarks.rivals.noise import Noise, Terms
from dpframe.lattice import FloatArray

FAILURE = 0.05


def adassp(rows: FloatArray, target: int, terms: Terms, noise: Noise) -> FloatArray:
    """Slopes of the regression of one column on the others."""
    about = centered(rows, terms, noise, math.sqrt(SHARE) * terms.mu)
    mu = math.sqrt((1 - SHARE) / 3) * terms.mu
    features, response = np.delete(about.rows, target, axis=1), about.rows[:, target]
    dim = features.shape[1]
    most = 1 + float(np.abs(about.center[target]))
    radius = math.sqrt(about.radius**2 - most**2)
    gram, sensitivity = features.T @ features, terms.moment(radius)
    smallest = float(noise.gaussian(np.array(np.linalg.eigvalsh(gram)[0]), radius**2, mu))
    smallest = max(smallest - radius**2 / mu * math.sqrt(2 * math.log(1 / FAILURE)), 0.0)
    noisy = noise.symmetric(gram, sensitivity, mu)
    products = noise.gaussian(features.T @ response, (2 if terms.replace else 1) * radius * most, mu)
    wanted = sensitivity / mu * math.sqrt(dim * math.log(2 * dim**2 / FAILURE))
    ridge = max(wanted - smallest, 0.0)
    return np.asarray(np.linalg.solve(noisy + ridge * np.eye(dim), products))
