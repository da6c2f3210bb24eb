"""The noise of the mean and of the count, which all entries of a covariance have in common, against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpframe.intervals.centered import covariance_law
from dpframe.intervals.low_rank import LowRankLaw
from dpframe.intervals.matrix import MatrixLaw
from dpframe.intervals.subspace import SubspaceLaw
from dpframe.lattice import FloatArray
from tests.support.noisy import symmetric_noise

CONSTANT, DEVIATION, DRAWS, FEW = 0.3, 1.5, 1500, 50
TOLERANCE = 5.5 / math.sqrt(2 * DRAWS)  # of a standard deviation: a false alarm for one of 30 numbers is below 1e-5


def laws() -> tuple[FloatArray, list[MatrixLaw]]:
    """The covariance of rows that are far from the middle of their ranges, and laws of releases of it."""
    random = np.random.default_rng(0)
    mixed = np.linalg.qr(np.array([[1.0, 0.7, 0.4], [-0.8, 1.0, 0.5], [0.3, -0.6, 1.0]]))[0]
    rows = np.array([0.8, -0.6, 0.5]) + random.standard_normal((4000, 3)) * [0.5, 0.3, 0.15] @ mixed.T
    wide = np.column_stack([rows, np.full(len(rows), CONSTANT)])
    found = []
    for _ in range(DRAWS):
        released = wide.T @ wide + symmetric_noise(random, 4, DEVIATION)
        law = covariance_law(MatrixLaw.of_noise(released, DEVIATION, DEVIATION * math.sqrt(0.5)), CONSTANT)
        assert law is not None
        found.append(law)
    return np.cov(rows.T, bias=True), found


EXACT, RELEASED = laws()


def directions(matrix: FloatArray, k: int, like: FloatArray) -> FloatArray:
    vectors = np.linalg.eigh(matrix)[1][:, ::-1][:, :k]
    return vectors * np.where(np.einsum("ij,ij->j", vectors, like) < 0.0, -1.0, 1.0)


def test_the_trace_and_its_covariances() -> None:
    """Of S = n·C, divided by the count that is known here."""
    vectors = np.linalg.eigh(EXACT)[1]
    counts = np.array([law.count for law in RELEASED]) / 4000
    errors = [vectors.T @ (law.center * count - EXACT) @ vectors for law, count in zip(RELEASED, counts, strict=True)]
    along = np.array([np.diag(error) for error in errors])
    traces = along.sum(axis=1)
    shared, whole = RELEASED[0].trace_noise(vectors)
    assert whole == pytest.approx(float(traces.var()), rel=2 * TOLERANCE)
    scale = np.sqrt(along.var(axis=0) * traces.var())
    assert shared / scale == pytest.approx((along - along.mean(axis=0)).T @ traces / DRAWS / scale, abs=TOLERANCE)


def test_loadings() -> None:
    truth = np.linalg.eigh(EXACT)[1][:, ::-1][:, :2]
    found = np.array([directions(law.center, 2, truth) for law in RELEASED])
    stated = [
        SubspaceLaw(of=law, basis=basis).standard_error() for law, basis in zip(RELEASED[:FEW], found, strict=False)
    ]
    assert np.mean(stated, axis=0) == pytest.approx(found.std(axis=0), rel=2 * TOLERANCE)


def test_low_rank_parts() -> None:
    values = [np.linalg.eigh(law.center) for law in RELEASED]
    parts = np.array([each[0][-1] * np.outer(each[1][:, -1], each[1][:, -1]) for each in values])
    stated = [LowRankLaw(of=law, k=1).standard_error() for law in RELEASED[:FEW]]
    assert np.mean(stated, axis=0) == pytest.approx(parts.std(axis=0), rel=2 * TOLERANCE)
