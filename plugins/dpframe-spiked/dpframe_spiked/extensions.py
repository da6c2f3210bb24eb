"""Conditions of the extensions of Cai, Xia and Zha (2024), and rates beside its theorems, with constants set to one.

A private σ², rank or spike takes the place of the true one; each needs a signal, or a number of rows, above what is
stated here. Where text and proof of the paper differ, docs/explanation/spiked-errata.md says which is which.
"""

from __future__ import annotations

import math

import dpframe.plugin as dp
from dpframe_spiked.rates import Setting


def noise_conditions(setting: Setting) -> tuple[dp.Assumption, ...]:
    """When a private σ² serves in place of the true one [Spiked covariance: (12), Theorem 5.3 (estimates)].

    Both say that the noise on σ̂², of size Δ₃√(ln n ln(4/δ))/ε, is a small share of σ².
    """
    n, p, log = setting.rows, setting.dim, math.log(setting.rows)
    bulk, tail = min(n, p), math.sqrt(math.log(4 / setting.delta))
    most = n * math.sqrt(bulk / log) * setting.epsilon / ((setting.rank + log) * tail)
    share = p / n * math.sqrt(log / bulk)
    return (
        dp.Assumption(
            text="the signal is not too strong for a private σ²: λ/σ² ≤ nε√((p∧n)/ln n)/((r + ln n)√ln(4/δ))",
            holds=setting.condition * setting.spike / setting.noise <= most,
        ),
        dp.Assumption(
            text="enough rows for a private σ²: (p/n)√(ln n/(p∧n)) ≤ ε/√ln(4/δ)", holds=share <= setting.epsilon / tail
        ),
    )


def rank_condition(setting: Setting, most: int) -> dp.Assumption:
    """When the private rank is right in the limit, among ranks up to `most` [Spiked covariance: Section 7.1]."""
    tail = math.sqrt(math.log(max(most, 2)) * math.log(2.5 / setting.delta))
    least = setting.dim * tail / (setting.rows * setting.epsilon)
    return dp.Assumption(
        text="the signal is strong enough for a private rank: λ/σ² ≥ p√(ln R ln(2.5/δ))/(nε)",
        holds=setting.spike / setting.noise >= least,
    )


def spike_conditions(setting: Setting) -> tuple[dp.Assumption, ...]:
    """When a private λ is within constant factors of the true one [Spiked covariance: Section 7.2]."""
    budget = setting.rows * setting.epsilon
    least = setting.dim * math.sqrt(math.log(2.5 / setting.delta)) / budget
    return (
        dp.Assumption(
            text="enough rows for a private λ: nε ≥ r + ln n", holds=budget >= setting.rank + math.log(setting.rows)
        ),
        dp.Assumption(
            text="the signal is strong enough for a private λ: λ/σ² ≥ p√ln(2.5/δ)/(nε)",
            holds=setting.spike / setting.noise >= least,
        ),
    )


def oja_lower(setting: Setting) -> float:
    """The lower rate of Liu et al. 2022, Theorem 5.3, for one direction, as quoted below (10) of the paper.

    √(σ²/(λ + σ²)) (√(p/n) + p/(nε)): it agrees with [Spiked covariance: Theorem 4.2 (components)] at r = 1 where λ is
    above σ², and is weaker below.
    """
    share = math.sqrt(setting.noise / (setting.spike + setting.noise))
    return share * (math.sqrt(setting.dim / setting.rows) + setting.dim / (setting.rows * setting.epsilon))


def covariance_sure(setting: Setting, q: float) -> float:
    """The upper rate for Σ that holds with high probability: (r + ln n)^{3/2} where the theorem prints √r (r + ln n).

    [Spiked covariance: Theorem 3.2 (covariance)] bounds ‖E‖ by Δ₂√(r + ln n) in (15), as probability 1 − n⁻¹⁰⁰ needs;
    √r Δ₂ bounds its mean, so that the printed rate is right for the expectation. Theorem 5.3 has the power 3/2.
    """
    larger = math.sqrt((setting.rank + math.log(setting.rows)) / setting.rank)
    cost = setting.rank + math.log(setting.rows)
    values = setting.condition * setting.spike * math.sqrt(setting.rank) * cost / (setting.rows * setting.epsilon)
    more = (larger - 1) * values * math.sqrt(math.log(2.5 / setting.delta)) * float(setting.rank ** (1.0 / q))
    return setting.covariance(q) + more


def private_fano(
    *, count: int, apart: float, divergence: float, variation: float, epsilon: float, delta: float = 0.0
) -> float:
    """A lower bound on the largest mean error of (ε, δ)-private estimates of n rows [Spiked covariance: Lemma 6].

    As printed up to ε = 1.256, where e^ε = 1 + 2ε. Beyond it the proof of [Spiked covariance: Lemma 12] fails, and its
    statement from 2.34 on; the bound then has ¾ in place of 1, with a proof for every ε in
    docs/explanation/spiked-errata.md.

    Args:
        count: N, how many product laws there are.
        apart: ρ₀, the least distance of their parameters.
        divergence: l₀, the largest Kullback–Leibler divergence of two of them.
        variation: t₀, the largest sum over rows of their distances in total variation.
        epsilon: of the privacy.
        delta: of the privacy; the second bound is positive only if it is below about ¾(e^ε − 1)e^{−4εt₀}.
    """
    classical = apart / 2 * (1 - (divergence + math.log(2)) / math.log(count))
    far = 4 * epsilon * variation
    chance = min(1.0, (count - 1) * math.exp(-far))
    left = 0.75 - delta * math.expm1(far) / math.expm1(epsilon)
    if math.expm1(epsilon) <= 2 * epsilon:
        left = max(left, 1 - 2 * delta * math.exp(far) / math.expm1(epsilon))
    return max(classical, apart / 4 * chance * left, 0.0)
