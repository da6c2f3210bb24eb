"""First-order forecasts of the error that Gaussian noise leaves in subspaces and low-rank parts."""

from __future__ import annotations

import math

import numpy as np

import dpframe as dp
from dpframe.postprocess import RankK, TopSubspace
from dpframe_gaussian.mechanism import SymmetricGaussian

GAP_FACTOR = 10.0  # gaps of this many s√d: within a few per cent of simulation


class FirstOrder(dp.BoundOracle):
    """Expected error to first order in the noise.

    With noise of deviation s/√2 off the diagonal in any basis, eigenvector i turns towards j by N_ij/(σ_i − σ_j), so
    that for the projector on the k leading eigenvectors E‖P̂ − P‖² ≈ s² Σ_{i≤k<j} (σ_i − σ_j)⁻². Keeping the noisy
    eigenvalues, the rank-k part has E‖·‖² ≈ s² [k(k+1)/2 + Σ_{i≤k<j} σ_i²/(σ_i − σ_j)²].
    """

    name = "first-order"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        action = next(s.action for s in plan.steps if s.name == step)
        if not isinstance(action, TopSubspace | RankK) or scenario.eigenvalues is None or plan.rows.center:
            return []
        source = next((s for s in plan.steps if isinstance(action.of, dp.Ref) and s.name == action.of.name), None)
        if source is None or not isinstance(source.action, SymmetricGaussian):
            return []
        noise = source.action.noise(plan.rows, plan.pricing.levels[source.name])
        scale = math.sqrt(2) * noise["off-diagonal"]
        return [_forecast(action, scenario.eigenvalues, scale)]


def _forecast(action: TopSubspace | RankK, spectrum: dp.lattice.FloatArray, s: float) -> dp.Bound:
    k, dim = action.k, len(spectrum)
    top, rest = spectrum[:k, None], spectrum[None, k:]
    gap = float(spectrum[k - 1] - spectrum[k]) if k < dim else math.inf
    assumption = dp.Assumption(
        text=f"the gap below eigenvalue {k} is at least {GAP_FACTOR:g} s√d",
        holds=gap >= GAP_FACTOR * s * math.sqrt(dim),
    )
    with np.errstate(divide="ignore"):
        turns = 1.0 / (top - rest) ** 2
    if isinstance(action, TopSubspace):
        norm = "Frobenius, of the difference of projectors"
        squared = min(s**2 * float(turns.sum()), 2.0 * min(k, dim - k))  # no two projectors are farther apart
    else:
        norm = "Frobenius, of the difference of rank-k parts"
        turned = min(s**2 * float((top**2 * turns).sum()), 2.0 * float((top**2).sum()))  # no turn is larger
        squared = s**2 * k * (k + 1) / 2 + turned
    return dp.Bound(
        name="first-order",
        value=math.sqrt(squared),
        norm=norm,
        kind="forecast",
        explicit=True,
        assumptions=(assumption,),
        citation="perturbation theory; compare Mangoubi and Vishnoi 2022, Theorem 2.2",
    )
