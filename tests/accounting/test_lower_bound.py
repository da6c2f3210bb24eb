"""The lower bound is below every truth that is known, and close enough to it to detect mistakes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np
import pytest
from scipy.special import ndtr

import dpframe.plugin as dp
from dpframe.accounting import lower_bound
from dpframe.accounting.lower_bound import contradicted, least_delta

EPSILONS = (0.0, 0.05, 0.3, 0.77, 1.2, 2.5)


def laplace(shift: float) -> Callable[[float], float]:
    return lambda epsilon: -math.expm1(min(epsilon - shift, 0.0) / 2)


def response(level: float) -> Callable[[float], float]:
    return lambda epsilon: max(0.0, -math.expm1(epsilon - level)) / (1 + math.exp(-level))


def bounded_range(span: float) -> Callable[[float], float]:
    return lambda epsilon: max(math.exp(span / 2) - math.exp(epsilon / 2), 0.0) ** 2 / math.expm1(span)


def fails(level: float, delta: float) -> Callable[[float], float]:
    return lambda epsilon: delta + (1 - delta) * response(level)(epsilon)


@pytest.mark.parametrize(
    ("loss", "truth", "closeness"),
    [
        (dp.losses.Pure(epsilon=1.0), response(1.0), 1e-8),
        (dp.losses.Pure(epsilon=0.3), response(0.3), 1e-8),
        (dp.losses.Laplace(epsilon=1.0), laplace(1.0), 1e-4),
        (dp.losses.Laplace(epsilon=2.7), laplace(2.7), 1e-4),
        (dp.losses.BoundedRange(epsilon=1.0), bounded_range(1.0), 1e-8),
        (dp.losses.Approx(epsilon=0.8, delta=1e-3), fails(0.8, 1e-3), 1e-8),
    ],
    ids=lambda value: str(value) if isinstance(value, dp.PrivacyLoss) else "",
)
def test_one_loss_has_its_closed_form(loss: dp.PrivacyLoss, truth: Callable[[float], float], closeness: float) -> None:
    for epsilon in EPSILONS:
        found = least_delta([loss], epsilon)
        assert found <= truth(epsilon)
        assert found >= truth(epsilon) * (1 - closeness) - 1e-5 * closeness


def test_gaussians_alone_have_the_exact_curve() -> None:
    losses = [dp.losses.Gaussian(mu=0.5), dp.losses.Gaussian(mu=0.5), dp.losses.ZCDP(rho=0.25)]  # mu² adds up to 1
    for epsilon in (0.0, 0.5, 1.0, 4.0, 12.0):
        above = dp.accountant("gdp").delta([dp.losses.Gaussian(mu=1.0)], epsilon)
        assert above * (1 - 1e-14) <= least_delta(losses, epsilon) < above


def responses(levels: Sequence[float], epsilon: float) -> float:
    """Randomized responses of any levels, by enumeration of all outcomes."""
    total = []
    for signs in itertools.product((1, -1), repeat=len(levels)):
        likely, other = (
            math.prod(1 / (1 + math.exp(-way * sign * level)) for sign, level in zip(signs, levels, strict=True))
            for way in (1, -1)
        )
        total.append(max(0.0, likely - math.exp(epsilon) * other))
    return math.fsum(total)


def test_mixtures_of_responses_by_enumeration() -> None:
    levels = (0.9, 0.53, 0.53, 0.21, 0.2, 0.11, 0.07)
    losses = [dp.losses.Pure(epsilon=level) for level in levels]
    for epsilon in (0.0, 0.4, 1.1, 1.9, 2.4):
        truth = responses(levels, epsilon)
        assert truth * 0.9 - 1e-4 <= least_delta(losses, epsilon) <= truth


def gaussian_and_response(mu: float, level: float, epsilon: float) -> float:
    """Given the answer of the response, the ratio is normal about mu²/2, shifted by ±level."""

    def curve(at: float) -> float:
        return float(ndtr(mu / 2 - at / mu) - math.exp(at) * ndtr(-mu / 2 - at / mu))

    likely = 1 / (1 + math.exp(-level))
    return likely * curve(epsilon - level) + (1 - likely) * curve(epsilon + level)


@pytest.mark.parametrize("level", [0.05, 0.5, 3.0])
def test_a_gaussian_and_a_response_in_closed_form(level: float) -> None:
    losses = [dp.losses.Gaussian(mu=0.6), dp.losses.Pure(epsilon=level)]
    for epsilon in EPSILONS:
        truth = gaussian_and_response(0.6, level, epsilon)
        assert truth * 0.98 <= least_delta(losses, epsilon) <= truth


def mixtures() -> list[list[dp.PrivacyLoss]]:
    rng = np.random.default_rng(5)
    types = (dp.losses.Laplace, dp.losses.Pure, dp.losses.BoundedRange)
    found: list[list[dp.PrivacyLoss]] = []
    for number in range(60):
        level = float(10 ** rng.uniform(-2, 1))
        losses: list[dp.PrivacyLoss] = []
        for _ in range(int(rng.integers(1, 5))):
            cls = types[int(rng.integers(len(types)))]
            losses += [cls(epsilon=level * float(rng.uniform(0.2, 1.0)))] * int(rng.choice([1, 2, 9]))
        if number % 2:
            losses.append(dp.losses.Gaussian(mu=level * float(rng.uniform(0.2, 1.5))))
        if number % 3 == 0:
            losses.append(dp.losses.Approx(epsilon=level, delta=1e-7))
        found.append(losses)
    return found


@pytest.mark.parametrize("losses", mixtures(), ids=lambda losses: f"{len(losses)} from {losses[0]}")
def test_no_answer_of_the_projects_accountants_is_refused(losses: list[dp.PrivacyLoss]) -> None:
    for name in ("pure", "zcdp", "gdp", "pld", "auto"):
        accountant = dp.accountant(name)
        if all(map(accountant.supports, losses)):
            for delta in (0.0, 1e-3, 1e-6, 1e-12):
                assert not contradicted(losses, accountant.epsilon(losses, delta), delta)


TIGHT: list[list[dp.PrivacyLoss]] = [
    [dp.losses.Gaussian(mu=0.2)] * 3,
    [dp.losses.Laplace(epsilon=0.05)] * 300,
    [dp.losses.Pure(epsilon=0.02)] * 1000,
    [dp.losses.Gaussian(mu=0.172), dp.losses.Laplace(epsilon=0.172), dp.losses.Pure(epsilon=0.172)],
    [dp.losses.Pure(epsilon=50.0), dp.losses.Gaussian(mu=1.0)],
    [dp.losses.Laplace(epsilon=1e-4)] * 20 + [dp.losses.Gaussian(mu=0.1)],
]


@pytest.mark.parametrize("losses", TIGHT, ids=lambda losses: f"{len(losses)} from {losses[0]}")
def test_two_per_cent_below_the_truth_are_detected(losses: list[dp.PrivacyLoss]) -> None:
    for delta in (1e-3, 1e-6, 1e-12):
        epsilon = dp.accountant("auto").epsilon(losses, delta)
        assert not contradicted(losses, epsilon, delta)
        assert contradicted(losses, epsilon * 0.98, delta)


def test_half_of_many_bounded_ranges_is_detected() -> None:
    for count in (1, 2, 6, 40):
        losses = [dp.losses.BoundedRange(epsilon=0.5)] * count
        assert contradicted(losses, dp.accountant("auto").epsilon(losses, 1e-6) / 2, 1e-6)


def test_without_a_delta_the_largest_ratios_count() -> None:
    bounded = [dp.losses.Pure(epsilon=0.5), dp.losses.Laplace(epsilon=0.25), dp.losses.BoundedRange(epsilon=0.125)]
    assert not contradicted(bounded, 0.875, 0.0)
    assert contradicted(bounded, 0.874, 0.0)
    for unbounded in (dp.losses.Gaussian(mu=1e-3), dp.losses.Approx(epsilon=1.0, delta=1e-9)):
        assert contradicted([*bounded, unbounded], 1e6, 0.0)
        assert not contradicted([*bounded, unbounded], math.inf, 0.0)


@attrs.frozen(kw_only=True)
class Subsampled(dp.losses.Gaussian):
    """A third party's loss that is known to be smaller than that of its base."""


@attrs.frozen(kw_only=True)
class Unknown(dp.losses.PrivacyLoss):
    """A third party's loss of which the project knows nothing."""


def test_losses_of_other_types_are_left_out() -> None:
    assert 0.0 == least_delta([Subsampled(mu=3.0), Unknown()], 0.1)
    known: list[dp.PrivacyLoss] = [dp.losses.Pure(epsilon=1.0)]
    assert least_delta(known, 0.1) == least_delta([*known, Unknown(), Subsampled(mu=1.0)], 0.1)


def test_many_losses_that_are_each_too_small_for_the_lattice_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the lattice's own fineness that takes 512² different ones."""
    monkeypatch.setattr(lower_bound, "FINENESS", 2)
    losses = [dp.losses.Pure(epsilon=1.0 + number / 1000) for number in range(5)]
    assert 0.0 == least_delta(losses, 0.0)
    assert 0.0 < least_delta(losses[:3], 0.0)


@pytest.mark.parametrize("level", [5e-324, 1e-200, 1e-12, 1e4, 1e12])
def test_extreme_levels_have_a_bound_all_the_same(level: float) -> None:
    for losses in (
        [dp.losses.Pure(epsilon=level), dp.losses.Gaussian(mu=level)],
        [dp.losses.Laplace(epsilon=level)] * 500,
        [dp.losses.BoundedRange(epsilon=level), dp.losses.Laplace(epsilon=1.0)],
    ):
        assert 0.0 <= least_delta(losses, 1.0) <= 1.0
