"""What a plan promises and costs, as frozen data that explanations and results share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from dpframe.accounting.auto import Auto, accountant, supporting
from dpframe.display.exportable import Exportable
from dpframe.interfaces import Mechanism
from dpframe.kinds import Kind
from dpframe.losses import under_models
from dpframe.rounding import format_up
from dpframe.run import wording
from dpframe.spec.budget import NOT_WORST_CASE, Budget, ModelBudget
from dpframe.spec.refs import Ref, references

if TYPE_CHECKING:
    from dpframe.plan import Plan
    from dpframe.plan.steps import Step


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
class Statement(Exportable):
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

    def to_dict(self) -> dict[str, Any]:
        return attrs.asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Statement:
        lines = tuple(
            Line(**{**line, "of": tuple(line["of"]), "losses": tuple(line["losses"])}) for line in content["lines"]
        )
        spent = content["spent"]
        budgets = {
            "budget": Budget(**content["budget"]),
            "spent": ModelBudget(**spent) if "model" in spent else Budget(**spent),
        }
        return cls(**{**content, **budgets, "lines": lines})


def statement(plan: Plan, content_hash: str) -> Statement:
    """What a plan promises and costs; the hash is that of the plan as it was written."""
    lines = _lines(plan)
    return Statement(
        protected=wording.protected(plan.rows),
        against=wording.against(plan),
        strength=wording.strength(plan, lines),
        rows=wording.row_map(plan.rows),
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
            figures = f"epsilon={format_up(alone)} at delta={format_up(plan.budget.delta)} on its own"
            line = Line(
                **common,
                guarantee=f"{wording.when_it_holds(plan, step)}: {figures}",
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
                + (f", but {NOT_WORST_CASE}, since theirs is not one" if step.name in plan.modeled else ""),
                numerics="exact" if exact else "floating",
            )
        lines.append(line)
    return tuple(lines)


def _slack(plan: Plan, mechanism: Mechanism, level: float) -> float | None:
    """None where it depends on a dimension that is not known yet."""
    if type(mechanism).slack is Mechanism.slack:
        return 0.0
    return None if plan.rows.dim is None else mechanism.slack(plan.rows, level)


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
