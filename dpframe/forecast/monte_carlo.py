"""The oracle that knows every mechanism: it simulates the release."""

from __future__ import annotations

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.forecast import error_norms
from dpframe.forecast.simulation import simulate
from dpframe.interfaces import BoundOracle
from dpframe.plan import Plan
from dpframe.run.progress import SILENT, Teller
from dpframe.spec.bounds import Bound
from dpframe.spec.scenario import Scenario

DRAWS, LEAST_DRAWS = 400, 200
SHARES = (0.5, 0.95)


def _check_draws(owner: object, attribute: attrs.Attribute[int], value: object) -> None:
    if not validators.is_int(value) or value < LEAST_DRAWS:  # type: ignore[operator]
        raise validators.refuse(owner, attribute.name, f"an integer of at least {LEAST_DRAWS}", value)


@attrs.frozen(kw_only=True)
class MonteCarlo(BoundOracle):
    """Medians and 95 per cent quantiles of the error, simulated on made-up data with the scenario's figures.

    It answers for any mechanism, recipe and post-processor. Each figure comes with an interval that holds the true
    quantile with 99 per cent confidence, whatever the law of the errors.

    Args:
        draws: how many releases to simulate.
        seed: of the made-up data and the noise.
        teller: tells how many of the releases are done.
    """

    name = "monte-carlo"
    simulates = True

    draws: int = attrs.field(default=DRAWS, validator=_check_draws)
    seed: int = attrs.field(default=error_norms.SEED)
    teller: Teller = attrs.field(default=SILENT, eq=False, repr=False)

    def bounds(self, plan: Plan, step: str, scenario: Scenario) -> list[Bound]:
        try:
            simulation = simulate(plan, scenario, draws=self.draws, seed=self.seed, teller=self.teller)
        except PlanError:  # a scenario that says too little
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
