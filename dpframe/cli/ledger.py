"""The commands ``dpframe ledger …``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpframe.errors import LedgerError
from dpframe.ledger import Ledger


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Declare create, show, history and verify."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Any, text: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(command=command)
        found.add_argument("ledger", metavar="DB", help="the path of its file, or a postgresql:// URL")
        add_key(found)
        found.add_argument("--json", action="store_true")
        return found

    create = add("create", _create, "add a data set with its budget; the ledger is created where there is none")
    create.add_argument("--dataset", metavar="NAME", required=True, help="what runs call it")
    create.add_argument("--epsilon", type=float, required=True, help="what all runs together may spend")
    create.add_argument("--delta", type=float, default=0.0, help="its delta (default: 0)")
    create.add_argument("--neighbors", required=True, help="add-remove or replace; plans must say the same")
    create.add_argument("--accountant", help="zcdp, gdp or pure (default: zcdp, or pure where delta is 0)")
    create.add_argument("--contributions", type=int, default=1, help="the most rows of one person (default: 1)")
    create.add_argument(
        "--person", metavar="COLUMN", help="the column of ids that enforces it; plans must say the same"
    )
    add("show", _show, "every data set, and what is left of it")
    history = add("history", _history, "every entry")
    history.add_argument("--dataset", metavar="NAME", help="only those of one data set")
    verify = add("verify", _verify, "recompute every hash, sum and limit")
    verify.add_argument("--head", metavar="HASH", help="a head that you noted: tells whether entries are missing")


def add_key(parser: argparse.ArgumentParser) -> None:
    """Declare --key-file."""
    parser.add_argument("--key-file", metavar="FILE", type=Path, help="a file that holds the ledger's key")


def opened(target: str, key_file: Path | None) -> Ledger:
    """The ledger that a command names."""
    return Ledger.open(target, key=_key(key_file))


def _key(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise LedgerError(f"the key file {path} cannot be read: {error.strerror}. Nothing was charged.") from None


def _create(arguments: argparse.Namespace) -> None:
    from dpframe.ledger.dataset import check_name, terms
    from dpframe.spec.budget import Budget

    budget = Budget(epsilon=arguments.epsilon, delta=arguments.delta)
    check_name(arguments.dataset)
    terms(budget, arguments.neighbors, arguments.accountant, arguments.contributions, arguments.person)  # before a file
    ledger = Ledger.create(arguments.ledger, key=_key(arguments.key_file), exist_ok=True)
    ledger.add(
        arguments.dataset,
        budget=budget,
        neighbors=arguments.neighbors,
        accountant=arguments.accountant,
        contributions=arguments.contributions,
        person=arguments.person,
    )
    _print(ledger, arguments)


def _show(arguments: argparse.Namespace) -> None:
    _print(opened(arguments.ledger, arguments.key_file), arguments)


def _history(arguments: argparse.Namespace) -> None:
    _print(opened(arguments.ledger, arguments.key_file).history(arguments.dataset), arguments)


def _verify(arguments: argparse.Namespace) -> None:
    _print(opened(arguments.ledger, arguments.key_file).verify(head=arguments.head), arguments)


def _print(found: Any, arguments: argparse.Namespace) -> None:
    from rich.console import Console

    if arguments.json:
        print(found.to_json())
    else:
        Console(highlight=False).print(found)
