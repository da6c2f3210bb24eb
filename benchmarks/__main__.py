"""`python -m benchmarks [--long] [--quick] [section ...]`: measure, print, and write results.json and RESULTS.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module

from rich.console import Console

from benchmarks import machine, report
from benchmarks.progress import progress
from benchmarks.table import Table
from benchmarks.timing import Turns

SECTIONS = {
    "moment": "moment",
    "kernel": "kernel",
    "noise": "noise",
    "utility": "utility",
    "pure": "pure",
    "spiked": "spiked",
    "orbit": "orbit",
    "ledger": "ledger",
    "person": "person",
    "import": "imports",
    "eigen": "eigen",
    "tables": "tables",
    "rounds": "rounds",
    "regression": "regression",
    "coverage": "coverage",
}
"""Modules by the name of their section, in the order in which they run."""

LONG = {"stream": "stream", "sql": "sql", "large": "large", "growth": "growth"}
"""Sections that take many minutes, or gigabytes on disk: run by name, or all of them with --long."""

ALL = {**SECTIONS, **LONG}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure dpframe and its peers.")
    which = f"any of {', '.join(ALL)}; the first {len(SECTIONS)} unless said"
    parser.add_argument("sections", nargs="*", metavar="section", help=which)
    parser.add_argument("--long", action="store_true", help=f"run {', '.join(LONG)}")
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long a section may wait for other processes to be quiet; %(default)g unless said",
    )
    parser.add_argument("--quick", action="store_true", help="fewer seeds in tables; print, and write nothing")
    asked = parser.parse_args()
    if unknown := [name for name in asked.sections if name not in ALL]:
        parser.error(f"there is no section {unknown[0]!r}; there is: {', '.join(ALL)}")
    chosen = [*asked.sections, *(LONG if asked.long else ())] or list(SECTIONS)
    console = Console(width=None if sys.stdout.isatty() else 140)
    known = report.load()
    for name in ALL:
        if name in chosen:
            known[name] = _measured(name, asked.patience, asked.quick, console)
            report.show(known[name], console)
            if not asked.quick:
                report.save({name: known[name] for name in ALL if name in known})


def _measured(name: str, patience: float, quick: bool, console: Console) -> report.Measured:
    measure: Callable[[Turns], Table] = import_module(f"benchmarks.{ALL[name]}").measure
    with progress(name, console) as bar:
        turns = Turns(bar, patience, quick)
        table = measure(turns)
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return report.Measured(
        table=table, machine=machine.facts(), date=date, rounds=turns.rounds, disturbed=turns.disturbed
    )


if __name__ == "__main__":
    main()
