"""The command ``dpframe``: price, check and run plan files from a shell.

Exit codes: 0 done; 1 refused, nothing was charged; 2 the command line is wrong; 3 failed after the charge, which
stands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpframe.cli.ledger import add_commands, add_key, opened
from dpframe.errors import DataError, DPFrameError, PlanError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from dpframe.ledger import Ledger
    from dpframe.run.result import Result

REFUSED, AFTER_THE_CHARGE = 1, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; user errors become one line on standard error, never a traceback."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except ReleaseFailed as error:
        print(" ".join([f"dpframe: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return AFTER_THE_CHARGE
    except DPFrameError as error:
        print(f"dpframe: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dpframe", description="Differentially private matrices about people.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the versions of dpframe and its plugins")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(command=command)
        return found

    demo = add("demo", _demo, "a real release on embedded data, with its report")
    demo.add_argument("--files", metavar="DIR", type=Path, help="write its data and plan there instead of running it")
    add("plugins", _plugins, "what is installed, and what is set aside and why").add_argument(
        "--json", action="store_true"
    )
    new = add("new-plugin", _new_plugin, "write a complete package for a mechanism of your own, with its tests")
    new.add_argument("name", metavar="NAME", help="row-lengths makes the package dpframe-row-lengths")
    new.add_argument("--directory", metavar="DIR", type=Path, default=Path(), help="where to make its folder")
    explain = add("explain", _explain, "price and forecast of a plan file, before any data is touched")
    explain.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    explain.add_argument("--dim", type=int, help="the number of coordinates")
    explain.add_argument("--spectrum", help="assumed eigenvalues of the second moment, separated by commas")
    explain.add_argument("--simulations", type=int, default=0, help="releases to simulate on made-up data")
    explain.add_argument("--json", action="store_true")
    compare = add("compare", _compare, "rank all installed mechanisms for a task, with the promises of a plan file")
    compare.add_argument("plan", metavar="PLAN", help="a plan file with a [scenario]; its steps are not used")
    compare.add_argument("--task", default="subspace", help="subspace, low-rank, eigenvalues or moment")
    compare.add_argument("-k", type=int, help="how many directions or eigenvalues")
    compare.add_argument("--json", action="store_true")
    require = add("require", _require, "the smallest epsilon with which a plan meets a target; prints the plan file")
    require.add_argument("plan", metavar="PLAN", help="a plan file with a [scenario]")
    require.add_argument("--angle-degrees", type=float, help="the largest principal angle allowed")
    require.add_argument("--frobenius", type=float, help="the largest error in Frobenius norm")
    require.add_argument("--spectral", type=float, help="the largest error in spectral norm")
    require.add_argument("--captured-variance", type=float, help="the least share of the best subspace's variance")
    require.add_argument("--confidence", type=float, default=0.95, help="the share of releases (default: 0.95)")
    require.add_argument("--step", help="whose result (default: the last one with such an error)")
    _add_run(add("run", _run, "run a plan on data: charge, read, draw, derive"))
    add_commands(commands.add_parser("ledger", help="the budgets of data sets, and every run that spent from them"))
    check = add("check", _check, "how the data fits the plan's promise; NOT PRIVATE, for the steward of the data only")
    check.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    check.add_argument("data", metavar="DATA", help="as for run")
    _add_query(check)
    audit = add("audit", _audit, "try to prove that a mechanism loses more privacy than it claims")
    audit.add_argument("mechanism", metavar="NAME", help="an installed mechanism or recipe")
    audit.add_argument(
        "--set", metavar="PARAMETER=VALUE", action="append", default=[], help="one of its parameters, as in a plan file"
    )
    audit.add_argument("--epsilon", type=float, default=1.0, help="the claim (default: 1)")
    audit.add_argument("--delta", type=float, default=1e-2, help="the delta of the claim (default: 0.01)")
    audit.add_argument("--trials", type=int, default=10_000, help="releases on either data set (default: 10000)")
    audit.add_argument("--neighbors", choices=["add-remove", "replace"], help="the relation (default: both, in turn)")
    audit.add_argument("--dim", type=int, default=3, help="coordinates of the made-up rows (default: 3)")
    audit.add_argument("--json", action="store_true")
    add("schema", _schema, "a JSON schema of plan files, for editors")
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    run.add_argument("data", metavar="DATA", help="a .npy array, a .csv file, a .parquet file or a directory of them")
    _add_query(run)
    run.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="where to write (default: PLAN's name with -result)"
    )
    run.add_argument("--json", action="store_true", help="print the result as JSON instead of the report")
    run.add_argument("--ledger", metavar="DB", help="charge the run to this ledger: a file, or a postgresql:// URL")
    run.add_argument("--dataset", metavar="NAME", help="which data set of the ledger")
    add_key(run)


def _add_query(command: argparse.ArgumentParser) -> None:
    command.add_argument("--query", metavar="SQL", help="one SELECT whose rows are the data; DATA is a DuckDB database")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from dpframe import registry

        print("\n".join(f"{name} {version}" for name, version in registry.versions().items()))
        parser.exit()


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _demo(arguments: argparse.Namespace) -> None:
    from dpframe.demo import release as demo

    if arguments.files is None:
        demo.main()
        return
    try:
        demo.write_files(arguments.files)
    except OSError as error:
        raise DataError(f"{arguments.files} cannot be written to: {error}.") from None
    print(f"written: {arguments.files}/adult.csv and {arguments.files}/plan.toml")


def _plugins(arguments: argparse.Namespace) -> None:
    import attrs

    from dpframe import registry
    from dpframe.run.render import table

    found = registry.plugins()
    if arguments.json:
        print(json.dumps([attrs.asdict(plugin) for plugin in found], indent=1))
        return
    cells = [
        {
            "plugin": plugin.name,
            "version": plugin.version,
            "status": plugin.status,
            "provides": plugin.reason or ", ".join(plugin.provides),
        }
        for plugin in found
    ]
    _console().print(table(cells))


def _new_plugin(arguments: argparse.Namespace) -> None:
    from dpframe.cli.scaffold import new_plugin

    folder = new_plugin(arguments.name, arguments.directory)
    print(f"written: {folder}. Next: pip install -e '{folder}[dev]', and its tests with pytest; see its README.md.")


def _explain(arguments: argparse.Namespace) -> None:
    from dpframe.plan import Plan

    with _bar("simulating") as progress:
        explanation = Plan.load(arguments.plan).explain(
            dim=arguments.dim,
            spectrum=_numbers(arguments.spectrum),
            simulations=arguments.simulations,
            progress=progress,
        )
    if arguments.json:
        print(explanation.to_json())
    else:
        _console().print(explanation)


def _compare(arguments: argparse.Namespace) -> None:
    from dpframe.forecast import compare
    from dpframe.plan import Plan

    plan = Plan.load(arguments.plan)
    if plan.scenario is None:
        raise PlanError(f"{arguments.plan} has no [scenario]; a comparison needs assumed data.")
    with _progress() as progress:
        found = compare(
            arguments.task,
            k=arguments.k,
            rows=plan.rows,
            budget=plan.budget,
            scenario=plan.scenario,
            progress=progress,
        )
    if arguments.json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        _console().print(found)


def _require(arguments: argparse.Namespace) -> None:
    from dpframe.forecast.error_norms import TARGETS
    from dpframe.plan import Plan
    from dpframe.plan.file import dumps

    target = {name: getattr(arguments, name) for name in TARGETS if getattr(arguments, name) is not None}
    with _progress() as progress:
        found = Plan.load(arguments.plan).require(
            confidence=arguments.confidence, step=arguments.step, progress=progress, **target
        )
    print(dumps(found), end="")


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise PlanError(f"--spectrum takes numbers separated by commas; got {text!r}.") from None


def _run(arguments: argparse.Namespace) -> None:
    from dpframe.plan import Plan

    plan = Plan.load(arguments.plan)
    output = arguments.output or Path(f"{Path(arguments.plan).stem}-result")
    _prepare(output)
    charged = {"ledger": _ledger(arguments), "dataset": arguments.dataset}
    result = plan.run(_data(arguments.data, arguments.query), progress=sys.stderr.isatty(), **charged)
    try:
        _write(result, output)
    except OSError as error:  # the result is paid for: print it rather than lose it
        print(result.to_json())
        raise ReleaseFailed(f"{output} could not be written ({error}); the result is printed above.") from None
    if arguments.json:
        print(result.to_json())
    else:
        _console().print(result)
        print(f"written to {output}/result.json and {output}/arrays.npz")
        if result.charge is not None:
            print(f"charged to data set {result.charge.dataset!r}; note the head: {result.charge.head}")


def _ledger(arguments: argparse.Namespace) -> Ledger | None:
    if arguments.ledger is not None:
        return opened(arguments.ledger, arguments.key_file)
    if arguments.key_file is not None:
        raise PlanError(
            "--key-file is the key of a ledger, but no --ledger is given. Nothing was charged, read or drawn."
        )
    return None


def _prepare(output: Path) -> None:
    """Make sure, before anything is charged, that the result can be written and overwrites nothing."""
    if (output / "result.json").exists():
        raise DataError(f"{output}/result.json exists already; a result is never overwritten. Choose another -o DIR.")
    try:
        output.mkdir(parents=True, exist_ok=True)
        probe = output / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise DataError(f"{output} cannot be written to: {error}. Nothing was charged.") from None


def _write(result: Result, output: Path) -> None:
    import numpy as np

    result.to_json(output / "result.json")
    np.savez(output / "arrays.npz", allow_pickle=False, **dict(result))


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """A spinner on a terminal, which tells what is tried."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("simulating") as status:
        yield status.update


def _check(arguments: argparse.Namespace) -> None:
    from dpframe.plan import Plan
    from dpframe.steward import check

    _console().print(check(_data(arguments.data, arguments.query), Plan.load(arguments.plan).rows))


def _data(path: str, sql: str | None) -> Any:
    """What a path names: arrays are mapped into memory, tables are opened by the sources, databases are queried."""
    import numpy as np

    from dpframe.sources.queries import query

    if sql is not None:
        return query(sql, path)
    if Path(path).suffix != ".npy":
        return path
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as an array ({type(error).__name__}).") from None


def _audit(arguments: argparse.Namespace) -> None:
    from dpframe.auditing import audit
    from dpframe.auditing.outcome import as_data, rendered
    from dpframe.plan.steps import release
    from dpframe.spec.rows import NEIGHBORS, Rows

    step = release("release", arguments.mechanism, **dict(map(_parameter, arguments.set)))
    found = []
    for neighbors in [arguments.neighbors] if arguments.neighbors else NEIGHBORS:
        rows = Rows(norm=1.0, neighbors=neighbors, dim=arguments.dim)
        terms = {"epsilon": arguments.epsilon, "delta": arguments.delta, "trials": arguments.trials}
        with _bar(f"{arguments.mechanism}, {neighbors}") as progress:
            found.append(audit(step, rows=rows, progress=progress, **terms))
    if arguments.json:
        print(json.dumps([as_data(each) for each in found], indent=1))
    else:
        _console().print(rendered(found))
    if violated := [each.neighbors for each in found if each.violated]:
        raise PlanError(f"{arguments.mechanism!r} loses more than it claims under {' and '.join(violated)}.")


def _parameter(text: str) -> tuple[str, Any]:
    """'k=2' as a name and a value of the plan file's language; other text stands for itself."""
    import tomllib

    name, equals, value = text.partition("=")
    if not equals:
        raise PlanError(f"--set takes PARAMETER=VALUE; got {text!r}.")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; the data of an audit is made up, so that counts tell nothing of anyone."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _schema(_: argparse.Namespace) -> None:
    from dpframe.plan.json_schema import schema

    print(json.dumps(schema(), indent=1))
