"""The commands ``dpframe ledger …``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpframe.cli.streams import console
from dpframe.errors import LedgerError
from dpframe.ledger import Ledger


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Declare create, show, history and verify."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Any, text: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=text, description=text)
        subparser.set_defaults(command=command)
        subparser.add_argument("ledger", metavar="DB", help="the ledger: a file or a postgresql:// URL")
        add_key(subparser)
        subparser.add_argument("--json", action="store_true", help="print JSON")
        return subparser

    create = add("create", _create, "add a data set and its budget; creates the ledger if it does not exist")
    create.add_argument("--dataset", metavar="NAME", required=True, help="the name by which runs refer to the data set")
    create.add_argument("--epsilon", type=float, required=True, help="the epsilon that all runs together may spend")
    create.add_argument(
        "--delta", type=float, default=0.0, help="the delta that all runs together may spend (default: 0)"
    )
    create.add_argument(
        "--neighbors", required=True, help="the neighboring relation, add-remove or replace; plans must use the same"
    )
    create.add_argument(
        "--accountant", help="how runs are composed: zcdp, gdp or pure (default: zcdp, or pure if delta is 0)"
    )
    create.add_argument(
        "--contributions", type=int, default=1, help="the largest number of rows of one person (default: 1)"
    )
    create.add_argument(
        "--person",
        metavar="COLUMN",
        help="the column of person ids that enforces --contributions; plans must use the same",
    )
    add("show", _show, "show every data set, and what is left of its budget")
    history = add("history", _history, "list every entry of the ledger")
    history.add_argument("--dataset", metavar="NAME", help="only the entries of one data set")
    verify = add("verify", _verify, "recompute every hash, sum and limit, to detect changes")
    verify.add_argument(
        "--head", metavar="HASH", help="the head (hash of the last entry) noted earlier, to detect missing entries"
    )


def add_key(parser: argparse.ArgumentParser) -> None:
    """Declare --key-file."""
    parser.add_argument(
        "--key-file", metavar="FILE", type=Path, help="a file with the secret key of the ledger, if it has one"
    )


def opened(target: str, key_file: Path | None) -> Ledger:
    """Open the ledger that a command names."""
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
    # checked here, before the file is created
    terms(budget, arguments.neighbors, arguments.accountant, arguments.contributions, arguments.person)
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


def _print(shown: Any, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(shown.to_json())
    else:
        console().print(shown)
