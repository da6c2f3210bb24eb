"""Errors under the spiked model: a first-order forecast, and the published rates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dpframe.plugin as dp
from dpframe_spiked.blocks import BlockGaussian
from dpframe_spiked.choice import STEEPEST, Assumed, variances
from dpframe_spiked.covariance import SpikedCovariance
from dpframe_spiked.estimate import BlockEstimate
from dpframe_spiked.estimator import Spiked
from dpframe_spiked.rates import Setting

PAPER = "Cai, Xia and Zha 2024"
NORMS = {1.0: "nuclear", 2.0: "Frobenius", math.inf: "spectral"}


class SpikedForecast(dp.BoundOracle):
    """The error of a subspace after rounds of blocks, to first order in the noise, with all constants.

    With noise of variance v on the entries between the subspace and its complement, E‖P̂ − P‖² ≈ 2r(p−r)·v/(nλ)²; a
    round that gives its new cross part the weight k has the variance k²·v_new + (1−k)²·v_old.
    """

    name = "spiked-block"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        action = _action(plan, step)
        if (
            scenario.model != "spiked"
            or not isinstance(action, dp.postprocess.TopSubspace)
            or action.k != scenario.rank
        ):
            return []
        rounds = _rounds(plan, action.of)
        if not rounds or not plan.same_public_rows:
            return []
        bound = _forecast(plan, scenario, rounds)
        return [] if bound is None else [bound]


def _action(plan: dp.Plan, step: Any) -> Any:
    """The action of a step, by its name or a reference to it."""
    name = step.name if isinstance(step, dp.Ref) else step
    return next((each.action for each in plan.steps if each.name == name), None)


def _rounds(plan: dp.Plan, reference: Any) -> list[BlockEstimate]:
    """The estimates that a step is derived from, in order."""
    action = _action(plan, reference)
    return [*_rounds(plan, action.prior), action] if isinstance(action, BlockEstimate) else []


def _forecast(plan: dp.Plan, scenario: dp.Scenario, rounds: list[BlockEstimate]) -> dp.Bound | None:
    levels, first = plan.pricing.levels, rounds[0].prior
    if not isinstance(first, dp.Ref) or first.name not in levels:
        return None
    assert scenario.rank is not None  # a spiked scenario has both
    assert scenario.noise is not None
    try:
        assumed = Assumed.of(scenario, plan.rows, rank=scenario.rank, mu=1.0)
    except dp.PlanError:
        return None
    variance = assumed.moment_variance(levels[first.name] ** 2)
    steepest = 0.0
    for each in rounds:
        blocks = _action(plan, each.of)
        if not isinstance(blocks, BlockGaussian) or not isinstance(blocks.radii, dp.Radii):
            return None
        steepest = max(steepest, assumed.turn(variance) / assumed.rank)
        alpha, beta = (blocks.radii.array / math.sqrt(scenario.noise)).tolist()
        drawn = float(variances(assumed, (alpha, beta), levels[each.of.name] ** 2)[1]) / each.left[1] ** 2
        variance = each.kept[1] ** 2 * drawn + (1.0 - each.kept[1]) ** 2 * variance
    return dp.Bound(
        name="spiked-block",
        value=assumed.error(variance),
        norm="Frobenius, of the difference of projectors",
        kind="forecast",
        explicit=True,
        assumptions=(
            dp.Assumption(
                text=f"no round starts with a mean squared sine above {STEEPEST:g}", holds=steepest <= STEEPEST
            ),
        ),
        citation="perturbation theory; docs/explanation/spiked.md",
    )


class SpikedRates(dp.BoundOracle):
    """Rates for components and covariances under the spiked model, in Schatten norms, with unknown constants."""

    name = "spiked-rates"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        if scenario.model != "spiked" or plan.budget.delta == 0.0:
            return []
        action, setting = _action(plan, step), Setting.of(scenario, plan.budget)
        components = isinstance(action, dp.postprocess.TopSubspace) and action.k == setting.rank
        if components or (isinstance(action, Spiked) and action.wanted == "components"):
            return _projector_rates(setting)
        if isinstance(action, Spiked | SpikedCovariance):
            return _covariance_rates(setting)
        return []


def _rate(name: str, value: float, norm: str, where: str, assumptions: tuple[dp.Assumption, ...]) -> dp.Bound:
    return dp.Bound(
        name=name,
        value=float(np.minimum(value, 1e300)),
        norm=norm,
        kind="rate",
        explicit=False,
        assumptions=assumptions,
        citation=f"{PAPER}, {where}",
    )


def _projector_rates(setting: Setting) -> list[dp.Bound]:
    rates = []
    for q, word in NORMS.items():
        norm = f"{word}, of the difference of projectors"
        upper, rougher = setting.conditions(), setting.conditions(sub_gaussian=True)
        rates += [
            _rate("spiked upper rate", setting.projector(q), norm, "Theorem 3.2 and Corollary 1", upper),
            _rate("sub-Gaussian rate", setting.projector(q, sub_gaussian=True), norm, "Corollary 2", rougher),
            _rate("minimax lower rate", setting.projector_minimax(q), norm, "Theorem 4.2", setting.lower_conditions()),
        ]
    if setting.rank == 1:
        spectral = "spectral, of the difference of projectors"
        rates.append(_rate("DP-Oja rate", setting.oja(), spectral, "Remark 2", setting.conditions()))
    return rates


def _covariance_rates(setting: Setting) -> list[dp.Bound]:
    rates = []
    for q, word in NORMS.items():
        norm = f"{word}, of the difference of covariances"
        upper, rougher = setting.conditions(), setting.conditions(sub_gaussian=True)
        lower = setting.lower_conditions()
        rates += [
            _rate("spiked upper rate", setting.covariance(q), norm, "Theorem 3.2 (covariance) and Corollary 1", upper),
            _rate("sub-Gaussian rate", setting.covariance(q, sub_gaussian=True), norm, "Corollary 2", rougher),
            _rate("minimax lower rate", setting.covariance_minimax(q), norm, "Theorem 4.2 (covariance)", lower),
        ]
    price = "Frobenius, of the difference of low-rank parts, by privacy alone"
    return [*rates, _rate("DP-Gauss rate", setting.gauss(), price, "Remark 3", setting.conditions())]
