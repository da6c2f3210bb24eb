"""The commands ``dpframe ledger …``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpframe.cli.streams import console
from dpframe.errors import DataError, LedgerError
from dpframe.ledger import Ledger

if TYPE_CHECKING:
    from dpframe.run.result import Result


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Declare create, show, history, verify, record and repair."""
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
    verify.add_argument("--result", metavar="FILE", help="a result.json that must be what this ledger recorded")
    record = add("record", _record, "record the outcome of a run that could not be recorded when it ended")
    record.add_argument("result", metavar="RESULT", help="the result.json of the run")
    repair = add("repair", _repair, "declare that the last entry was written with a wrong clock, in the future")
    repair.add_argument("--note", metavar="TEXT", help="what happened, for those who read the history")


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
    from dpframe.ledger.dataset import terms
    from dpframe.ledger.names import check_name
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
    result = None if arguments.result is None else _result(arguments.result)
    _print(opened(arguments.ledger, arguments.key_file).verify(head=arguments.head, result=result), arguments)


def _record(arguments: argparse.Namespace) -> None:
    recorded = opened(arguments.ledger, arguments.key_file).record(_result(arguments.result))
    assert recorded.charge is not None
    if arguments.json:
        print(recorded.charge.to_json())
    else:
        print(f"recorded for data set {recorded.charge.dataset!r}; note the head: {recorded.charge.head}")


def _result(path: str) -> Result:
    from dpframe.run.result import Result

    try:
        return Result.load(path)
    except OSError as error:
        raise DataError(f"the result {path} cannot be read: {error.strerror}. Nothing was changed.") from None


def _repair(arguments: argparse.Namespace) -> None:
    from dpframe.ledger.render import History

    entry = opened(arguments.ledger, arguments.key_file).repair(note=arguments.note)
    _print(History(entries=(entry,)), arguments)


def _print(shown: Any, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(shown.to_json())
    else:
        console().print(shown)
