"""Lemmas and conditions of the spiked model, against matrices drawn at random and formulas worked out by hand.

[Spiked covariance: Lemma 5, Lemma 6, Lemma 10, (12), Section 7.1, Section 7.2, Theorem 3.2 (covariance)]
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from dpframe_spiked import extensions, representation
from dpframe_spiked.rates import Setting

BY_HAND = Setting(dim=100, rows=10_000, rank=4, spike=25.0, noise=1.0, epsilon=0.5, delta=0.025)
LOG = math.log(10_000)
TAIL = math.sqrt(math.log(100))


def perturbed(seed: int, relative: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A basis, spikes, a change of the norm `relative` times the smallest spike, and what the projector moves by."""
    rng = np.random.default_rng(seed)
    dim, rank = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    spikes = np.sort(rng.uniform(1.0, 5.0, rank))[::-1]
    change = rng.standard_normal((dim, dim))
    change += change.T
    change *= relative * spikes[-1] / np.linalg.norm(change, 2)
    top = np.linalg.eigh((basis * spikes) @ basis.T + 0.7 * np.eye(dim) + change)[1][:, -rank:]
    return basis, spikes, change, top @ top.T - basis @ basis.T


@pytest.mark.parametrize("seed", range(5))
def test_the_series_of_the_projector(seed: int) -> None:
    """[Spiked covariance: Lemma 5]"""
    basis, spikes, change, moved = perturbed(seed, 0.1)
    terms = representation.terms(basis, spikes, change, 14)
    for k, term in enumerate(terms, start=1):
        assert np.linalg.norm(term, 2) <= representation.term_bound(k, 0.1) * (1 + 1e-9)
        left = moved - np.sum(terms[:k], axis=0)
        tail = sum(representation.term_bound(j, 0.1) for j in range(k + 1, 200))
        assert np.linalg.norm(left, 2) <= tail + 1e-12
    assert np.linalg.norm(moved - np.sum(terms, axis=0), 2) < 1e-6 * np.linalg.norm(moved, 2)
    assert np.linalg.norm(moved - terms[0], 2) > 1e-3 * np.linalg.norm(moved, 2)  # the first term alone is not it


def test_the_bounds_on_terms_have_the_slack_that_is_stated() -> None:
    """[Spiked covariance: Lemma 5]: docs/explanation/spiked-errata.md has the figures."""
    shares = np.zeros(6)
    for seed in range(60):
        basis, spikes, change, _ = perturbed(seed, 0.1)
        norms = [np.linalg.norm(term, 2) for term in representation.terms(basis, spikes, change, 6)]
        shares = np.maximum(shares, [norm / representation.term_bound(k, 0.1) for k, norm in enumerate(norms, start=1)])
    assert [0.43, 0.14, 0.005] == pytest.approx(shares[[0, 1, 5]].tolist(), rel=0.05)


def test_the_bound_on_the_projector_is_never_violated() -> None:
    """[Spiked covariance: Lemma 10], without the factor 2 of its first term."""
    slack = []
    for seed in range(300):
        relative = 0.24 * (seed + 1) / 300
        basis, spikes, change, moved = perturbed(seed, relative)
        beside = np.eye(len(basis)) - basis @ basis.T
        cross = basis.T @ change @ beside
        smallest, norm = float(spikes[-1]), float(np.linalg.norm(change, 2))
        first = float(np.linalg.norm(cross / spikes[:, None], 2))
        bound = representation.projector_bound(smallest, norm, float(np.linalg.norm(cross, 2)), first)
        slack.append(bound / np.linalg.norm(moved, 2))
    assert min(slack) >= 1.0
    assert min(slack) < 1.1
    assert math.inf == representation.projector_bound(1.0, 0.25, 0.1, 0.1)


def test_fano_is_never_above_what_randomized_response_reaches() -> None:
    """[Spiked covariance: Lemma 6], for one row that names its law: TV distance 1, infinite divergence."""
    stated = {
        (2, 0.01): 2.1,
        (2, 1.0): 59.0,
        (1000, 0.01): 4.0,
        (1000, 1.0): 4.0,
    }  # in docs/explanation/spiked-errata.md
    for count in (2, 10, 1000):
        for epsilon in (0.01, 0.3, 1.0, 3.0):
            wrong = 1 - math.exp(epsilon) / (math.exp(epsilon) + count - 1)
            bound = extensions.private_fano(
                count=count, apart=1.0, divergence=math.inf, variation=1.0, epsilon=epsilon, delta=0.0
            )
            assert 0.0 < bound <= wrong
            if (count, epsilon) in stated:
                assert stated[count, epsilon] == pytest.approx(wrong / bound, rel=0.02)
    same: Any = {"count": 16, "apart": 2.0, "divergence": math.log(2), "variation": 0.1, "epsilon": 1.0}
    assert extensions.private_fano(**same) == pytest.approx(0.5)  # 1 − 2 ln 2/ln 16, and ¼·2
    weak = extensions.private_fano(**same | {"divergence": math.inf}, delta=0.1)
    assert weak == pytest.approx(0.5 * (1 - 0.2 * math.exp(0.4) / math.expm1(1.0)))
    large = extensions.private_fano(**same | {"divergence": math.inf}, delta=0.9)
    assert large == pytest.approx(0.5 * (0.75 - 0.9 * math.expm1(0.4) / math.expm1(1.0)))  # as proved for every ε
    assert 0.0 == extensions.private_fano(**same | {"divergence": math.inf, "variation": 1.0}, delta=0.9)


def test_a_change_of_measure_as_printed_fails_for_large_epsilon() -> None:
    """[Spiked covariance: Lemma 12, Lemma 6]: one row that is "a" with probability t, or never, and a private answer.

    P(A(X) = a) is (1 − t + te^ε)/(1 + e^ε) for the one law and 1/(1 + e^ε) for the other.
    """
    share = 1e-3
    for epsilon, step, statement in ((1.25, True, True), (1.26, False, True), (2.3, False, True), (2.4, False, False)):
        ratio = 1 - share + share * math.exp(epsilon)
        assert step == (ratio <= math.exp(2 * epsilon * share))
        assert statement == (ratio <= math.exp(4 * epsilon * share))
    for count in (2, 5, 100, 10**6):
        for epsilon in (0.3, 1.25, 1.26, 3.0, 8.0):
            for share in (0.01, 0.1, 0.5, 1.0):
                found = extensions.private_fano(
                    count=count, apart=1.0, divergence=math.inf, variation=share, epsilon=epsilon
                )
                named = math.exp(epsilon) / (math.exp(epsilon) + count - 1)  # of randomized response over the names
                assert 0.0 < found <= 1 - share * named - (1 - share) / count
    jump: Any = {"count": 1000, "apart": 1.0, "divergence": math.inf, "variation": 0.2}
    below, above = (extensions.private_fano(**jump, epsilon=epsilon) for epsilon in (1.256, 1.257))
    assert above == pytest.approx(0.75 * below)


def test_conditions_of_the_extensions() -> None:
    """[Spiked covariance: (12), Section 7.1, Section 7.2]"""
    most = 10_000 * math.sqrt(100 / LOG) * 0.5 / ((4 + LOG) * math.sqrt(math.log(160)))
    for spike, holds in ((most * 0.99, True), (most * 1.01, False)):
        assert holds == extensions.noise_conditions(attrs.evolve(BY_HAND, spike=spike))[0].holds
        assert holds == extensions.noise_conditions(attrs.evolve(BY_HAND, spike=spike / 3, condition=3.0))[0].holds
    assert extensions.noise_conditions(BY_HAND)[1].holds
    assert not extensions.noise_conditions(attrs.evolve(BY_HAND, rows=60, dim=100))[1].holds
    least = 100 * math.sqrt(math.log(20)) * TAIL / 5000
    for spike, holds in ((least * 1.01, True), (least * 0.99, False)):
        assert holds == extensions.rank_condition(attrs.evolve(BY_HAND, spike=spike), 20).holds
    least = 100 * TAIL / 5000
    for spike, holds in ((least * 1.01, True), (least * 0.99, False)):
        assert [True, holds] == [a.holds for a in extensions.spike_conditions(attrs.evolve(BY_HAND, spike=spike))]
    assert not extensions.spike_conditions(attrs.evolve(BY_HAND, rows=20, epsilon=0.1))[0].holds


def test_rates_beside_the_theorems() -> None:
    assert extensions.oja_lower(BY_HAND) == pytest.approx(math.sqrt(1 / 26) * (0.1 + 0.02))
    one = attrs.evolve(BY_HAND, rank=1, spike=1e6)
    assert extensions.oja_lower(one) == pytest.approx(one.projector_minimax(math.inf), rel=2e-3)
    assert extensions.oja_lower(attrs.evolve(one, spike=0.01)) < 0.2 * attrs.evolve(one, spike=0.01).projector_minimax(
        2
    )
    printed = 25 * 2 * (4 + LOG) / 5000 * TAIL
    proved = 25 * (4 + LOG) ** 1.5 / 5000 * TAIL
    for q in (1.0, 2.0, math.inf):
        difference = extensions.covariance_sure(BY_HAND, q) - BY_HAND.covariance(q)
        assert difference == pytest.approx((proved - printed) * 4 ** (1 / q))
