"""The command ``dpframe``: price, check and run plan files from a shell.

Exit codes: 0 done; 1 refused, nothing was charged; 2 the command line is wrong; 3 failed after the charge, which
stands.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpframe.cli import commands
from dpframe.cli.ledger import add_commands, add_key
from dpframe.errors import DPFrameError, ReleaseFailed

if TYPE_CHECKING:
    from collections.abc import Callable


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
    parser.add_argument(
        "--version", action=commands.Version, nargs=0, help="print the versions of dpframe and its plugins"
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        found = subparsers.add_parser(name, help=text, description=text)
        found.set_defaults(command=command)
        return found

    demo = add("demo", commands.demo, "a real release on embedded data, with its report")
    demo.add_argument("--files", metavar="DIR", type=Path, help="write its data and plan there instead of running it")
    add("plugins", commands.plugins, "what is installed, and what is set aside and why").add_argument(
        "--json", action="store_true"
    )
    new = add("new-plugin", commands.new_plugin, "write a complete package for a mechanism of your own, with its tests")
    new.add_argument("name", metavar="NAME", help="row-lengths makes the package dpframe-row-lengths")
    new.add_argument("--directory", metavar="DIR", type=Path, default=Path(), help="where to make its folder")
    explain = add("explain", commands.explain, "price and forecast of a plan file, before any data is touched")
    explain.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    explain.add_argument("--dim", type=int, help="the number of coordinates")
    explain.add_argument("--spectrum", help="assumed eigenvalues of the second moment, separated by commas")
    explain.add_argument("--simulations", type=int, default=0, help="releases to simulate on made-up data")
    explain.add_argument("--json", action="store_true")
    compare = add(
        "compare", commands.compare, "rank all installed mechanisms for a task, with the promises of a plan file"
    )
    compare.add_argument("plan", metavar="PLAN", help="a plan file with a [scenario]; its steps are not used")
    compare.add_argument("--task", default="subspace", help="subspace, low-rank, eigenvalues or moment")
    compare.add_argument("-k", type=int, help="how many directions or eigenvalues")
    compare.add_argument("--json", action="store_true")
    require = add(
        "require", commands.require, "the smallest epsilon with which a plan meets a target; prints the plan file"
    )
    require.add_argument("plan", metavar="PLAN", help="a plan file with a [scenario]")
    require.add_argument("--angle-degrees", type=float, help="the largest principal angle allowed")
    require.add_argument("--frobenius", type=float, help="the largest error in Frobenius norm")
    require.add_argument("--spectral", type=float, help="the largest error in spectral norm")
    require.add_argument("--captured-variance", type=float, help="the least share of the best subspace's variance")
    require.add_argument("--confidence", type=float, default=0.95, help="the share of releases (default: 0.95)")
    require.add_argument("--step", help="whose result (default: the last one with such an error)")
    _add_run(add("run", commands.run, "run a plan on data: charge, read, draw, derive"))
    add_commands(subparsers.add_parser("ledger", help="the budgets of data sets, and every run that spent from them"))
    check = add(
        "check", commands.check, "how the data fits the plan's promise; NOT PRIVATE, for the steward of the data only"
    )
    check.add_argument("plan", metavar="PLAN", help="a plan file (TOML)")
    check.add_argument("data", metavar="DATA", help="as for run")
    _add_query(check)
    audit = add("audit", commands.audit, "try to prove that a mechanism loses more privacy than it claims")
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
    add("schema", commands.schema, "a JSON schema of plan files, for editors")
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
