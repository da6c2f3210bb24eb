"""CoinPress: Biswas, Dong, Kamath and Ullman, "CoinPress: practical private mean and covariance estimation", NeurIPS
2020.

Released: a center, and in two rounds the moment of the rows about it. The first round clips to what the box allows. The
second is in coordinates in which the covariance found so far, made larger by what the noise may hide, is the identity,
and clips to a length that at most one in ten rows of a standard normal law exceeds, as the authors' experiments do, or
to one that none of n such rows exceeds with probability 0.9, as their analysis wants it: two rivals, narrow and wide.
Of mu², the center has a tenth; the rounds share the rest as 1/4 and 3/4.

Privacy: the coordinates of a round depend on earlier releases only. Rows are clipped to length r in them, so their
moment moves by at most r² where a row is added or removed, and by at most √2 r² where one is replaced. The center has
its own argument. Gaussian levels add up in squares.

Strengthened: GOE noise, the exact curve, a private center instead of differences of pairs, which would halve the rows;
a first round clipped to the length that the box allows; no eigenvalue below zero or above what the round before left
possible. Of two, three and four rounds, two had the smallest covariance error on simulated and on the shared tables.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rivals.center import SHARE, Estimate, centered, clipped, penalty, rebuilt
from benchmarks.rivals.noise import Noise, Terms
from dpframe.lattice import FloatArray

ROUNDS = (1 / 4, 3 / 4)
BEYOND = 0.1  # the probability that a row is beyond the radius, at most


def coinpress(rows: FloatArray, terms: Terms, noise: Noise, *, wide: bool = False) -> Estimate:
    """The covariance of rows about a private center, in rounds."""
    dim = rows.shape[1]
    about = centered(rows, terms, noise, math.sqrt(SHARE) * terms.mu)
    inward, outward = np.eye(dim), np.eye(dim)  # to the coordinates of a round, and back
    radius, most = about.radius, about.radius**2
    for share in ROUNDS:
        mu = math.sqrt((1 - SHARE) * share) * terms.mu
        short = clipped(about.rows @ inward, radius)
        sensitivity = terms.moment(radius)
        noisy = noise.symmetric(short.T @ short, sensitivity, mu) / about.count
        values, vectors = np.linalg.eigh(noisy)
        hidden = penalty(sensitivity / mu / about.count, dim)
        found = outward @ rebuilt(np.clip(values, 0.0, most), vectors) @ outward
        ridge = outward @ hidden @ outward
        above = outward @ rebuilt(np.clip(values + hidden[0, 0], 1e-9, most), vectors) @ outward
        scales, axes = np.linalg.eigh(above)
        scales = np.maximum(scales, 1e-12)
        inward, outward = rebuilt(1 / np.sqrt(scales), axes), rebuilt(np.sqrt(scales), axes)
        radius, most = _radius(dim, about.count if wide else 1.0), 1.0
    return Estimate(covariance=found, penalty=ridge)


def _radius(dim: int, count: float) -> float:
    """A length that one of so many standard normal rows exceeds with a small probability (Laurent and Massart 2000)."""
    log = math.log(count / BEYOND)
    return math.sqrt(dim + 2 * math.sqrt(dim * log) + 2 * log)
