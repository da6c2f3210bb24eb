"""Analyze Gauss: Dwork, Talwar, Thakurta and Zhang, "Analyze Gauss: optimal bounds for privacy-preserving principal
component analysis", STOC 2014.

Released: Σ [x, c][x, c]ᵀ with independent Gaussian noise on the upper triangle, from which count, mean and covariance
follow. The whole budget goes into this one matrix.

Privacy: a row [x, c] is no longer than R = √(d + c²), so the matrix moves by at most R² in Frobenius norm where a row
is added or removed, and by at most √2 R² where one is replaced; its upper triangle moves by no more.

Strengthened: the exact curve of the Gaussian instead of √(2 ln(1.25/δ))/ε, and the count and mean that the constant
gives. With GOE noise instead of a triangle it would be the plain plan.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rivals.center import Estimate, penalty
from benchmarks.rivals.noise import Noise, Terms
from dpframe.lattice import FloatArray


def analyze_gauss(rows: FloatArray, terms: Terms, noise: Noise) -> Estimate:
    """The covariance from a noisy moment of rows with a constant."""
    dim = rows.shape[1]
    constant = (dim / 4) ** 0.25  # about the best for the covariance, as in the plain plan
    longer = np.column_stack([rows, np.full(len(rows), constant)])
    sensitivity = terms.moment(math.sqrt(dim + constant**2))
    noisy = noise.triangular(longer.T @ longer, sensitivity, terms.mu)
    count = float(len(rows)) if terms.replace else max(float(noisy[-1, -1]) / constant**2, 1.0)
    mean = noisy[:-1, -1] / (constant * count)
    covariance = noisy[:-1, :-1] / count - np.outer(mean, mean)
    deviation = math.sqrt(2) * sensitivity / terms.mu / count  # of GOE noise that is as large off the diagonal
    return Estimate(covariance=covariance, penalty=penalty(deviation, dim))
