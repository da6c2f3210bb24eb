"""The page of a result: who is protected, what was spent, what was released, and what a reviewer asks."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpframe.display.printable import NOT_PRIVATE, plain_text
from dpframe.display.tables import sentence
from dpframe.display.visible import Visible
from dpframe.plan import Plan
from dpframe.rounding import format_down, format_given, format_up
from dpframe.run.disclosure import GUIDES, Release, facts
from dpframe.run.error_bars import CONFIDENCE
from dpframe.run.page import charts
from dpframe.run.page.document import document, plain_document
from dpframe.run.page.values import is_step_between, section
from dpframe.run.value_text import LEGEND
from dpframe.run.wording import slack_of_runs
from dpframe.spec.budget import ModelBudget
from dpframe.spec.columns import Category, Column

if TYPE_CHECKING:
    from dpframe.run.result import Charge, Result

TITLE = "Report on a private release"
LARGEST_EXPONENT = 20.0  # of factors that are written out
COMPOSED = "The scale is ε over all runs as the ledger composes them, which is at most the sum of their ε."
NOT_RECORDED = "not recorded: the run had no ledger"


def page(result: Result) -> str:
    """The page of a result, which is paid for: where it cannot be drawn, it has the report as text.

    Args:
        result: the result.
    """
    try:
        return _page(result)
    except Exception as error:
        from dpframe.run.render import render_result

        return plain_document(TITLE, plain_text(Visible(render_result(result))), type(error).__name__)


def _page(result: Result) -> str:
    plan, charge = plan_of(result), result.charge
    names = set(result.records)
    sections = [section(result, name) for name in result.records]
    release = Release(
        statement=result.statement,
        rows=None if plan is None else plan.rows,
        charge=charge,
        private=result.private,
    )
    return document(
        title=TITLE,
        kind="Differentially private release",
        alarms=_alarms(result),
        warnings=result.warnings,
        budget=None if charge is None else _budget(charge),
        record=_record(charge),
        results=[each for each in sections if not is_step_between(each.name, names)],
        between=[each for each in sections if is_step_between(each.name, names)],
        failed=result.failed,
        legend=_legend() if any(each.has_error for each in sections) else "",
        forecast=None,
        versions=result.versions,
        plan_file=result.plan_file,
        **shared(release, plan),
    )


def _legend() -> str:
    """The legend of values, without what to type for more."""
    return LEGEND.format(confidence=100 * CONFIDENCE).partition(" More:")[0]


def shared(release: Release, plan: Plan | None) -> dict[str, Any]:
    """What the pages of results and of explanations have in common.

    Args:
        release: the release, or the one that is planned.
        plan: its plan, where it is known.
    """
    from dpframe.run.render import derived_cells, promise, release_cells

    statement = release.statement
    lead, meaning = _lead(release)
    unknown = "stated once dim and norm are known" if release.planned else "not stated"
    lines = statement.lines
    answered = facts(release)
    return {
        "lead": lead,
        "meaning": meaning,
        "figures": _figures(release),
        "promise": promise(statement),
        "hash": statement.plan,
        "columns": _columns(plan),
        "releases": [release_cells(line, statement.budget.epsilon, unknown) for line in lines if line.is_release],
        "derived": [derived_cells(line) for line in lines if not line.is_release],
        "guides": [
            (guide, title, [fact for fact in answered if guide in fact.asked_by]) for guide, title in GUIDES.items()
        ],
    }


def plan_of(result: Result) -> Plan | None:
    """The plan in a result; None where it is not the one that was run, by its hash, or cannot be read here.

    Args:
        result: the result.
    """
    with suppress(Exception):
        plan = Plan.loads(result.plan_file)
        return plan if plan.content_hash == result.statement.plan else None
    return None


def _alarms(result: Result) -> list[tuple[str, str]]:
    """What a reader must see first."""
    alarms = []
    if not result.private:
        alarms.append((NOT_PRIVATE, "Drawn from a fixed seed, for tests only: this page protects nobody."))
    if result.statement.caveat:
        alarms.append(("Under a model only", sentence(result.statement.caveat)))
    if result.failed:
        alarms.append(
            ("Not complete", "Steps of the plan have no result; they are listed below. All of it was charged.")
        )
    return alarms


def _lead(release: Release) -> tuple[str, str]:
    """Who is protected, in one sentence, and the guarantee in another, as its definition says it."""
    statement = release.statement
    if not release.private:
        return (
            "Nobody is protected: these values were drawn from a fixed seed.",
            f"A run of the same plan with secret randomness would protect {statement.protected}.",
        )
    protected = f"Protected is {statement.protected}."
    if isinstance(statement.spent, ModelBudget):
        return protected, sentence(statement.caveat)
    epsilon, delta = statement.budget.epsilon, statement.budget.delta
    factor = format_up(math.exp(epsilon)) if epsilon < LARGEST_EXPONENT else f"e^{format_given(epsilon)}"
    other = "as without them" if statement.neighbors == "add-remove" else "as with any others in their place"
    apart = f", apart from a probability of at most {format_given(delta)}" if delta else ""
    exact = all(line.numerics != "floating" for line in statement.lines if line.is_release)
    none = "No outcome of this release" if exact else "In exact arithmetic, no outcome of this release"
    return protected, (
        f"{none} is more than {factor} times (e to the power ε) as likely with that person's rows {other}, nor the "
        f"other way around{apart}."
    )


def _figures(release: Release) -> list[tuple[str, str, str]]:
    """The figures at the top: a sign, a number, and what it is."""
    statement = release.statement
    kept = "" if release.private else "; of the plan, and not kept by this run"
    spent = format_up(statement.spent.epsilon, statement.budget.epsilon)
    differs = "whether a person is in the data" if statement.neighbors == "add-remove" else "what a person's rows say"
    return [
        ("ε", spent, f"the most that one person shifts the odds, on the log scale{kept}"),
        ("δ", format_given(statement.spent.delta), f"the probability that is exempt from it{kept}"),
        ("neighbors", statement.neighbors, f"data sets are neighbors that differ in {differs}"),
    ]


def _budget(charge: Charge) -> dict[str, Any]:
    """The budget bar of a data set: on the scale of the composed epsilon, which need not add up."""
    limit = charge.budget.epsilon
    spent, left = format_up(charge.spent.epsilon, limit), format_down(charge.remaining.epsilon)
    others = charge.others
    before = 0.0 if others is None else min(others.epsilon, charge.spent.epsilon)
    shares = [("others", before / limit), ("own", (charge.spent.epsilon - before) / limit)]
    legend = [("own", "This run", "what it adds, composed with the others")]
    if others is not None:
        words = f"ε = {format_up(before, limit)}" if before else "none so far"
        legend = [("others", "Other runs", words), ("own", "With this run", f"ε = {spent}")]
    legend.append(("left", "Left", f"a plan of up to ε = {left} at the same δ"))
    label = f"Budget of the data set: epsilon {spent} of {format_given(limit)} spent"
    return {
        "bar": charts.budget_bar(shares, label),
        "legend": [(charts.swatch(f"part {name}"), title, words) for name, title, words in legend],
        "limit": f"ε = {format_given(limit)}, δ = {format_given(charge.budget.delta)}",
        "dataset": charge.dataset,
        "remarks": [
            *([COMPOSED] if before else []),
            *([sentence(charge.caveat)] if charge.caveat else []),
            *([sentence(slack_of_runs(charge.slack))] if charge.slack else []),
            *map(sentence, charge.notices),
        ],
        "entry": charge.entry,
        "head": charge.head,
    }


def _record(charge: Charge | None) -> dict[str, str]:
    """When it was run, by whom and what for, as the ledger says."""
    if charge is None:
        return dict.fromkeys(("Date", "Run by", "Purpose"), NOT_RECORDED)
    elsewhere = f"not in this result; what is recorded is in entry {charge.entry} of the ledger"
    return {
        "Date": f"{charge.time[:10]} {charge.time[11:16]} UTC" if charge.time else elsewhere,
        "Run by": charge.user or elsewhere,
        "Purpose": charge.note or elsewhere,
    }


def _columns(plan: Plan | None) -> list[dict[str, str]]:
    """The columns with their public ranges and levels."""
    if plan is None or plan.rows.columns is None:
        return []
    return [
        {
            "column": column.name,
            "range or levels": _range(column),
            "unit": column.unit if isinstance(column, Column) else "",
            "a missing cell": "its row counts as nothing" if column.missing is None else f"counts as {column.missing}",
        }
        for column in plan.rows.columns
    ]


def _range(column: Column | Category) -> str:
    if isinstance(column, Column):
        return f"{format_given(column.low)} to {format_given(column.high)}"
    return ", ".join(map(str, column.levels))
