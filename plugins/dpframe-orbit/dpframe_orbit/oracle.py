"""Forecasts and bounds for the mechanisms on orbits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_orbit import theory
from dpframe_orbit.bingham import Bingham
from dpframe_orbit.orbit import Orbit
from dpframe_orbit.theory import Floats

BETA = 0.05  # the probability with which an explicit upper bound may fail
SMALL = 0.3  # of the largest possible error; up to there first-order forecasts are accurate to about ten percent
PAPER = "Mangoubi, Wu, Kale, Thakurta and Vishnoi 2022"
PROJECTORS = "Frobenius, of the difference of projectors"


class UnitaryOrbits(dp.BoundOracle):
    """Forecasts and bounds for `orbit`, `bingham` and components derived from them.

    To first order the entry of H between eigenvectors i and j of M is a complex normal variable with mean square
    (λ_i − λ_j)/(κ(γ_i − γ_j)). So the score falls short by 1/κ for each pair, and the projector on the k leading
    eigenvectors of Re H is off by Σ_{i≤k<j} 1/(κ(λ_i − λ_j)(γ_i − γ_j)) in mean square, and that of H by twice
    as much. k directions that are drawn one at a time have κ/k each, and so √k times the error.
    """

    name = "unitary-orbits"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        action = next(s.action for s in plan.steps if s.name == step)
        if scenario.eigenvalues is None:
            return []
        gammas = scenario.eigenvalues
        if isinstance(action, Orbit):
            return list(_of_orbit(plan, step, gammas))
        if isinstance(action, Bingham):
            return [_directions(plan, step, gammas)]
        if isinstance(action, dp.postprocess.TopSubspace) and isinstance(action.of, dp.Ref):
            return list(_components(plan, action.of.name, action.k, gammas))
        return []


def _of_orbit(plan: dp.Plan, step: str, gammas: Floats) -> Iterator[dp.Bound]:
    action = _action(plan, step)
    spectrum = _spectrum(plan, step, gammas)
    assert isinstance(action, Orbit)
    if spectrum is None or spectrum[0] == spectrum[-1]:
        return
    kappa = _kappa(plan, step, spectrum)
    score = "of the score: Σ γᵢλᵢ − ⟨M, H⟩"
    most = float(gammas @ (spectrum - spectrum[::-1]))  # the largest possible shortfall
    yield dp.Bound(
        name="first-order",
        value=min(theory.first_order_shortfall(spectrum, kappa), most),
        norm=score,
        kind="forecast",
        explicit=True,
        assumptions=(_separated(spectrum, gammas, kappa),),
        citation="half of 1/κ for each real dimension of the orbit",
    )
    yield dp.Bound(
        name="covering",
        value=min(theory.explicit_shortfall(gammas, spectrum - spectrum[-1], kappa, BETA), most),
        norm=score,
        kind="upper-probability",
        explicit=True,
        citation=f"{PAPER}, Lemmas 6.3 and 6.4, solved for τ",
        confidence=1 - BETA,
    )
    if isinstance(plan.rows, dp.Matrix):
        return  # what follows is proved for sums over rows
    unit = plan.rows.length**2
    rank = int(np.count_nonzero(spectrum))
    epsilon = plan.pricing.levels[step]
    if isinstance(action.spectrum, dp.Ref):
        if getattr(_action(plan, action.spectrum.name), "name", "") != "laplace-eigenvalues":
            return  # the theorems are about Algorithm 2
        yield _low_rank(plan, action, gammas, kappa * float(spectrum[0] - spectrum[-1]))
        epsilon += plan.pricing.levels[action.spectrum.name]
        yield _rate("upper rate, Theorem 2.3", theory.rank_k_rate(gammas / unit, rank, epsilon), unit, "Theorem 2.3")
    reach = theory.lower_reach(gammas)
    small = dp.Assumption(text=f"ε is at most {reach:.3g}, up to a constant", holds=epsilon <= reach)
    lower = theory.lower_rate(gammas / unit, rank, epsilon)
    yield _rate("lower rate", lower, unit, "Corollaries 2.5 and 2.6", small)


def _low_rank(plan: dp.Plan, action: Orbit, gammas: Floats, strength: float) -> dp.Bound:
    """Theorem 2.3 with constants. The solver's allowance is at most what the mechanism pays for it, twice k times."""
    assert isinstance(action.spectrum, dp.Ref)
    values = _action(plan, action.spectrum.name)
    assert isinstance(values, dp.Mechanism)
    level, k = plan.pricing.levels[action.spectrum.name], int(getattr(values, "k", 1))
    scale = values.noise(plan.rows.bind(len(gammas)), level)["each"] / math.sqrt(2)
    offset = scale * level / (2 * k)
    squared = theory.rank_k_bound(gammas, k, scale=scale, offset=offset, strength=strength, beta=BETA)
    return dp.Bound(
        name=f"Theorem 2.3 with constants, {1 - BETA:.0%} sure",
        value=math.sqrt(squared),
        norm="distance from M, in Frobenius norm: ‖M − H‖",
        kind="upper-probability",
        explicit=True,
        citation=f"{PAPER}, Theorem 2.3, with constants: docs/explanation/unitary-orbits-errata.md",
        confidence=1 - BETA,
    )


def _rate(name: str, squared: float, unit: float, theorem: str, *assumptions: dp.Assumption) -> dp.Bound:
    return dp.Bound(
        name=name,
        value=math.sqrt(squared) * unit,
        norm="Frobenius, of M − H",
        kind="rate",
        explicit=False,
        assumptions=assumptions,
        citation=f"{PAPER}, {theorem}; constant set to 1, logarithms left out",
    )


def _directions(plan: dp.Plan, step: str, gammas: Floats) -> dp.Bound:
    action = _action(plan, step)
    assert isinstance(action, Bingham)
    dim, k = len(gammas), action.k
    kappa = action._rate(plan.rows, plan.pricing.levels[step]) / plan.rows.step**2
    ones = np.where(np.arange(dim) < k, 1.0, 0.0)
    return _projector(ones, gammas, k, kappa)


def _components(plan: dp.Plan, of: str, k: int, gammas: Floats) -> Iterator[dp.Bound]:
    action = _action(plan, of)
    if isinstance(action, Orbit):
        spectrum = _spectrum(plan, of, gammas)
        if spectrum is not None and spectrum[0] > spectrum[-1]:
            real = action.output(plan.rows) is dp.SymmetricMatrix
            yield _projector(spectrum, gammas, k, _kappa(plan, of, spectrum) / (1 if real else 2))


def _projector(spectrum: Floats, gammas: Floats, k: int, kappa: float) -> dp.Bound:
    """The forecast for the projector on the k leading eigenvectors of a real draw."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = (spectrum[:k, None] - spectrum[None, k:]) * (gammas[:k, None] - gammas[None, k:])
        squared = float(np.sum(1.0 / (kappa * gaps)))
    most = 2.0 * min(k, len(gammas) - k)  # no two projectors are farther apart
    value = math.sqrt(most if math.isnan(squared) else min(squared, most))
    return dp.Bound(
        name="first-order",
        value=value,
        norm=PROJECTORS,
        kind="forecast",
        explicit=True,
        assumptions=(
            dp.Assumption(
                text=f"it is at most {SMALL:g} of the largest possible error", holds=value <= SMALL * math.sqrt(most)
            ),
        ),
        citation="perturbation theory",
    )


def _separated(spectrum: Floats, gammas: Floats, kappa: float) -> dp.Assumption:
    """Whether the draw is so close to the best matrix that the quadratic approximation holds."""
    pairs = [(i, j) for i in range(len(gammas)) for j in range(i + 1, len(gammas)) if spectrum[i] > spectrum[j]]
    least = min(float((spectrum[i] - spectrum[j]) * (gammas[i] - gammas[j])) for i, j in pairs)
    return dp.Assumption(
        text="κ(λᵢ − λⱼ)(γᵢ − γⱼ) is at least twice the dimension for all pairs with λᵢ > λⱼ",
        holds=kappa * least >= 2 * len(gammas),
    )


def _action(plan: dp.Plan, step: str) -> object:
    return next(s.action for s in plan.steps if s.name == step)


def _spectrum(plan: dp.Plan, step: str, gammas: Floats) -> Floats | None:
    """All eigenvalues of the release; those of the scenario where they are released by an earlier step."""
    action = _action(plan, step)
    assert isinstance(action, Orbit)
    if isinstance(action.spectrum, dp.Spectrum):
        return action._eigenvalues(len(gammas))
    k = getattr(_action(plan, action.spectrum.name), "k", None)
    return None if k is None else np.where(np.arange(len(gammas)) < k, gammas, 0.0)


def _kappa(plan: dp.Plan, step: str, spectrum: Floats) -> float:
    """κ in the units of the data, for a spectrum that may be assumed."""
    action = _action(plan, step)
    assert isinstance(action, Orbit)
    strength = attrs.evolve(action, spectrum=dp.Spectrum(spectrum))._strength(plan.rows, plan.pricing.levels[step])
    return strength / plan.rows.step**2 / float(spectrum[0] - spectrum[-1])
