"""`plan.explain`: the price of a plan and forecasts of its errors, before any data is touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import registry
from dpframe.display.exportable import Exportable, as_json, written
from dpframe.display.printable import Printable
from dpframe.display.visible import Visible
from dpframe.errors import PlanError
from dpframe.interfaces import BoundOracle
from dpframe.kinds import Spectrum
from dpframe.plan.pricing import computable
from dpframe.run.progress import Listener, ProgressReporter, reporting
from dpframe.run.statement import Statement, statement
from dpframe.spec.bounds import Bound
from dpframe.spec.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.forecast.column_margins import ColumnForecasts
    from dpframe.plan import Plan

UPPER = ("upper-mean", "upper-probability")


@attrs.frozen(kw_only=True, repr=False)
class Explanation(Printable, Exportable):
    """The price and guarantee of a plan and forecasts of its errors, before any data is touched.

    Forecasts for a scenario with source="true" are diagnostics, as private as the data: only `diagnostics` returns
    them, and only ``to_dict`` and ``to_json`` with ``diagnostics=True`` include them.

    Args:
        statement: what the plan promises and costs.
        scenario: the assumed data; None where none was given.
        forecasts: the forecasts and bounds for the result of each step.
        columns: the forecasts for each column of a table, in its units; None where no number of rows was given.
        plan: the plan that is explained, as it was declared.
        dim: the number of coordinates that it is explained for; None where it is not known.
    """

    statement: Statement
    scenario: Scenario | None = attrs.field(repr=False)  # repr=False: rich and others print fields, not the repr
    _forecasts: dict[str, tuple[Bound, ...]] = attrs.field(alias="forecasts", repr=False)
    columns: ColumnForecasts | None = attrs.field(default=None, repr=False)
    plan: Plan | None = attrs.field(default=None, repr=False, eq=False)
    dim: int | None = attrs.field(default=None, repr=False, eq=False)

    @property
    def shareable(self) -> bool:
        """Whether all of it may be shown: False where forecasts follow from the data itself."""
        return self.scenario is None or self.scenario.source != "true"

    @property
    def forecasts(self) -> dict[str, tuple[Bound, ...]]:
        """The forecasts and bounds of all steps, by step; empty where they are diagnostics."""
        return dict(self._forecasts) if self.shareable else {}

    def bounds(self, step: str) -> tuple[Bound, ...]:
        """The forecasts and bounds for the result of a step; raises PlanError where they are diagnostics.

        Args:
            step: the name of the step.
        """
        bounds = self.diagnostics(step)
        if not self.shareable:
            raise PlanError(
                "these bounds follow from the true spectrum, so they are as private as the data. For your own eyes, "
                f"say .diagnostics({step!r})."
            )
        return bounds

    def diagnostics(self, step: str) -> tuple[Bound, ...]:
        """The forecasts and bounds for the result of a step, also where they follow from the data: NOT PRIVATE then.

        Args:
            step: the name of the step.
        """
        if step not in self._forecasts:
            raise PlanError(f"there is no step {step!r}; there is: {', '.join(self._forecasts)}.")
        return self._forecasts[step]

    def tightest(self, step: str) -> Bound | None:
        """The smallest upper bound that is proved with all constants and whose assumptions hold; None where none is.

        Bounds on the mean are preferred, then bounds in Frobenius norm; bounds in different norms are not compared.

        Args:
            step: the name of the step.
        """
        proved = [bound for bound in self.bounds(step) if bound.kind in UPPER and bound.explicit and bound.valid]
        ranked = sorted(proved, key=lambda bound: (UPPER.index(bound.kind), not bound.norm.startswith("Frobenius")))
        alike = [bound for bound in proved if (bound.kind, bound.norm) == (ranked[0].kind, ranked[0].norm)]
        return min(alike, key=lambda bound: float(bound.value or 0.0), default=None)

    def to_dict(self, *, diagnostics: bool = False) -> dict[str, Any]:
        """The statement, the scenario and all forecasts, as plain data.

        Args:
            diagnostics: whether to include those that follow from the data itself, which are NOT PRIVATE.
        """
        shown = self.shareable or diagnostics
        content: dict[str, Any] = {
            **({"caveat": self.statement.caveat} if self.statement.caveat else {}),
            "statement": self.statement.to_dict(),
            "scenario": _plain(self.scenario) if self.scenario is not None and shown else None,
            "forecasts": {
                step: [attrs.asdict(bound) for bound in bounds]
                for step, bounds in (self._forecasts if shown else {}).items()
            },
            "columns": None if self.columns is None else self.columns.to_dict(),
        }
        if not self.shareable:
            content["note"] = "NOT PRIVATE: from the true spectrum" if shown else "diagnostics withheld"
        return content

    def to_json(self, path: str | Path | None = None, *, diagnostics: bool = False) -> str:
        """The content of `to_dict` as JSON, also written to a file where a path is given.

        Args:
            path: the path of the file.
            diagnostics: whether to include those that follow from the data itself, which are NOT PRIVATE.
        """
        return as_json(self.to_dict(diagnostics=diagnostics), path)

    def to_html(self, path: str | Path | None = None, *, epsilons: Sequence[float] | None = None) -> str:
        """One HTML page with everything in it, also written to a file where a path is given.

        The forecasts are made for other budgets too, each of which takes as long as the explanation did, and a slider
        chooses among them. Diagnostics are left out.

        Args:
            path: the path of the file.
            epsilons: the other budgets; by default a quarter, a half, twice and four times that of the plan.
        """
        from dpframe.run.page.forecast import page

        return written(page(self, epsilons), path)

    def __rich__(self) -> RenderableType:
        from dpframe.run.render import render_explanation

        return Visible(render_explanation(self))  # a plan file may hold any text


def _plain(scenario: Scenario) -> dict[str, Any]:
    fields = attrs.asdict(scenario, recurse=False)
    spectrum = None if scenario.eigenvalues is None else scenario.eigenvalues.tolist()
    return {name: value for name, value in fields.items() if value is not None} | {"spectrum": spectrum}


def explain(
    plan: Plan,
    *,
    dim: int | None,
    spectrum: Sequence[float] | None,
    scenario: Scenario | None,
    rows: int | None,
    confidence: float,
    simulations: int,
    progress: bool | Listener | None,
) -> Explanation:
    """See :meth:`dpframe.Plan.explain`."""
    if spectrum is not None and scenario is not None:
        raise PlanError("say spectrum= or scenario=, not both: a scenario has its own spectrum.")
    if not isinstance(scenario, Scenario | None):
        raise PlanError(f"scenario must be a dp.Scenario; got {type(scenario).__name__}.")
    declared, assumed = plan, plan.scenario if scenario is None else scenario
    known = dim if dim is not None else plan.rows.dim
    if spectrum is not None:
        values = Spectrum.of(spectrum)
        assumed = Scenario(dim=len(values.array) if known is None else known, spectrum=values)
    if known is None and assumed is not None:
        known = assumed.dim
    plan = plan if known is None else plan.bind(known)
    if assumed is not None and assumed.dim != plan.rows.dim:
        raise PlanError(f"the scenario has {assumed.dim} coordinates, but the rows have {plan.rows.dim}.")
    if assumed is not None and (assumed.eigenvalues is not None or assumed.model is not None):
        plan.check_forecast(assumed.dim)
    with reporting(progress) as reporter:
        oracles = _oracles(plan, assumed, simulations, reporter)
        forecasts = {step.name: _bounds(oracles, plan, step.name, assumed) for step in plan.steps}
        columns = None if rows is None else _columns(plan, rows, confidence, reporter)
    return Explanation(
        statement=statement(plan, declared.content_hash),
        scenario=assumed,
        forecasts=forecasts,
        columns=columns,
        plan=declared,
        dim=known,
    )


def _columns(plan: Plan, rows: int, confidence: float, reporter: ProgressReporter) -> ColumnForecasts:
    from dpframe.forecast.column_margins import forecast_columns

    return forecast_columns(plan, rows, confidence=confidence, reporter=reporter)


def _oracles(plan: Plan, scenario: Scenario | None, simulations: int, reporter: ProgressReporter) -> list[BoundOracle]:
    """The oracles to query: those with formulas where the noise is known, and simulation where it is asked for."""
    known = plan.same_public_rows
    oracles = [oracle() for oracle in registry.bound_oracles() if known and not oracle.simulates]
    if simulations:
        from dpframe.forecast.monte_carlo import MonteCarlo
        from dpframe.forecast.simulation import simulate

        if scenario is None:
            raise PlanError("a simulation needs assumed data: spectrum=, or scenario=dp.Scenario(...).")
        reporter.begin("simulating")
        oracle = MonteCarlo(draws=simulations, reporter=reporter)
        simulate(plan, scenario, draws=oracle.draws, seed=oracle.seed, reporter=reporter)  # errors show here
        oracles.append(oracle)
    return oracles


def _bounds(oracles: list[BoundOracle], plan: Plan, step: str, scenario: Scenario | None) -> tuple[Bound, ...]:
    if scenario is None:
        return ()
    usable = [oracle for oracle in oracles if oracle.simulates or scenario.eigenvalues is not None]
    with computable():
        return tuple(bound for oracle in usable for bound in oracle.bounds(plan, step, scenario))
