"""Entries of matrices with noise: variances against draws, and coverage."""

from __future__ import annotations

import math
from functools import partial

import attrs
import numpy as np
import pytest

from dpframe.errors import PlanError
from dpframe.intervals.centered import count_law, covariance_law, mean_law, scales_law
from dpframe.intervals.law import EntryLaw, ratio
from dpframe.intervals.matrix import MatrixLaw
from dpframe.lattice import FloatArray
from tests.support.noisy import RELEASES, coverage, rotated, symmetric_noise

HALF = math.sqrt(0.5)


def augmented(rows: FloatArray, constant: float) -> FloatArray:
    """The moment of rows with a constant coordinate."""
    wide = np.column_stack([rows, np.full(len(rows), constant)])
    return np.asarray(wide.T @ wide)


def test_variances_along_directions_are_those_of_draws() -> None:
    """Noise in two groups of rotated coordinates, with a mean and a count: 20,000 draws, 6 deviations of a variance."""
    random, dim, draws = np.random.default_rng(2), 4, 20_000
    rotation = np.linalg.qr(random.standard_normal((dim, dim)))[0]
    parts = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    levels, beside = np.array([[1.0, 0.5], [0.5, 0.2]]), np.array([0.3, 0.0, 0.0, 0.1])
    directions = np.linalg.qr(random.standard_normal((dim, dim)))[0]
    law = MatrixLaw(center=np.zeros((dim, dim)), parts=parts, levels=levels, beside=beside, rotation=rotation)
    variances = parts @ levels @ parts.T
    noise = np.sqrt(variances) * random.standard_normal((draws, dim, dim))
    noise = np.triu(noise, 1) + np.swapaxes(np.triu(noise, 1), 1, 2)
    diagonal = np.sqrt(2 * np.diag(variances) + beside) * random.standard_normal((draws, dim))
    noise[:, np.arange(dim), np.arange(dim)] = diagonal
    along = directions.T @ rotation @ noise @ rotation.T @ directions
    assert law.variances(directions) == pytest.approx(along.var(axis=0), rel=6 * math.sqrt(2 / draws))
    assert law.variances() == pytest.approx(law.variances(np.eye(dim)), rel=1e-12)


def test_variances_of_a_covariance_are_those_of_draws() -> None:
    random, draws, constant = np.random.default_rng(3), 4000, 0.5
    rows = random.normal([0.4, -0.7, 0.1], [0.3, 0.2, 0.5], (3000, 3))
    exact, deviation = augmented(rows, constant), 15.0
    centers, laws = [], []
    for _ in range(draws):
        law = MatrixLaw.of_noise(exact + symmetric_noise(random, 4, deviation), deviation, HALF * deviation)
        found = covariance_law(law, constant)
        assert found is not None
        centers.append(found.center)
        laws.append(found.standard_error())
    assert np.mean(laws, axis=0) == pytest.approx(np.std(centers, axis=0), rel=5 / math.sqrt(2 * draws) + 0.01)
    bias = np.mean(centers, axis=0) - np.cov(rows.T, bias=True)
    assert (np.abs(bias) < 0.1 * np.mean(laws, axis=0)).all()


@pytest.mark.parametrize("deviation", [2.0, 40.0, 100.0])  # the count has up to a fifth of its value as deviation
def test_count_mean_covariance_and_scales_are_covered(deviation: float) -> None:
    """400 releases, four deviations of the mean share: ten or more numbers, in part dependent."""
    random, constant = np.random.default_rng(4), 0.5
    rows = random.normal([0.4, -0.7, 0.1], [0.3, 0.2, 0.5], (2000, 3))
    exact = augmented(rows, constant)

    def moment(random: np.random.Generator) -> MatrixLaw:
        return MatrixLaw.of_noise(exact + symmetric_noise(random, 4, deviation), deviation, HALF * deviation)

    covariance = np.cov(rows.T, bias=True)
    cases = [
        (count_law, np.array(2000.0)),
        (mean_law, rows.mean(axis=0)),
        (covariance_law, covariance),
    ]
    for make, truth in cases:
        share = coverage(lambda random, make=make: make(moment(random), constant), truth)  # type: ignore[misc]
        assert abs(share.mean() - 0.95) < 5 * math.sqrt(0.95 * 0.05 / RELEASES), make
    share = coverage(lambda random: scales_law(covariance_law(moment(random), constant)), np.sqrt(np.diag(covariance)))  # type: ignore[arg-type, return-value]
    assert share.mean() > 0.91


def test_noise_that_is_larger_than_stated_is_not_covered() -> None:
    def moment(random: np.random.Generator) -> MatrixLaw:
        return MatrixLaw.of_noise(symmetric_noise(random, 5, 1.5), 1.0, HALF)

    assert coverage(moment, np.zeros((5, 5)), releases=100).mean() < 0.87


def test_a_count_within_noise_of_zero_determines_nothing() -> None:
    law = MatrixLaw.of_noise(np.eye(3), 1.0, HALF)
    for made in (mean_law(law, 1.0), covariance_law(law, 1.0)):
        assert made is not None
        found = made.interval(0.95)
        assert not found.determined.any()
        assert np.isposinf(made.standard_error()).all()


def test_fieller_solves_its_inequality() -> None:
    low, high = ratio(np.array(2.0), np.array(0.3), np.array(0.02), 0.2, 1.96)
    for end in (low, high):
        assert (2.0 - end) ** 2 == pytest.approx(1.96**2 * (0.3 - 2 * 0.02 * end + 0.04 * end**2))
    assert low < 2.0 < high


def test_other_units() -> None:
    random = np.random.default_rng(5)
    law = MatrixLaw.of_noise(rotated(random, [5.0, 2.0, 1.0]), 0.3, 0.2)
    scale = np.array([2.0, 0.1, 7.0])
    ours, theirs = law.interval(0.9), law.scaled(scale).interval(0.9)
    assert theirs.low == pytest.approx(ours.low * np.outer(scale, scale))
    assert law.scaled(scale).standard_error() == pytest.approx(law.standard_error() * np.outer(scale, scale))


def test_sampling_error_needs_a_count() -> None:
    law = MatrixLaw.of_noise(np.eye(3), 1.0, HALF)
    with pytest.raises(PlanError, match="the sampling error of a moment is not known"):
        law.interval(0.95, sampled=True)
    entries = EntryLaw(center=np.zeros(3), deviation=np.ones(3))
    with pytest.raises(PlanError, match="the sampling error of this value is not known"):
        entries.interval(0.95, sampled=True)


def test_the_sampling_error_of_normal_rows_is_covered() -> None:
    """Rows drawn anew each time: the population's covariance and mean are covered, and not without sampling error."""
    population, count, constant, deviation = np.array([[0.09, 0.03], [0.03, 0.04]]), 800, 0.5, 2.0

    def law(random: np.random.Generator, sampled: bool) -> MatrixLaw:
        rows = random.multivariate_normal([0.1, -0.2], population, count)
        released = augmented(rows, constant) + symmetric_noise(random, 3, deviation)
        found = covariance_law(MatrixLaw.of_noise(released, deviation, HALF * deviation), constant)
        assert found is not None
        return _Sampled(**{field.name: getattr(found, field.name) for field in attrs.fields(MatrixLaw)}, on=sampled)

    assert abs(coverage(partial(law, sampled=True), population).mean() - 0.95) < 0.04
    assert coverage(partial(law, sampled=False), population).mean() < 0.9


@attrs.frozen(kw_only=True, eq=False, slots=False)
class _Sampled(MatrixLaw):
    on: bool = True

    def interval(self, confidence: float, *, sampled: bool = False):  # type: ignore[no-untyped-def]
        return super().interval(confidence, sampled=self.on)
