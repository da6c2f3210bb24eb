"""The commands: one function for each, which takes the parsed arguments."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpframe.cli.ledger import opened
from dpframe.cli.streams import console
from dpframe.errors import DataError, PlanError, ReleaseFailed

if TYPE_CHECKING:
    from dpframe.cli.output import Output
    from dpframe.ledger import Ledger
    from dpframe.run.dry_run import DryRun
    from dpframe.run.result import Result


class Version(argparse.Action):
    """The option --version: print the versions of dpframe and of its plugins, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from dpframe import registry

        print("\n".join(f"{name} {version}" for name, version in registry.versions().items()))
        parser.exit()


def _on_a_terminal() -> bool:
    """Whether to show a progress bar: not when standard error is redirected or closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def demo(arguments: argparse.Namespace) -> None:
    """Run the demonstration, or write its files."""
    from dpframe.demo import release as demo

    if arguments.files is None:
        demo.main()
        return
    try:
        demo.write_files(arguments.files)
    except OSError as error:
        raise DataError(f"{arguments.files} cannot be written to: {error}.") from None
    print(f"written: {arguments.files}/adult.csv and {arguments.files}/plan.toml")


def plugins(arguments: argparse.Namespace) -> None:
    """List the installed plugins."""
    import attrs

    from dpframe import registry
    from dpframe.display.tables import table

    if arguments.name is not None:
        _describe(arguments.name, arguments.json)
        return
    installed = registry.plugins()
    if arguments.json:
        print(json.dumps([attrs.asdict(plugin) for plugin in installed], indent=1))
        return
    cells = [
        {
            "plugin": plugin.name,
            "version": plugin.version,
            "status": plugin.status,
            "provides": plugin.reason or ", ".join(plugin.provides),
        }
        for plugin in installed
    ]
    console().print(table(cells))


def _describe(name: str, as_json: bool) -> None:
    import attrs

    from dpframe.cli.described import described, rendered
    from dpframe.display.visible import Visible

    found = described(name)
    if as_json:
        print(json.dumps([attrs.asdict(each) for each in found], indent=1))
    else:
        console().print(Visible(rendered(found)))  # plugins may hold any text


def completion(arguments: argparse.Namespace) -> None:
    """Print a script that completes the words of this command."""
    from dpframe.cli.completion import script

    print(script(arguments.parser(), arguments.shell), end="")


def new_plugin(arguments: argparse.Namespace) -> None:
    """Write a package for a new plugin."""
    from dpframe.cli.scaffold import new_plugin

    folder = new_plugin(arguments.name, arguments.directory)
    print(f"written: {folder}. Next: pip install -e '{folder}[dev]', and its tests with pytest; see its README.md.")


def init(arguments: argparse.Namespace) -> None:
    """Write a plan file to fill in."""
    from dpframe.cli.init import write_skeleton
    from dpframe.sources.names import named_columns

    columns = named_columns(_csv_or_path(arguments), is_header=arguments.header)
    write_skeleton(columns, arguments.output)
    print(
        f"written: {arguments.output}, with {len(columns)} columns, from names and types alone. Look at the names "
        "first; if they are cells, the file has no header line: delete the plan. Then fill in what is marked in it; "
        f"dpframe explain {arguments.output} names what is missing."
    )


def explain(arguments: argparse.Namespace) -> None:
    """Price a plan and forecast its errors."""
    from dpframe.plan import Plan

    explanation = Plan.load(arguments.plan).explain(
        dim=arguments.dim,
        spectrum=_numbers(arguments.spectrum),
        rows=arguments.rows,
        confidence=arguments.confidence,
        simulations=arguments.simulations,
        progress=_on_a_terminal(),
    )
    if arguments.html is not None:
        try:
            explanation.to_html(arguments.html)
        except OSError as error:
            raise DataError(f"{arguments.html} cannot be written: {error.strerror or error}.") from None
    if arguments.json:
        print(explanation.to_json())
    else:
        console().print(explanation)


def compare(arguments: argparse.Namespace) -> None:
    """Rank the installed mechanisms for a task."""
    from dpframe.forecast import compare
    from dpframe.plan import Plan

    plan = Plan.load(arguments.plan)
    if plan.scenario is None and arguments.n is None:
        raise PlanError(
            f"{arguments.plan} has no [scenario]; a comparison needs one, the assumed data. For a plan with columns, "
            "--n with the assumed number of rows is enough."
        )
    assumed = {"scenario": plan.scenario} if arguments.n is None else {"n": arguments.n}
    given: dict[str, Any] = {"rows": plan.rows, "budget": plan.budget, "progress": _on_a_terminal(), **assumed}
    if arguments.epsilons is not None:
        given["epsilons"] = _numbers(arguments.epsilons, "--epsilons")
    comparison = compare(arguments.task, k=arguments.k, **given)
    if arguments.json:
        print(comparison.to_json())
    else:
        console().print(comparison)


def require(arguments: argparse.Namespace) -> None:
    """Print the plan with the smallest epsilon that meets a target."""
    from dpframe.forecast.error_norms import TARGETS
    from dpframe.plan import Plan
    from dpframe.plan.file import dumps

    target: dict[str, Any] = {
        name: getattr(arguments, name) for name in (*TARGETS, "correlation") if getattr(arguments, name) is not None
    }
    for name in ("mean", "sd"):
        if given := getattr(arguments, name):
            target[name] = dict(_limit(text, f"--{name}") for text in given)
    cheapest = Plan.load(arguments.plan).require(
        confidence=arguments.confidence, step=arguments.step, rows=arguments.rows, progress=_on_a_terminal(), **target
    )
    print(dumps(cheapest), end="")


def _limit(text: str, option: str) -> tuple[str, float]:
    """Parse 'age=0.5'; the name of a level has an equals sign of its own, 'sex=F=0.01'."""
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise PlanError(f"{option} takes COLUMN=NUMBER, in the units of the column; got {text!r}.") from None


def _numbers(text: str | None, option: str = "--spectrum") -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise PlanError(f"{option} takes numbers separated by commas; got {text!r}.") from None


def run(arguments: argparse.Namespace) -> None:
    """Run a plan on data, and write and print the result."""
    from dpframe.cli.charging import charging
    from dpframe.cli.output import reserved
    from dpframe.plan import Plan

    plan = Plan.load(arguments.plan)
    directory = arguments.output or Path(f"{Path(arguments.plan).stem}-result")
    with reserved(directory, [step.name for step in plan.steps]) as output:
        charged = {"ledger": _ledger(arguments), "dataset": arguments.dataset, "note": arguments.note}
        data = _data(arguments)
        if arguments.dry_run:
            _show_dry_run(plan.dry_run(data, **charged), arguments.json)
            return
        deliver = partial(_deliver, output=output, as_json=arguments.json)
        with charging(output, deliver):
            try:
                result = plan.run(data, progress=_on_a_terminal(), **charged)
            except DataError as error:
                error.args = (f"{error} {TRY_FIRST}",)
                raise
        deliver(result)


def _show_dry_run(dry: DryRun, as_json: bool) -> None:
    if as_json:
        print(dry.to_json())
    else:
        console().print(dry)


def _deliver(result: Result, *, output: Output, as_json: bool) -> None:
    """Save a result and print it; raises ReleaseFailed, which says where it is, unless both succeed."""
    output.save(result)
    try:
        _show(result, output, as_json)
    except BrokenPipeError:  # whoever reads the report has seen enough
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ReleaseFailed(
            f"the charge stands, but the report could not be printed ({reason}). The result is in {output.described}."
        ) from None


def _show(result: Result, output: Output, as_json: bool) -> None:
    if as_json:
        print(result.to_json())
    else:
        console().print(result)
        print(f"written to {output.described}")
        if result.charge is not None:
            print(f"charged to data set {result.charge.dataset!r}; note the head: {result.charge.head}")
    if sys.stdout is not None:
        sys.stdout.flush()


def _ledger(arguments: argparse.Namespace) -> Ledger | None:
    if arguments.ledger is not None:
        return opened(arguments.ledger, arguments.key_file)
    if arguments.key_file is not None:
        raise PlanError(
            "--key-file is the key of a ledger, but no --ledger is given. Nothing was charged, read or drawn."
        )
    return None


def check(arguments: argparse.Namespace) -> None:
    """Compare data with the promise of a plan, for the steward of the data."""
    from dpframe.plan import Plan
    from dpframe.steward import check

    console().print(check(_data(arguments), Plan.load(arguments.plan).rows))


TRY_FIRST = (
    "Nothing was charged. Before a run, dpframe check PLAN DATA compares the cells with the plan, for who may see "
    "them, and dpframe run --dry-run does everything but charge, read and draw."
)


def _data(arguments: argparse.Namespace) -> Any:
    """The data: a memory-mapped array, the result of a query, a CSV file, or the path itself for another table."""
    from dpframe.sources.dispatch import existing
    from dpframe.sources.queries import query

    path, sql = arguments.data, arguments.query
    if sql is not None and _csv_options(arguments):
        raise PlanError("--csv-... options are for the path of a CSV file, and a query reads files by itself.")
    if sql is not None:
        return query(sql, path)
    data = _csv_or_path(arguments)
    return _array(existing(path)) if data == path and Path(path).suffix == ".npy" else data


def _csv_or_path(arguments: argparse.Namespace) -> Any:
    """A CSV file written in a stated way, or the path itself."""
    from dpframe.sources.csv_format import csv

    if not Path(arguments.data).exists():
        raise DataError(
            f"{arguments.data!r}: no such file. Nothing was charged. DATA is a .npy, .csv or .parquet file, or a "
            "directory of Parquet files."
        )
    options = _csv_options(arguments)
    return csv(arguments.data, **options) if options else arguments.data


def _csv_options(arguments: argparse.Namespace) -> dict[str, str]:
    stated = {name: getattr(arguments, f"csv_{name}") for name in ("separator", "decimal", "encoding")}
    options = {name: value for name, value in stated.items() if value is not None}
    if options.get("separator") in ("tab", "\\t"):  # as one types it in a shell
        options["separator"] = "\t"
    return options


def _array(path: Path) -> Any:
    """The array in a file, mapped into memory."""
    import numpy as np

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        problem = type(error).__name__
    raise DataError(
        f"{str(path)!r} cannot be read as an array ({problem}): it is no .npy file, shorter than its header says, or "
        "holds Python objects, which are not read. Nothing was charged."
    )


def audit(arguments: argparse.Namespace) -> None:
    """Audit a mechanism under one or both neighboring relations."""
    from dpframe.auditing import audit
    from dpframe.auditing.outcome import rendered
    from dpframe.plan.steps import made
    from dpframe.spec.rows import NEIGHBORS, Rows

    parameters = dict(map(_parameter, arguments.set))
    shares = {key: parameters.pop(key) for key in ("weight", "level") if key in parameters}
    step = made("release", "release", arguments.mechanism, parameters, **shares)
    outcomes = []
    for neighbors in [arguments.neighbors] if arguments.neighbors else NEIGHBORS:
        rows = Rows(norm=1.0, neighbors=neighbors, dim=arguments.dim)
        terms = {"epsilon": arguments.epsilon, "delta": arguments.delta, "trials": arguments.trials}
        outcomes.append(audit(step, rows=rows, progress=_on_a_terminal(), **terms))
    if arguments.json:
        print(json.dumps([outcome.to_dict() for outcome in outcomes], indent=1))
    else:
        console().print(rendered(outcomes))
    if violated := [outcome.neighbors for outcome in outcomes if outcome.violated]:
        raise PlanError(f"{arguments.mechanism!r} loses more than it claims under {' and '.join(violated)}.")


def _parameter(text: str) -> tuple[str, Any]:
    """Parse 'k=2' into a name and a TOML value; a value that is not TOML is taken as a string."""
    import tomllib

    name, equals, value = text.partition("=")
    if not equals:
        raise PlanError(f"--set takes PARAMETER=VALUE; got {text!r}.")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def schema(arguments: argparse.Namespace) -> None:
    """Print the JSON schema of plan files, or of what a command prints with --json."""
    from dpframe.cli.json_schemas import output_schema
    from dpframe.plan.json_schema import schema

    found = schema() if arguments.output is None else output_schema(arguments.output)
    print(json.dumps(found, indent=1))
