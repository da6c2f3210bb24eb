"""What a plan promises, costs and is expected to give, as frozen data that explanations and results share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import registry
from dpframe.accounting.auto import Auto, accountant, supporting
from dpframe.display.printable import Printable
from dpframe.errors import PlanError
from dpframe.interfaces import BoundOracle, Mechanism
from dpframe.kinds import Kind, Spectrum
from dpframe.losses import ModelBased, under_models
from dpframe.postprocess.spectral import refuse_whole
from dpframe.spec.bounds import Bound
from dpframe.spec.budget import NOT_WORST_CASE, Budget, ModelBudget, told
from dpframe.spec.refs import Ref, references
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.plan import Plan
    from dpframe.plan.steps import Step

UPPER = ("upper-mean", "upper-probability")


@attrs.frozen(kw_only=True)
class Line:
    """One step as reports show it."""

    name: str
    action: str
    parameters: dict[str, str]
    kind: str
    of: tuple[str, ...]
    guarantee: str
    numerics: str
    passes: int
    unit: str = ""
    level: float | None = None
    losses: tuple[str, ...] = ()
    noise: dict[str, float] = attrs.field(factory=dict)
    slack: float | None = 0.0
    epsilon_alone: float | None = None
    epsilon_so_far: float | None = None

    @property
    def is_release(self) -> bool:
        return self.level is not None


@attrs.frozen(kw_only=True)
class Statement:
    """The promise of a plan in words and figures. Everything in it is public.

    Args:
        protected, against, strength, rows: the promise in words.
        budget: what was asked for.
        spent: what the accountant computed.
        plan: the content hash of the plan.
        accountant: the one whose answer is stated.
        accountants: the answer of each one that can compose these losses.
        passes: how often the data is read.
        lines: the steps.
    """

    protected: str
    against: str
    strength: str
    rows: str
    budget: Budget
    spent: Budget
    plan: str
    neighbors: str
    accountant: str
    accountants: dict[str, float]
    passes: int
    lines: tuple[Line, ...]

    @property
    def caveat(self) -> str:
        """What comes before everything else: that the guarantee rests on a model; nothing where it is worst case."""
        return self.spent.caveat if isinstance(self.spent, ModelBudget) else ""

    def line(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)

    def to_json(self) -> dict[str, Any]:
        return attrs.asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Statement:
        lines = tuple(
            Line(**{**line, "of": tuple(line["of"]), "losses": tuple(line["losses"])}) for line in content["lines"]
        )
        spent = content["spent"]
        budgets = {
            "budget": Budget(**content["budget"]),
            "spent": ModelBudget(**spent) if "model" in spent else Budget(**spent),
        }
        return cls(**{**content, **budgets, "lines": lines})


@attrs.frozen(kw_only=True, repr=False)
class Explanation(Printable):
    """A plan priced and forecast, before any data is touched.

    What follows from a scenario with source="true" is a diagnostic: private, as the data is. It is handed out by
    `diagnostics` only, and written by ``to_json(diagnostics=True)`` only.
    """

    statement: Statement
    scenario: Scenario | None = attrs.field(repr=False)  # repr=False: rich and others print fields, not the repr
    _forecasts: dict[str, tuple[Bound, ...]] = attrs.field(alias="forecasts", repr=False)

    @property
    def private(self) -> bool:
        """Whether all of it may be shown: False where the figures are those of the data."""
        return self.scenario is None or self.scenario.source != "true"

    @property
    def forecasts(self) -> dict[str, tuple[Bound, ...]]:
        """The forecasts and bounds of all steps; none of those that are diagnostics."""
        return dict(self._forecasts) if self.private else {}

    def bounds(self, step: str) -> tuple[Bound, ...]:
        """The forecasts and bounds for the result of a step."""
        found = self.diagnostics(step)
        if not self.private:
            raise PlanError(
                "these bounds follow from the true spectrum, so they are as private as the data. For your own eyes, "
                f"say .diagnostics({step!r})."
            )
        return found

    def diagnostics(self, step: str) -> tuple[Bound, ...]:
        """The same, also where they follow from the data itself: NOT PRIVATE then."""
        if step not in self._forecasts:
            raise PlanError(f"there is no step {step!r}; there is: {', '.join(self._forecasts)}.")
        return self._forecasts[step]

    def tightest(self, step: str) -> Bound | None:
        """The smallest upper bound that is proved with all constants and whose assumptions hold.

        Bounds on the mean come first, and those in Frobenius norm; bounds in different norms are not compared.
        """
        proved = [bound for bound in self.bounds(step) if bound.kind in UPPER and bound.explicit and bound.valid]
        ranked = sorted(proved, key=lambda bound: (UPPER.index(bound.kind), not bound.norm.startswith("Frobenius")))
        alike = [bound for bound in proved if (bound.kind, bound.norm) == (ranked[0].kind, ranked[0].norm)]
        return min(alike, key=lambda bound: float(bound.value or 0.0), default=None)

    def to_json(self, *, diagnostics: bool = False) -> str:
        """The statement, the scenario and all forecasts as JSON; diagnostics only where they are asked for."""
        shown = self.private or diagnostics
        content: dict[str, Any] = {
            **({"caveat": self.statement.caveat} if self.statement.caveat else {}),
            "statement": self.statement.to_json(),
            "scenario": _plain(self.scenario) if self.scenario is not None and shown else None,
            "forecasts": {
                step: [attrs.asdict(bound) for bound in bounds]
                for step, bounds in (self._forecasts if shown else {}).items()
            },
        }
        if not self.private:
            content["note"] = "NOT PRIVATE: from the true spectrum" if shown else "diagnostics withheld"
        return json.dumps(content, indent=1, allow_nan=False)

    def __rich__(self) -> RenderableType:
        from dpframe.run.render import render_explanation

        return render_explanation(self)


def _plain(scenario: Scenario) -> dict[str, Any]:
    found = attrs.asdict(scenario, recurse=False)
    spectrum = None if scenario.eigenvalues is None else scenario.eigenvalues.tolist()
    return {name: value for name, value in found.items() if value is not None} | {"spectrum": spectrum}


def explain(
    plan: Plan,
    *,
    dim: int | None,
    spectrum: Sequence[float] | None,
    scenario: Scenario | None,
    simulations: int,
    progress: Callable[[int, int], None] | None,
) -> Explanation:
    """See :meth:`dpframe.Plan.explain`."""
    if spectrum is not None and scenario is not None:
        raise PlanError("say spectrum= or scenario=, not both: a scenario has a spectrum of its own.")
    if not isinstance(scenario, Scenario | None):
        raise PlanError(f"scenario must be a dp.Scenario; got {type(scenario).__name__}.")
    content_hash, assumed = plan.content_hash, plan.scenario if scenario is None else scenario
    known = dim if dim is not None else plan.rows.dim
    if spectrum is not None:
        values = Spectrum.of(spectrum)
        assumed = Scenario(dim=len(values.array) if known is None else known, spectrum=values)
    if known is None and assumed is not None:
        known = assumed.dim
    plan = plan if known is None else plan.bind(known)
    if assumed is not None and assumed.dim != plan.rows.dim:
        raise PlanError(f"the scenario has {assumed.dim} coordinates, but the rows have {plan.rows.dim}.")
    if assumed is not None and assumed.eigenvalues is not None:
        refuse_whole({step.name: step.action for step in plan.steps}, assumed.dim)
    oracles = _oracles(plan, assumed, simulations, progress)
    forecasts = {step.name: _bounds(oracles, plan, step.name, assumed) for step in plan.steps}
    return Explanation(statement=statement(plan, content_hash), scenario=assumed, forecasts=forecasts)


def _oracles(
    plan: Plan, scenario: Scenario | None, simulations: int, progress: Callable[[int, int], None] | None
) -> list[BoundOracle]:
    """Whom to ask: those that compute where the noise is known, and simulation where it is wanted."""
    known = plan.rows.released_norm is None
    found = [oracle() for oracle in registry.bound_oracles() if known and not oracle.simulates]
    if simulations:
        from dpframe.forecast.monte_carlo import MonteCarlo
        from dpframe.forecast.simulation import simulate

        if scenario is None:
            raise PlanError("a simulation needs assumed data: spectrum=, or scenario=dp.Scenario(...).")
        oracle = MonteCarlo(draws=simulations, progress=progress)
        simulate(plan, scenario, draws=oracle.draws, seed=oracle.seed, progress=progress)  # says what is missing
        found.append(oracle)
    return found


def _bounds(oracles: list[BoundOracle], plan: Plan, step: str, scenario: Scenario | None) -> tuple[Bound, ...]:
    if scenario is None or scenario.eigenvalues is None:
        return ()
    return tuple(bound for oracle in oracles for bound in oracle.bounds(plan, step, scenario))


def statement(plan: Plan, content_hash: str) -> Statement:
    """What a plan promises and costs; the hash is that of the plan as it was written."""
    lines = _lines(plan)
    return Statement(
        protected=_protected(plan.rows),
        against=_against(plan),
        strength=_strength(plan, lines),
        rows=_described(plan.rows),
        budget=plan.budget,
        spent=plan.spent,
        plan=content_hash,
        neighbors=str(plan.rows.neighbors),
        accountant=_accountant(plan),
        accountants=_accountants(plan),
        passes=max(plan.passes.values()),
        lines=lines,
    )


def _accountant(plan: Plan) -> str:
    composer = accountant(plan.accountant)
    if isinstance(composer, Auto):
        composer = composer.chosen(plan.pricing.composed, plan.budget.delta)
    return composer.name


def _accountants(plan: Plan) -> dict[str, float]:
    """What every accountant that can compose these losses says of them."""
    losses, delta = plan.pricing.composed, plan.budget.delta
    found = {each.name: each.epsilon(losses, delta) for each in supporting(losses)}
    return {name: epsilon for name, epsilon in found.items() if math.isfinite(epsilon)}


def _protected(rows: Rows) -> str:
    many = "one row" if rows.contributions == 1 else f"up to {rows.contributions} rows"
    people, public = f"each person, with {many}", "the number of rows is public"
    if rows.person is not None:
        people = f"each person, told by {rows.person!r}, of whose rows {_counting(rows)} (enforced)"
        public = "the numbers of rows, of each person and in all, are public"
    if rows.neighbors == "add-remove":
        return f"{people}: whether they are in the data at all, and what their rows say (add-remove)"
    return f"{people}: what their rows say; {public} (replace)"


def _counting(rows: Rows) -> str:
    return "the first counts" if rows.contributions == 1 else f"the first {rows.contributions} count"


def _against(plan: Plan) -> str:
    if isinstance(plan.spent, ModelBudget):
        return "anyone who sees every released value, but only for data drawn from the model"
    return "anyone who sees every released value, whatever else they know (short of breaking AES-256)"


def _described(rows: Rows) -> str:
    cells = "" if rows.columns is None else "cells clipped to public ranges and mapped to [-1, 1]; "
    centred = "; a constant coordinate is added, so that results can be centred" if rows.center else ""
    released = rows.released_norm
    length = f"length {rows.length:.6g}" if released is None else f"the length that {released!r} releases"
    return f"{cells}longer rows scaled down to {length}{centred}"


def _lines(plan: Plan) -> tuple[Line, ...]:
    composer = accountant(plan.accountant)
    so_far: list[Any] = []
    lines: list[Line] = []
    for step in plan.steps:
        common: dict[str, Any] = {
            "name": step.name,
            "action": step.action.name,
            "parameters": _parameters(step),
            "kind": plan.kinds[step.name].title,
            "of": references(step.action),
            "passes": plan.passes[step.name],
        }
        if isinstance(step.action, Mechanism):
            losses, level = plan.pricing.losses[step.name], plan.pricing.levels[step.name]
            so_far += under_models(losses)
            alone = composer.epsilon(under_models(losses), plan.budget.delta)
            line = Line(
                **common,
                guarantee=f"{_holds(plan, step)}: epsilon={told(alone)} at delta={told(plan.budget.delta)} on its own",
                numerics=step.action.numerics,
                unit=step.action.unit,
                level=level,
                losses=tuple(map(str, losses)),
                noise=_noise(plan, step.action, level),
                slack=_slack(plan, step.action, level),
                epsilon_alone=alone,
                epsilon_so_far=composer.epsilon(so_far, plan.budget.delta),
            )
        else:
            sources = [earlier for earlier in lines if earlier.name in common["of"]]
            exact = all(earlier.numerics == "exact" for earlier in sources)
            line = Line(
                **common,
                guarantee="free: computed from released values only"
                + (f", but {NOT_WORST_CASE}, since theirs is not one" if step.name in plan.modelled else ""),
                numerics="exact" if exact else "floating",
            )
        lines.append(line)
    return tuple(lines)


def _holds(plan: Plan, step: Step) -> str:
    """When the guarantee of a release holds."""
    models = dict.fromkeys(
        f"{loss.model}, except with probability {loss.failure}"
        for loss in plan.pricing.losses[step.name]
        if isinstance(loss, ModelBased)
    )
    if models:
        return f"{NOT_WORST_CASE}, under the model {' and '.join(models)}"
    if step.name in plan.modelled:
        return f"{NOT_WORST_CASE}, since what it is made from has none; were that public"
    return "worst case"


def _slack(plan: Plan, mechanism: Mechanism, level: float) -> float | None:
    """None where it depends on a dimension that is not known yet."""
    if type(mechanism).slack is Mechanism.slack:
        return 0.0
    return None if plan.rows.dim is None else mechanism.slack(plan.rows, level)


def _strength(plan: Plan, lines: tuple[Line, ...]) -> str:
    """The guarantee in words, with what floats may cost where there are any that tell."""
    figures = f"epsilon = {told(plan.budget.epsilon)}, delta = {told(plan.budget.delta)}"
    slacks = [line.slack for line in lines]
    if None in slacks:
        numerics = "; in exact arithmetic, with a numerical slack that is told once the dimension is known"
    elif any(slacks):
        total = sum(map(float, filter(None, slacks)))
        numerics = f"; in exact arithmetic, with a numerical slack of about {total:.1e} in delta"
    else:
        numerics = ""
    if isinstance(plan.spent, ModelBudget):
        return f"{plan.spent.caveat}: {figures}{numerics}{_apart(plan)}"
    return f"{figures}, for every possible data set (worst case, no model of the data{numerics})"


def _apart(plan: Plan) -> str:
    """What the other releases of a plan that rests on a model would promise for every data set, without those.

    A release that is made from a result of those may repeat it, so that it promises nothing without them.
    """
    others = [loss for step, parts in plan.pricing.losses.items() if step not in plan.modelled for loss in parts]
    if not others:
        return ""
    epsilon = accountant(plan.accountant).epsilon(others, plan.budget.delta)
    return f" (the releases that need no model, without the others, are worst case with epsilon = {told(epsilon)})"


def _noise(plan: Plan, mechanism: Mechanism, level: float) -> dict[str, float]:
    known = plan.rows.dim is not None and plan.rows.released_norm is None
    return dict(mechanism.noise(plan.rows, level)) if known else {}


def _parameters(step: Step) -> dict[str, str]:
    found = {}
    action: Any = step.action
    for field in attrs.fields(type(action)):
        value = getattr(action, field.name)
        if value is None or value == field.default or isinstance(value, Ref):
            continue  # references are told apart
        found[field.alias] = value.title if isinstance(value, Kind) else str(value)
    return found
