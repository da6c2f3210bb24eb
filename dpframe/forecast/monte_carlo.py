"""The bound oracle for every mechanism: it simulates the release."""

from __future__ import annotations

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.forecast import error_norms
from dpframe.forecast.simulation import simulate
from dpframe.interfaces import BoundOracle
from dpframe.plan import Plan
from dpframe.run.progress import SILENT, ProgressReporter
from dpframe.spec.bounds import Bound
from dpframe.spec.scenario import Scenario

DRAWS, LEAST_DRAWS = 400, 200
SHARES = (0.5, 0.95)


def _check_draws(owner: object, attribute: attrs.Attribute[int], value: object) -> None:
    if not validators.is_int(value) or value < LEAST_DRAWS:  # type: ignore[operator]
        raise validators.refuse(owner, attribute.name, f"an integer of at least {LEAST_DRAWS}", value)


@attrs.frozen(kw_only=True)
class MonteCarlo(BoundOracle):
    """Medians and 95 percent quantiles of the error, simulated on synthetic data with the scenario's figures.

    It works for any mechanism, recipe and post-processor. Each figure comes with a 99 percent confidence interval,
    valid for any distribution of the errors.

    Args:
        draws: the number of releases to simulate.
        seed: the seed of the synthetic data and of the noise.
        reporter: receives the number of releases that are done.
    """

    name = "monte-carlo"
    simulates = True

    draws: int = attrs.field(default=DRAWS, validator=_check_draws)
    seed: int = attrs.field(default=error_norms.SEED)
    reporter: ProgressReporter = attrs.field(default=SILENT, eq=False, repr=False)

    def bounds(self, plan: Plan, step: str, scenario: Scenario) -> list[Bound]:
        try:
            simulation = simulate(plan, scenario, draws=self.draws, seed=self.seed, reporter=self.reporter)
        except PlanError:  # the scenario lacks what the simulation needs
            return []
        return [
            Bound(
                name=self.name,
                value=error_norms.quantile(errors, share, norm),
                norm=norm,
                kind="forecast",
                explicit=True,
                citation=f"{self.draws} simulated releases",
                confidence=share,
                interval=error_norms.interval(errors, share, norm, error_norms.CONFIDENCE),
            )
            for norm, errors in simulation.of(step).items()
            for share in SHARES
        ]
