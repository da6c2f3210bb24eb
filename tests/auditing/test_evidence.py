"""What counts prove about epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpframe.plugin as dp
from dpframe.auditing.evidence import Terms, best_event, clopper_pearson, lower_bound, visible

TERMS = Terms(trials=10_000, delta=0.01, false_alarm=1e-3)


@pytest.mark.parametrize("hits", [0, 1, 17, 50, 99, 100])
@pytest.mark.parametrize("doubt", [0.05, 1e-3, 1e-7])
def test_clopper_pearson_is_where_the_binomial_tail_is_the_doubt(hits: int, doubt: float) -> None:
    lower, upper = (float(bound) for bound in clopper_pearson(hits, 100, doubt))
    if hits > 0:
        assert doubt == pytest.approx(stats.binom.sf(hits - 1, 100, lower), rel=1e-6)
    else:
        assert 0.0 == lower
    if hits < 100:
        assert doubt == pytest.approx(stats.binom.cdf(hits, 100, upper), rel=1e-6)
    else:
        assert 1.0 == upper


def test_the_bound_is_the_definition() -> None:
    p, q = clopper_pearson(7000, 10_000, 5e-4)[0], clopper_pearson(900, 10_000, 5e-4)[1]
    assert math.log((p - 0.01) / q) == pytest.approx(lower_bound(7000, 900, TERMS))
    assert 0.0 == lower_bound(900, 900, TERMS)
    assert 0.0 == lower_bound(50, 0, TERMS)  # below delta nothing is proved


def test_the_bound_is_above_the_truth_no_more_often_than_stated() -> None:
    """Randomized response, whose epsilon is known: 20,000 audits at a false alarm of 0.1.

    At most 0.1 of the bounds are above the truth; 2,230 of 20,000 would be 5.4 deviations more (false alarm 3e-8).
    """
    epsilon, trials = 1.0, 400
    true = 1 / (1 + math.exp(-epsilon))
    random = np.random.default_rng(3)
    hits, misses = random.binomial(trials, true, 20_000), random.binomial(trials, 1 - true, 20_000)
    terms = Terms(trials=trials, delta=0.0, false_alarm=0.1)
    above = sum(lower_bound(a, b, terms) > epsilon for a, b in zip(hits.tolist(), misses.tolist(), strict=True))
    assert 0 < above < 2230


@pytest.mark.parametrize("reverse", [False, True])
def test_the_event_is_the_half_line_that_tells_most(reverse: bool) -> None:
    random = np.random.default_rng(8)
    noise, shift = random.standard_normal((2, 4000, 5)), np.array([0.0, 1.0, 0.0, 2.0, 0.0])
    samples = (noise[0] + shift, noise[1])
    event = best_event(*(samples[::-1] if reverse else samples), TERMS)
    fresh = random.standard_normal((2, 10_000, 5))
    hits = event.hits(fresh[0] + shift * (event.reverse == reverse))
    misses = event.hits(fresh[1] + shift * (event.reverse != reverse))
    gdp, loss = dp.accountant("gdp"), [dp.losses.Gaussian(mu=math.sqrt(5))]
    truth = gdp.epsilon(loss, TERMS.delta)
    expected = visible(lambda x: gdp.delta(loss, x), truth, TERMS)
    assert 0.8 * expected < lower_bound(hits, misses, TERMS) < truth


def test_laplace_shifts_and_changes_of_noise_are_seen_by_their_own_looks() -> None:
    """A dense shift of Laplace noise, whose likelihood ratio is a sum of cut-off numbers; and noise twice as large."""
    random = np.random.default_rng(5)
    one, other, fresh, again = random.laplace(size=(4, 20_000, 8))
    shift = 0.3
    event = best_event(one[:4000] + shift, other[:4000], TERMS)
    hits, misses = sorted((event.hits(fresh[:10_000] + shift), event.hits(again[:10_000])), reverse=True)
    assert 1.0 < lower_bound(hits, misses, TERMS) < 8 * shift
    event = best_event(2 * one[:4000], other[:4000], TERMS)
    hits, misses = sorted((event.hits(2 * fresh[:10_000]), event.hits(again[:10_000])), reverse=True)
    assert lower_bound(hits, misses, TERMS) > 2.0


def test_a_number_without_noise_is_found_among_others() -> None:
    random = np.random.default_rng(9)
    one, other = random.standard_normal((2, 300, 6))
    one[:, 4], other[:, 4] = 1e9 + 1.0, 1e9
    event = best_event(one, other, TERMS)
    assert 300 == (event.hits(one) if not event.reverse else event.hits(other))
    assert 0 == (event.hits(other) if not event.reverse else event.hits(one))


@pytest.mark.parametrize(
    ("loss", "worst"),
    [
        (dp.losses.Gaussian(mu=1.0), lambda z: (stats.norm.sf(z - 1.0), stats.norm.sf(z))),
        (dp.losses.Pure(epsilon=1.0), lambda z: (math.e / (1 + math.e), 1 / (1 + math.e))),
    ],
    ids=["Gaussian", "Pure"],
)
def test_visible_is_what_the_worst_pair_of_the_claim_would_show(loss: dp.PrivacyLoss, worst: object) -> None:
    accountant = dp.accountant("auto")
    claim = accountant.epsilon([loss], TERMS.delta)
    expected = max(
        lower_bound(TERMS.trials * p, TERMS.trials * q, TERMS)
        for p, q in map(worst, np.linspace(-3, 3, 200))  # type: ignore[call-overload]
    )
    assert expected == pytest.approx(visible(lambda x: accountant.delta([loss], x), claim, TERMS), rel=0.02)
