"""The statement of what a plan promises and costs, which explanations and results share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import registry
from dpframe.accounting.auto import Auto, accountant, own_supporting
from dpframe.display.exportable import Exportable
from dpframe.interfaces import Accountant, Mechanism
from dpframe.kinds import Kind
from dpframe.losses import under_models
from dpframe.plan.pricing import computable
from dpframe.plan.slack import law_errors, slack
from dpframe.rounding import format_given, format_up
from dpframe.run import wording
from dpframe.spec import placement
from dpframe.spec.budget import NOT_WORST_CASE, Budget, ModelBudget
from dpframe.spec.refs import Ref, parameters_of, references
from dpframe.spec.rows import Rows

if TYPE_CHECKING:
    from dpframe.plan import Plan
    from dpframe.plan.steps import Step


@attrs.frozen(kw_only=True)
class Line:
    """One step as reports show it.

    Args:
        name: the name of the step.
        action: the name of its mechanism or post-processor.
        parameters: the parameters that differ from their defaults, as text.
        kind: the kind of its result.
        of: the steps that it refers to.
        guarantee: its guarantee in words.
        numerics: "exact", "certified" or "floating".
        passes: the number of passes over the data that its result needs.
        unit: the unit of its level; empty for a derived step.
        level: the level at which a release runs; None for a derived step.
        losses: its privacy losses, as text.
        noise: the noise scales, where they are known.
        slack: its part of the numerical slack of the plan in delta; None where the dimension is not known.
        epsilon_alone: the epsilon of this release on its own, at the plan's delta.
        epsilon_so_far: the epsilon of all releases up to this one, at the plan's delta.
    """

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
        """Whether the step costs budget."""
        return self.level is not None


@attrs.frozen(kw_only=True)
class Statement(Exportable):
    """The promise of a plan in words and figures. Everything in it is public.

    Args:
        protected: who is protected, and what about them.
        against: against whom.
        strength: the guarantee in words.
        rows: how rows are mapped before anything is computed from them.
        budget: the budget of the plan.
        spent: the cost that the accountant computed.
        plan: the content hash of the plan.
        neighbors: the neighboring relation.
        accountant: the accountant that computed the cost.
        accountants: the epsilon of each accountant of the project that can compose these losses, and of `accountant`.
        passes: the number of passes over the data.
        lines: the steps.
        computed_by: the package of `accountant`, with its version; empty in results of earlier versions.
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
    computed_by: str = ""

    @property
    def caveat(self) -> str:
        """The warning that the guarantee rests on a model of the data; empty where it is worst case."""
        return self.spent.caveat if isinstance(self.spent, ModelBudget) else ""

    def line(self, name: str) -> Line:
        """The line of one step.

        Args:
            name: the name of the step.
        """
        return next(line for line in self.lines if line.name == name)

    def to_dict(self) -> dict[str, Any]:
        """The statement as plain data."""
        return attrs.asdict(self)


def statement(plan: Plan, content_hash: str) -> Statement:
    """What a plan promises and costs.

    Args:
        plan: the plan, possibly bound to a dimension.
        content_hash: the hash of the plan as the user declared it.
    """
    with computable():
        lines, composer = _lines(plan), _composer(plan)
    return Statement(
        protected=wording.protected(plan.rows),
        against=wording.against(plan),
        strength=wording.strength(plan, lines),
        rows=wording.row_map(plan.rows),
        budget=plan.budget,
        spent=plan.spent,
        plan=content_hash,
        neighbors=str(plan.rows.neighbors),
        accountant=composer.name,
        accountants=_accountants(plan, composer),
        passes=max(plan.passes.values()),
        lines=lines,
        computed_by=registry.provider_label("accountant", composer.name),
    )


def _composer(plan: Plan) -> Accountant:
    """The accountant that computed the cost."""
    composer = accountant(plan.accountant)
    return composer.chosen(plan.pricing.composed, plan.budget.delta) if isinstance(composer, Auto) else composer


def _accountants(plan: Plan, composer: Accountant) -> dict[str, float]:
    """The epsilon of each accountant that can compose these losses, where it is finite."""
    losses, delta = plan.pricing.composed, plan.budget.delta
    candidates = {each.name: each for each in (*own_supporting(losses), composer)}
    epsilons = {name: each.epsilon(losses, delta) for name, each in candidates.items()}
    return {name: epsilon for name, epsilon in epsilons.items() if math.isfinite(epsilon)}


def _lines(plan: Plan) -> tuple[Line, ...]:
    composer, errors = accountant(plan.accountant), law_errors(plan, plan.pricing.levels)
    so_far: list[Any] = []
    lines: list[Line] = []
    for step in plan.steps:
        common: dict[str, Any] = {
            "name": step.name,
            "action": step.action.name,
            "parameters": _parameters(step),
            "kind": plan.kinds[step.name].title,
            "of": (*references(step.action), *(() if step.rows is None else placement.references(step.rows).values())),
            "passes": plan.passes[step.name],
        }
        if isinstance(step.action, Mechanism):
            losses, level = plan.pricing.losses[step.name], plan.pricing.levels[step.name]
            so_far += under_models(losses)
            alone = composer.epsilon(under_models(losses), plan.budget.delta)
            figures = f"epsilon={format_up(alone, plan.budget.epsilon)} at delta={format_given(plan.budget.delta)}"
            line = Line(
                **common,
                guarantee=f"{wording.when_it_holds(plan, step)}: {figures} on its own",
                numerics=step.action.numerics,
                unit=step.action.unit,
                level=level,
                losses=tuple(map(str, losses)),
                noise=_noise(plan.rows_of(step), step.action, level),
                slack=None if (error := errors[step.name]) is None else slack(plan.budget.epsilon, error),
                epsilon_alone=alone,
                epsilon_so_far=composer.epsilon(so_far, plan.budget.delta),
            )
        else:
            sources = [earlier for earlier in lines if earlier.name in common["of"]]
            exact = all(earlier.numerics == "exact" for earlier in sources)
            line = Line(
                **common,
                guarantee="free: computed from released values only"
                + (f", but {NOT_WORST_CASE}, since those have none" if step.name in plan.modeled else ""),
                numerics="exact" if exact else "floating",
            )
        lines.append(line)
    return tuple(lines)


def _noise(rows: Rows, mechanism: Mechanism, level: float) -> dict[str, float]:
    known = rows.dim is not None and not rows.awaited
    scales = mechanism.noise(rows, level) if known else {}
    return {part: scale for part, scale in scales.items() if math.isfinite(scale)}  # others cannot be written down


def _parameters(step: Step) -> dict[str, str]:
    shown = {}
    action: Any = step.action
    for alias, field in parameters_of(type(action)).items():
        value = getattr(action, field.name)
        if value is None or value == field.default or isinstance(value, Ref):
            continue  # `Line.of` lists the references
        shown[alias] = value.title if isinstance(value, Kind) else str(value)
    for part, value in ({} if step.rows is None else step.rows.given).items():
        shown[f"rows.{part}"] = f"what {value.name!r} releases" if isinstance(value, Ref) else str(value)
    return shown
