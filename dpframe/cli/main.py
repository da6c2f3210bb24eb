"""The command ``dpframe``: price, check and run plan files from a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpframe.cli import commands, streams
from dpframe.cli.completion import SHELLS
from dpframe.cli.json_schemas import OUTPUTS
from dpframe.cli.ledger import add_commands, add_key
from dpframe.errors import DPFrameError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    Add = Callable[[str, Callable[[argparse.Namespace], None], str], argparse.ArgumentParser]
    """Declares a command: its name, its function and a text."""


REFUSED, AFTER_THE_CHARGE = 1, 3
EXIT_CODES = {
    0: "success",
    REFUSED: "refused, or failed before the charge: nothing was charged",
    2: "invalid command line",
    AFTER_THE_CHARGE: "failed at or after the charge, which stands; the message tells what became of the result",
}
DATA = "a .npy, .csv, .tsv or .parquet file (.csv.gz and .tsv.gz too), or a directory of Parquet files"
JSON = "print JSON"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; a user error is one line on standard error, never a traceback."""
    streams.replace_closed()
    streams.accept_all_characters()
    try:
        return _run(_parser().parse_args(argv))
    finally:
        streams.settle()


def _run(arguments: argparse.Namespace) -> int:
    try:
        arguments.command(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except ReleaseFailed as error:
        streams.report(" ".join([str(error), *getattr(error, "__notes__", ())]))
        return AFTER_THE_CHARGE
    except DPFrameError as error:
        streams.report(str(error))
        return REFUSED
    except BrokenPipeError:  # the process that reads our output has exited
        return 0
    except OSError as error:  # such as a full disk; after a charge `run` raises ReleaseFailed for it
        streams.report(f"{error}. Nothing was charged.")
        return REFUSED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpframe",
        description="Release covariances, principal components and spectra under differential privacy.",
        epilog="exit codes:\n" + "\n".join(f"  {code}  {meaning}" for code, meaning in EXIT_CODES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=commands.Version, nargs=0, help="print the versions of dpframe and its plugins"
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        subparser = subparsers.add_parser(name, help=text, description=text)
        subparser.set_defaults(command=command)
        return subparser

    demo = add("demo", commands.demo, "run a release on a built-in data set and print its report")
    demo.add_argument(
        "--files",
        metavar="DIR",
        type=Path,
        help="write the data and the plan of the demo into DIR instead of running it",
    )
    _add_starting(add)
    _add_explain(
        add(
            "explain",
            commands.explain,
            "show the privacy cost of a plan and a forecast of its errors, without reading data",
        )
    )
    compare = add(
        "compare",
        commands.compare,
        "rank the installed mechanisms for a task by forecast error, with the rows and budget of a plan",
    )
    compare.add_argument(
        "plan", metavar="PLAN", help="a plan file with a [scenario] or with columns (--n); its steps are ignored"
    )
    compare.add_argument(
        "--task", default="subspace", help="subspace, low-rank, eigenvalues or moment (default: subspace)"
    )
    compare.add_argument("-k", type=int, help="the number of directions or eigenvalues")
    compare.add_argument(
        "--n", type=int, help="for a plan with columns: the assumed number of rows, without a scenario"
    )
    compare.add_argument("--epsilons", help="several budgets, separated by commas, with the delta of the plan")
    compare.add_argument("--json", action="store_true", help=JSON)
    _add_require(
        add("require", commands.require, "print a plan file with the smallest epsilon that meets one accuracy target")
    )
    _add_run(
        add("run", commands.run, "run a plan on data and write the result; the budget is charged before data is read")
    )
    add_commands(
        subparsers.add_parser(
            "ledger", help="create, show and verify the record of budgets and of the runs that spent them"
        )
    )
    check = add(
        "check",
        commands.check,
        "report how the data fits the plan's public bounds; NOT PRIVATE, only for who may see the raw data",
    )
    check.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    check.add_argument("data", metavar="DATA", help=DATA)
    _add_reading(check)
    audit = add(
        "audit",
        commands.audit,
        "try to prove, from many releases on synthetic neighbors, that a mechanism loses more privacy than claimed",
    )
    audit.add_argument("mechanism", metavar="NAME", help="an installed mechanism or recipe")
    audit.add_argument(
        "--set",
        metavar="PARAMETER=VALUE",
        action="append",
        default=[],
        help="a parameter of the mechanism, as in a plan file; may be repeated",
    )
    audit.add_argument("--epsilon", type=float, default=1.0, help="the epsilon that the mechanism claims (default: 1)")
    audit.add_argument("--delta", type=float, default=1e-2, help="the delta that the mechanism claims (default: 0.01)")
    audit.add_argument(
        "--trials", type=int, default=10_000, help="releases on each of the two data sets (default: 10000)"
    )
    audit.add_argument(
        "--neighbors", choices=["add-remove", "replace"], help="the neighboring relation (default: both, in turn)"
    )
    audit.add_argument("--dim", type=int, default=3, help="the number of coordinates of a row (default: 3)")
    audit.add_argument("--json", action="store_true", help=JSON)
    schema = add("schema", commands.schema, "print a JSON schema: of plan files, for editors, or of a command's output")
    schema.add_argument(
        "output",
        metavar="COMMAND",
        nargs="?",
        choices=OUTPUTS,
        help=f"a command that takes --json, for the schema of what it prints: {', '.join(OUTPUTS)}",
    )
    completion = add("completion", commands.completion, "print a script that completes the words of this command")
    completion.add_argument("shell", choices=SHELLS, help='the shell; for example: eval "$(dpframe completion bash)"')
    completion.set_defaults(parser=_parser)
    return parser


def _add_starting(add: Add) -> None:
    """Declare what one starts with: plugins, new-plugin and init."""
    plugins = add(
        "plugins", commands.plugins, "list the installed plugins, and those that could not be loaded with the reason"
    )
    plugins.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="a mechanism, post-processor or package: show its purpose, parameters, guarantee and an example",
    )
    plugins.add_argument("--json", action="store_true", help=JSON)
    new = add("new-plugin", commands.new_plugin, "write a package for a new mechanism, with tests, as a starting point")
    new.add_argument(
        "name", metavar="NAME", help="the name of the mechanism; row-lengths creates the package dpframe-row-lengths"
    )
    new.add_argument(
        "--directory", metavar="DIR", type=Path, default=Path(), help="where to create the package (default: here)"
    )
    init = add(
        "init",
        commands.init,
        "write a plan to fill in, from the names and types of the columns of DATA alone: no cell is read",
    )
    init.add_argument("data", metavar="DATA", help="a .csv, .tsv or .parquet file, or a directory of Parquet files")
    init.add_argument(
        "-o",
        "--output",
        metavar="PLAN",
        type=Path,
        default=Path("plan.toml"),
        help="the plan file, which must not exist (default: plan.toml)",
    )
    init.add_argument(
        "--header", action="store_true", help="the first line of a CSV file is a header line, whatever it looks like"
    )
    _add_csv(init)


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    explain.add_argument("--dim", type=int, help="the number of coordinates of a row")
    explain.add_argument(
        "--spectrum", help="assumed eigenvalues of the second moment, largest first, separated by commas"
    )
    explain.add_argument(
        "--rows",
        type=int,
        help="for a plan with columns: the assumed number of rows, to forecast each column in its own units",
    )
    explain.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        help="the share of releases that the ± of --rows holds (default: 0.95)",
    )
    explain.add_argument(
        "--simulations",
        type=int,
        default=0,
        help="releases to simulate on synthetic data for the forecast (default: 0)",
    )
    explain.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="also write a page, with forecasts for other budgets under a slider; each takes as long as the first",
    )
    explain.add_argument("--json", action="store_true", help=JSON)


def _add_require(require: argparse.ArgumentParser) -> None:
    require.add_argument(
        "plan", metavar="PLAN", help="a plan file with a [scenario], the assumed data, or with columns (--rows)"
    )
    require.add_argument("--rows", type=int, help="for --mean, --sd and --correlation: the assumed number of rows")
    for name, words in (("mean", "mean"), ("sd", "standard deviation")):
        require.add_argument(
            f"--{name}",
            metavar="COLUMN=NUMBER",
            action="append",
            default=[],
            help=f"target: the largest error of the {words} of a column, in its units; may be repeated",
        )
    require.add_argument("--correlation", type=float, help="target: the largest error of a correlation of two columns")
    require.add_argument(
        "--angle-degrees", type=float, help="target: the largest principal angle to the exact subspace"
    )
    require.add_argument("--frobenius", type=float, help="target: the largest error in Frobenius norm")
    require.add_argument("--spectral", type=float, help="target: the largest error in spectral norm")
    require.add_argument(
        "--captured-variance",
        type=float,
        help="target: the variance captured, as a fraction of what the best subspace captures, at least",
    )
    require.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        help="the probability with which a release meets the target (default: 0.95)",
    )
    require.add_argument("--step", help="the step whose error is limited (default: the last step with such an error)")


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    run.add_argument("data", metavar="DATA", help=DATA)
    _add_reading(run)
    run.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="the directory for the result (default: the name of PLAN without its ending, and -result)",
    )
    run.add_argument(
        "--dry-run",
        action="store_true",
        help="check plan, names and types of the data, ledger and output, and stop before the charge: nothing is "
        "charged, read or drawn",
    )
    run.add_argument("--json", action="store_true", help="print the result as JSON instead of the report")
    run.add_argument(
        "--ledger",
        metavar="DB",
        help="charge the run to this ledger, the record of budgets: a file or a postgresql:// URL",
    )
    run.add_argument("--dataset", metavar="NAME", help="the data set of the ledger to charge")
    run.add_argument("--note", metavar="TEXT", help="why the run is made; the ledger records it with the charge")
    add_key(run)


def _add_reading(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--query", metavar="SQL", help="a SELECT statement whose rows are the data; DATA is then a DuckDB database file"
    )
    _add_csv(command)


def _add_csv(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--csv-separator", metavar="CHARACTER", help='the character between the cells of a CSV file, such as ";" or tab'
    )
    command.add_argument("--csv-decimal", metavar="MARK", help='the decimal mark of a CSV file, "." or ","')
    command.add_argument(
        "--csv-encoding",
        metavar="NAME",
        help="the encoding of a CSV file: utf-8 (default), utf-16, latin-1, cp1252 or others",
    )
