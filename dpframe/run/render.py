"""Reports of explanations and results: styled where rich prints them, plain text otherwise, HTML in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.display.grid import LINES
from dpframe.display.printable import NOT_PRIVATE
from dpframe.display.tables import heading, pairs, sentence, table
from dpframe.rounding import format_down, format_given, format_up
from dpframe.run.error_bars import CONFIDENCE
from dpframe.run.value_text import LEGEND, value_section
from dpframe.run.wording import slack_of_runs
from dpframe.spec.budget import NOT_WORST_CASE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.run.dry_run import DryRun
    from dpframe.run.explain import Explanation
    from dpframe.run.result import Charge, Result
    from dpframe.run.statement import Line, Statement
    from dpframe.spec.bounds import Bound
    from dpframe.spec.scenario import Scenario


WITHHELD = "Bounds from the true spectrum are as private as the data and not shown; see .diagnostics(step)."


def render_explanation(explanation: Explanation) -> RenderableType:
    """The report of an explanation: caveat, promise, steps and forecasts."""
    from rich.console import Group

    unknown = "stated once dim and norm are known"
    parts = statement_parts(explanation.statement, "What this plan promises", unknown)
    parts += _forecasts(explanation)
    if explanation.columns is not None:
        parts.append(explanation.columns)
    return Group(*parts)


def render_dry_run(dry: DryRun) -> RenderableType:
    """The report of a dry run: caveat, promise, steps, and what a run would charge."""
    from rich.console import Group
    from rich.text import Text

    parts = statement_parts(dry.statement, "What this plan promises, on this data", "not stated")
    return Group(*parts, Text(dry.words))


def statement_parts(statement: Statement, title: str, unknown: str) -> list[RenderableType]:
    """A statement: caveat, promise and steps.

    Args:
        statement: the statement.
        title: the title of the promise.
        unknown: words for noise that is not known.
    """
    return [*_warned(statement.caveat), *_promise(statement, title), *_steps(statement, unknown)]


def render_result(result: Result, lines: int = LINES) -> RenderableType:
    """The report of a result: caveat, warnings, charge, promise, steps, values and versions.

    Args:
        result: the result.
        lines: the most lines of one value; a larger one is shown in part.
    """
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    if not result.private:
        parts += [Text(f"{NOT_PRIVATE}: drawn from a fixed seed, for tests only.", style="bold red"), Text()]
    parts += _warned(result.statement.caveat)
    for warning in result.warnings:
        parts += [Text(f"Warning: {warning}", style="bold yellow"), Text()]
    if result.charge is not None:
        parts += _charged(result.charge)
    parts += [*_promise(result.statement, "What was promised"), *_steps(result.statement, "not stated")]
    if result.choices:
        parts += [heading("Chosen from released values"), pairs(result.choices), Text()]
    intervals = {name: result.shown_interval(name) for name in result.records}
    for record in result.records.values():
        parts += value_section(record, intervals[record.name], result.why_no_interval(record.name), lines)
    if any(interval is not None for interval in intervals.values()):
        parts += [Text(LEGEND.format(confidence=100 * CONFIDENCE), style="dim"), Text()]
    if result.failed:
        labeled = {name: sentence(words.removesuffix(".")) for name, words in result.failed.items()}
        parts += [heading("Steps without a result"), pairs(labeled), Text()]
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return Group(*parts, Text(versions, style="dim"))


def _charged(charge: Charge) -> list[RenderableType]:
    from rich.text import Text

    labeled = {
        "Data set": f"{charge.dataset}, entry {charge.entry} of its ledger",
        "So far": f"epsilon={format_up(charge.spent.epsilon, charge.budget.epsilon)} of "
        f"{format_given(charge.budget.epsilon)}, delta={format_given(charge.budget.delta)}, over all runs",
        "Still fits": f"a plan of up to epsilon={format_down(charge.remaining.epsilon)} at the same delta",
        **({"Besides": sentence(charge.caveat)} if charge.caveat else {}),
        **({"Numerics": slack_of_runs(charge.slack)} if charge.slack else {}),
        **({"Notice": " ".join(map(sentence, charge.notices))} if charge.notices else {}),
        "Head": charge.head,
    }
    return [heading("Where it was charged"), pairs(labeled), Text()]


def _promise(statement: Statement, title: str) -> list[RenderableType]:
    from rich.text import Text

    labeled = {**promise(statement), "Plan": f"sha256 {statement.plan[:16]}…"}
    return [heading(title), pairs(labeled), Text()]


def promise(statement: Statement) -> dict[str, str]:
    """What a plan promises, by label.

    Args:
        statement: the statement of the plan.
    """
    passes = "once" if statement.passes == 1 else f"{statement.passes} times"
    return {
        "Protected": statement.protected,
        "Against": statement.against,
        "Strength": statement.strength,
        "Rows": statement.rows,
        "Spent": f"{statement.spent.within(statement.budget)} "
        f"(accountant: {_accountant(statement)}{_others(statement)})",
        "Reading": f"the data is read {passes}, after the charge",
    }


def _warned(caveat: str) -> list[RenderableType]:
    """The caveat as a warning at the top of a report; nothing where there is none."""
    from rich.text import Text

    return [Text(sentence(caveat), style="bold red"), Text()] if caveat else []


def _accountant(statement: Statement) -> str:
    """The accountant that computed the cost, with its package."""
    return statement.accountant + (f" of {statement.computed_by}" if statement.computed_by else "")


def _others(statement: Statement) -> str:
    """The epsilons of the other accountants that can compose these losses."""
    others = {name: epsilon for name, epsilon in statement.accountants.items() if name != statement.accountant}
    return "".join(f"; {name} says {format_up(epsilon, statement.budget.epsilon)}" for name, epsilon in others.items())


def _steps(statement: Statement, unknown: str) -> list[RenderableType]:
    """The steps in tables, with words for noise that is not known."""
    from rich.text import Text

    releases = [line for line in statement.lines if line.is_release]
    derived = [line for line in statement.lines if not line.is_release]
    cells = [{**release_cells(line, statement.budget.epsilon, unknown), "mechanism": line.action} for line in releases]
    parts = [heading("Releases, which cost budget"), table(cells)]
    if chosen := {line.name: parameters(line) for line in releases if line.parameters}:
        parts += [Text("  Their parameters"), pairs(chosen)]
    parts.append(Text())
    if derived:
        parts += [heading("Derived from them, free"), table([derived_cells(line) for line in derived]), Text()]
    return parts


def release_cells(line: Line, budget: float, unknown: str) -> dict[str, str]:
    """One row of the table of releases.

    Args:
        line: the step.
        budget: the epsilon of the budget.
        unknown: words for noise that is not known.
    """
    noise = ", ".join(f"{part} {scale:.4g}" for part, scale in line.noise.items())
    modeled = ", model" if NOT_WORST_CASE in line.guarantee else ""
    return {
        "step": line.name,
        "mechanism": call(line),
        "noise (units of the result)": noise or unknown,
        "loss": ", ".join(line.losses),
        "ε alone": format_up(line.epsilon_alone or 0.0, budget) + modeled,
        "ε so far": format_up(line.epsilon_so_far or 0.0, budget),
        "numerics": line.numerics + _slack(line),
    }


def _slack(line: Line) -> str:
    if line.slack is None:
        return "; ε in exact arithmetic, slack once the dimension is known"
    return f"; ε in exact arithmetic, slack {line.slack:.1e}" if line.slack else ""


def derived_cells(line: Line) -> dict[str, str]:
    """One row of the table of derived values.

    Args:
        line: the step.
    """
    return {"step": line.name, "what": call(line), "gives": line.kind, "from": ", ".join(line.of)}


def call(line: Line) -> str:
    """A mechanism or post-processor with its parameters.

    Args:
        line: the step.
    """
    return f"{line.action} ({parameters(line)})" if line.parameters else line.action


def parameters(line: Line) -> str:
    """The parameters of a step that differ from their defaults, with those of its rows.

    Args:
        line: the step.
    """
    return ", ".join(f"{name}={text}" for name, text in line.parameters.items())


def _forecasts(explanation: Explanation) -> list[RenderableType]:
    from rich.text import Text

    if explanation.scenario is not None and not explanation.shareable:
        return [Text(WITHHELD), Text()]
    title, cells = forecast_cells(explanation)
    if not cells:
        return []
    more = Text("All bounds, with their assumptions: .bounds(step)", style="dim")
    return [heading(title), table(cells), more, Text()]


def forecast_cells(explanation: Explanation) -> tuple[str, list[dict[str, str]]]:
    """The title and the rows of the table of forecasts; no rows where there are none, or where they are diagnostics.

    Args:
        explanation: the explanation.
    """
    scenario = explanation.scenario
    forecasts = {step: bounds for step, bounds in explanation.forecasts.items() if bounds}
    if scenario is None or not forecasts:
        return "", []
    data = "table" if scenario.model == "table" else "spectrum"
    title = f"Error to expect, for the {scenario.source} {data} ({_clipping(scenario, forecasts)})"
    cells = [_error_cells(step, bounds, explanation.tightest(step)) for step, bounds in forecasts.items()]
    if not any(row["does not hold"] for row in cells):
        cells = [{label: text for label, text in row.items() if label != "does not hold"} for row in cells]
    return title, cells


def _clipping(scenario: Scenario, forecasts: dict[str, tuple[Bound, ...]]) -> str:
    simulated = any(_simulated(bound) for bounds in forecasts.values() for bound in bounds)
    if scenario.model is None or not simulated:
        return "clipping bias not included"
    return f"simulated figures: {scenario.model} rows, clipping included; others without clipping"


def _simulated(bound: Bound) -> bool:
    return bound.interval is not None


def _error_cells(step: str, bounds: tuple[Bound, ...], tightest: Bound | None) -> dict[str, str]:
    """One row of the table of errors: the forecasts of a result in matrix norms, and the tightest proved bound."""
    forecasts = [bound for bound in bounds if bound.kind == "forecast"]
    simulated = [bound for bound in forecasts if _simulated(bound)]
    median = [bound for bound in simulated if bound.confidence == 0.5]
    failing = {
        assumption.text
        for bound in bounds
        if bound.explicit
        for assumption in bound.assumptions
        if not assumption.holds
    }
    sure = "" if tightest is None or tightest.confidence is None else f", with probability {tightest.confidence:g}"
    proved = "none" if tightest is None else _figure(tightest) + sure
    return {
        "step": step,
        "forecast": "\n".join(map(_figure, median or forecasts)) or "none",
        **({"95 % within": "\n".join(_figure(b) for b in simulated if b.confidence == 0.95)} if simulated else {}),
        "proved": proved,
        "does not hold": "\n".join(sorted(failing)),
    }


def _figure(bound: Bound) -> str:
    """The value of a bound with a short name of its norm; the bound itself has the full name."""
    if bound.value is None:
        return "none"
    word, _, rest = bound.norm.partition(",")
    label = f"({word}; {bound.name})"
    if "degrees" in rest:
        return f"{bound.value:.3g}° {label}"
    if "share" in rest:
        return f"{100 * bound.value:.4g} % {label}"
    return f"{bound.value:.4g} {label}"
