"""Ridge regression under noise: the estimate of its loss against simulation, the penalty against the density itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from dpframe.postprocess.ridge import POWERS, Problem

FAR = 5.0  # standard errors; a right test is beyond with probability 6e-7


def noisy(covariance: NDArray[Any], deviation: float, random: np.random.Generator) -> NDArray[Any]:
    square = random.standard_normal(covariance.shape)
    return np.asarray(covariance + deviation / math.sqrt(2) * (square + square.T))


def problem_of(released: NDArray[Any], deviation: float, *, raising: bool = True) -> Problem:
    return Problem.of(released[:-1, :-1], released[:-1, -1], deviation, raising=raising)


def explained_by(slopes: NDArray[Any], covariance: NDArray[Any]) -> float:
    return float(2 * slopes @ covariance[:-1, -1] - slopes @ covariance[:-1, :-1] @ slopes)


def estimated_without_raising(problem: Problem, penalty: float) -> float:
    """What slopes explain, by the formula for eigenvalues that are not raised."""
    inverse = 1 / (problem.raised + penalty)
    turned = inverse * problem.products
    terms = turned**2 @ inverse + inverse.sum() * (turned @ turned) + inverse.sum()
    return float(2 * turned @ problem.products - turned**2 @ problem.values - 2 * problem.deviation**2 * terms)


@pytest.mark.parametrize(
    ("penalty", "power", "deviation", "raising"),
    [(0.3, 0.0, 0.08, False), (1.0, 0.0, 0.08, False), (0.3, 0.0, 0.3, True), (0.3, 1.0, 0.3, True)],
)
def test_the_estimated_loss_is_unbiased(penalty: float, power: float, deviation: float, raising: bool) -> None:
    random = np.random.default_rng(7)
    root = random.standard_normal((6, 6)) / 2
    covariance = root @ root.T + 0.5 * np.eye(6)
    errors, naive, other = [], [], []
    for _ in range(6_000):
        released = noisy(covariance, deviation, random)
        problem = problem_of(released, deviation, raising=raising)
        mean = problem.raised.mean() if power else 1.0  # the estimate is for a given λmᵖ
        slopes, explained = problem.slopes(problem.ridge(penalty / mean**power, power))
        true = explained_by(slopes, covariance)
        errors.append(explained - true)
        naive.append(explained_by(slopes, released) - true)
        other.append(estimated_without_raising(problem, penalty) - true)
    error = np.std(errors) / math.sqrt(len(errors))
    assert abs(np.mean(errors)) < FAR * error
    assert abs(np.mean(naive)) > 2 * FAR * error  # without the terms of the noise it is far off
    assert (abs(np.mean(other)) > FAR * error) == raising


@pytest.mark.parametrize("power", POWERS)
def test_the_penalty_is_the_likeliest(power: float) -> None:
    random = np.random.default_rng(3)
    root = random.standard_normal((9, 9))
    deviation = 0.05
    released = noisy(root @ root.T / 9, deviation, random)
    problem = problem_of(released, deviation)
    assert problem.values[0] < problem.raised[0] == pytest.approx(deviation * math.sqrt(8))
    mean = problem.raised.mean()
    spread = (mean / problem.raised) ** (1 - power) / mean  # variances of slopes, in units of s

    def density(share: float) -> float:
        """Of b, in the coordinates of the columns, where each direction explains this share on average."""
        noise = deviation**2 * (1 + share * spread.sum())
        law = problem.vectors * (problem.raised**2 * share * spread + noise) @ problem.vectors.T
        return float(multivariate_normal(cov=law).logpdf(released[:-1, -1]))

    penalty, likelihood = problem.likeliest(power)
    share = 1 / (penalty / deviation**2 - spread.sum())  # the penalty is τ²(1/s + the sum)
    assert density(share) > max(density(share * factor) for factor in (0.5, 0.8, 1.25, 2.0))
    assert density(share) == pytest.approx(likelihood - 4 * math.log(2 * math.pi))
    signals, noise = problem.raised * share * spread, deviation**2 * (1 + share * spread.sum())
    means = signals / (problem.raised * signals + noise)  # of slopes given b, for b = 1
    assert means == pytest.approx(problem.ridge(penalty, power).inverse)


def test_slopes_are_averaged_by_how_likely_they_are() -> None:
    """One strong direction explains all: slopes that are alike are likelier than directions that explain as much."""
    deviation, features = 0.01, np.diag([0.05, 0.1, 0.2, 0.4, 2.0])
    alike = Problem.of(features, features @ np.full(5, 0.3), deviation, raising=True)
    equal = Problem.of(features, np.sqrt(np.diag(features)) * 0.3, deviation, raising=True)
    for problem, power in ((alike, 1.0), (equal, 0.0)):
        likeliest = {each: problem.likeliest(each) for each in POWERS}
        assert power == max(likeliest, key=lambda each: likeliest[each][1])
        parts = [problem.ridge(likeliest[each][0], each) for each in POWERS]
        odds = np.exp([likeliest[each][1] for each in POWERS])
        average = sum(odd * part.inverse for odd, part in zip(odds / odds.sum(), parts, strict=True))
        chosen = problem.automatic()
        assert average == pytest.approx(chosen.inverse)
        mean = problem.raised.mean()
        assert min(part.penalty for part in parts) <= chosen.penalty <= max(part.penalty for part in parts)
        assert mean + chosen.penalty == pytest.approx(
            1 / sum(odd / (mean + part.penalty) for odd, part in zip(odds / odds.sum(), parts, strict=True))
        )


def test_the_penalty_grows_with_the_noise_and_needs_none_without() -> None:
    random = np.random.default_rng(5)
    root = random.standard_normal((6, 6))
    covariance = root @ root.T / 6
    penalties = [problem_of(covariance, deviation).automatic().penalty for deviation in (0.0, 1e-120, 0.01, 0.03, 0.1)]
    assert [0.0, 0.0] == penalties[:2]
    assert sorted(penalties) == penalties
    assert 0.0 < penalties[2]
