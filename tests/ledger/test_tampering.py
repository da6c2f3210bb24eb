"""Whatever is changed, left out, put in or moved in a stored ledger is found; what is cut off is found by a head."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe import losses
from dpframe.ledger import chain, sqlite
from dpframe.ledger.chain import Chain, Entry, canonical
from dpframe.ledger.filters import ACCOUNTANTS
from dpframe.ledger.store import COLUMNS, TABLE
from tests.support.ledgers import BUDGET, DATA, NAME, make, plan, reserve, tamper
from tests.support.mechanisms import Failing, registered

KEY = b"a key of sixteen bytes or more"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry."""
    path = tmp_path_factory.mktemp("ledger") / "budget.db"
    ledger = make(path)
    plan().run(DATA, ledger=path, dataset=NAME)
    ledger.add("other", budget=BUDGET, neighbors="add-remove", accountant="gdp")
    plan().run(DATA, ledger=path, dataset="other")
    with registered(Failing), pytest.raises(dp.ReleaseFailed):
        plan(0.5, dp.release("a", "failing")).run(DATA, ledger=path, dataset=NAME)
    plan().run(DATA, ledger=path, dataset=NAME)
    assert {"created", "dataset", "reserved", "released", "failed"} == {entry.kind for entry in ledger.history()}
    return path


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "copy.db"))


def entries(path: Path) -> list[Entry]:
    with closing(sqlite3.connect(path)) as connection:
        return list(map(Entry.of, connection.execute(f"SELECT {COLUMNS} FROM {TABLE} ORDER BY number")))


def refused(path: Path, **known: Any) -> str:
    """What verify says."""
    with pytest.raises(dp.LedgerError) as caught:
        dp.Ledger.open(path).verify(**known)
    return str(caught.value)


def test_the_original_is_right(original: Path) -> None:
    for entry in entries(original):
        assert dp.Ledger.open(original).verify(head=entry.hash).known


def test_a_changed_value_in_any_column_of_any_row_is_found(copy: Path) -> None:
    tried = 0
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"DROP TRIGGER {TABLE}_update")
        for entry in entries(copy):
            for column in ("dataset", "kind", "body", "previous", "hash"):
                value, update = getattr(entry, column), f"UPDATE {TABLE} SET {column} = ? WHERE number = ?"
                for changed in {_next_character(value), value[:-1], value + " ", "", value.upper()} - {value}:
                    connection.execute(update, (changed, entry.number))
                    refused(copy)
                    tried += 1
                connection.execute(update, (value, entry.number))
            connection.execute(f"UPDATE {TABLE} SET number = 1000 WHERE number = {entry.number}")
            refused(copy)
            connection.execute(f"UPDATE {TABLE} SET number = {entry.number} WHERE number = 1000")
    dp.Ledger.open(copy).verify()
    assert tried > 150


def _next_character(value: str) -> str:
    """The value with one character exchanged: a digit of a sum, a letter of a name."""
    place = next((i for i, character in enumerate(value) if character.isdigit()), 0)
    return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :] if value else "x"


def test_a_blob_or_a_number_in_place_of_text_is_found(original: Path, tmp_path: Path) -> None:
    for value in ("CAST(body AS BLOB)", "X'FF'"):
        copy = Path(shutil.copy(original, tmp_path / "copy.db"))
        tamper(copy, f"UPDATE {TABLE} SET body = {value} WHERE number = 3")
        refused(copy)


def test_a_data_set_that_was_renamed_in_all_its_rows_is_found(copy: Path) -> None:
    tamper(copy, f"UPDATE {TABLE} SET dataset = 'another' WHERE dataset = '{NAME}'")
    assert "was changed" in refused(copy)


def test_a_deleted_row_is_found_wherever_it_is(original: Path, tmp_path: Path) -> None:
    for entry in entries(original)[:-1]:
        copy = Path(shutil.copy(original, tmp_path / "copy.db"))
        tamper(copy, f"DELETE FROM {TABLE} WHERE number = {entry.number}")
        refused(copy)
        renumber = f"UPDATE {TABLE} SET number = number - 1 WHERE number = "
        tamper(copy, *(f"{renumber}{number}" for number in range(entry.number + 1, len(entries(original)) + 1)))
        refused(copy)


def test_two_rows_exchanged_are_found(original: Path, tmp_path: Path) -> None:
    count = len(entries(original))
    for first in range(1, count):
        copy = Path(shutil.copy(original, tmp_path / "copy.db"))
        exchange = [(first, 1000), (first + 1, first), (1000, first + 1)]
        tamper(copy, *(f"UPDATE {TABLE} SET number = {new} WHERE number = {old}" for old, new in exchange))
        refused(copy)


def test_an_inserted_row_is_found_wherever_it_is(original: Path, tmp_path: Path) -> None:
    count = len(entries(original))
    for place in range(1, count + 2):
        copy = Path(shutil.copy(original, tmp_path / "copy.db"))
        move = (
            f"UPDATE {TABLE} SET number = number + 1 WHERE number = {number}" for number in range(count, place - 1, -1)
        )
        inserted = f"INSERT INTO {TABLE} SELECT {place}, dataset, kind, body, previous, hash FROM {TABLE} WHERE hash = "
        tamper(copy, *move, inserted + f"'{entries(original)[3].hash}'")
        refused(copy)


def test_missing_entries_at_the_end_are_found_by_a_known_head(original: Path, tmp_path: Path) -> None:
    head = entries(original)[-1].hash
    for kept in range(1, len(entries(original))):
        copy = Path(shutil.copy(original, tmp_path / "copy.db"))
        tamper(copy, f"DELETE FROM {TABLE} WHERE number > {kept}")
        assert not dp.Ledger.open(copy).verify().known  # nothing tells without a head
        assert "entries are missing from the end" in refused(copy, head=head)


def test_a_head_that_is_no_text_is_refused(original: Path) -> None:
    with pytest.raises(dp.LedgerError, match="head must be the hash of an entry, a text; got a int"):
        dp.Ledger.open(original).verify(head=123)  # type: ignore[arg-type]


def test_an_older_copy_is_found_by_the_head_of_a_run_made_since(copy: Path, tmp_path: Path) -> None:
    older = Path(shutil.copy(copy, tmp_path / "older.db"))
    result = plan(0.1).run(DATA, ledger=copy, dataset=NAME)
    assert result.charge is not None
    assert dp.Ledger.open(copy).verify(head=result.charge.head.upper() + "\n").known
    older.replace(copy)
    assert "this is an older copy" in refused(copy, head=result.charge.head)
    assert not dp.Ledger.open(copy).covers(result)


def test_the_store_itself_refuses_changes(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        for statement in (f"UPDATE {TABLE} SET kind = 'x'", f"DELETE FROM {TABLE}"):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                connection.execute(statement)


def test_a_charge_checks_the_entries_it_builds_on(original: Path, tmp_path: Path) -> None:
    """A changed total, limit or end stops the next run even if nobody verifies."""
    found = entries(original)
    for number in (1, 2, len(found)):  # the ledger's terms, the data set's terms, the end of both
        copy = Path(shutil.copy(original, tmp_path / "copy.db"))
        body = found[number - 1].body.replace('"time"', '"tIme"')
        tamper(copy, f"UPDATE {TABLE} SET body = '{body}' WHERE number = {number}")
        with pytest.raises(dp.LedgerError):
            plan(0.1).run(DATA, ledger=copy, dataset=NAME)
        assert len(found) == len(entries(copy))


def test_a_trigger_that_swallows_entries_is_noticed_before_anything_is_read(copy: Path) -> None:
    tamper(
        copy, f"CREATE TRIGGER evil AFTER INSERT ON {TABLE} BEGIN DELETE FROM {TABLE} WHERE number = NEW.number; END"
    )
    with pytest.raises(dp.LedgerError, match="did not take entry"):
        plan(0.1).run(iter([DATA]), ledger=copy, dataset=NAME)


# -- somebody who computes hashes too ---------------------------------------------------------------------------------


def rewritten(path: Path, number: int, change: dict[str, Any], key: bytes | None = None, **fields: str) -> None:
    """Change the content of an entry, and seal it and all after it anew."""
    sealing, before = Chain(key=key), None
    rows = []
    for entry in entries(path):
        content = {**entry.stored, **(change if entry.number == number else {})}
        kept = {"dataset": entry.dataset, "kind": entry.kind, **(fields if entry.number == number else {})}
        before = sealing.seal(before, content=content, **kept)
        rows.append(before.row)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DROP TRIGGER IF EXISTS {TABLE}_delete")
        connection.execute(f"DELETE FROM {TABLE}")
        connection.executemany(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?)", rows)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (3, {"cost": "0"}),
        (3, {"total": "0"}),
        (3, {"runs": 5}),
        (3, {"modelled": 1}),
        (4, {"modelled": 1}),
        (2, {"modelled": 1}),
        (3, {"epsilon": 3.5}),
        (3, {"losses": {"moment": [{"loss": "Gaussian", "mu": 9.0}]}}),
        (3, {"losses": {"moment": [{"loss": "Nothing"}]}}),
        (4, {"run": "0" * 32}),
        (4, {"total": "0"}),
        (2, {"capacity": "1000"}),
        (2, {"total": "-1"}),
        (2, {"accountant": "pld"}),
        (2, {"budget": {"epsilon": -1.0, "delta": 0.0}}),
    ],
)
def test_sums_limits_and_runs_that_make_no_sense_are_found_even_with_right_hashes(
    copy: Path, number: int, change: dict[str, Any]
) -> None:
    rewritten(copy, number, change)
    assert f"entry {number} is not right" in refused(copy) or "are not those of a data set" in refused(copy)


@pytest.mark.parametrize(
    ("number", "fields"),
    [
        (4, {"kind": "reserved"}),
        (4, {"kind": "wish"}),
        (5, {"dataset": NAME}),
        (3, {"dataset": "none"}),
        (1, {"kind": "x"}),
    ],
)
def test_a_course_of_events_that_cannot_be_is_found_even_with_right_hashes(
    copy: Path, number: int, fields: dict[str, str]
) -> None:
    rewritten(copy, number, {}, None, **fields)
    refused(copy)


def test_a_charge_over_the_budget_is_found_even_with_right_sums_and_hashes(tmp_path: Path) -> None:
    ledger = make(tmp_path / "budget.db")
    reserve(ledger, plan(accountant="zcdp"))
    loss = dp.losses.Gaussian(mu=3.0)
    cost = str(ACCOUNTANTS["zcdp"].cost(loss))
    written = {"moment": [{"loss": "Gaussian", "mu": 3.0}]}
    rewritten(tmp_path / "budget.db", 3, {"losses": written, "cost": cost, "total": cost, "epsilon": 2.9})
    assert "it exceeds the budget of its data set" in refused(tmp_path / "budget.db")


def test_a_ledger_from_a_machine_whose_functions_round_otherwise_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = make(tmp_path / "budget.db")
    pure = plan(0.2, dp.release("spectrum", "laplace-eigenvalues", k=2), budget=dp.Budget(epsilon=0.2))
    pure.run(DATA, ledger=ledger, dataset=NAME)
    rounded = losses._rounded_up
    monkeypatch.setattr(losses, "_rounded_up", lambda value: math.nextafter(rounded(value), math.inf))
    pure.run(DATA, ledger=ledger, dataset=NAME)
    assert 2 == ledger.verify().runs
    monkeypatch.setattr(losses, "_rounded_up", lambda value: rounded(value) * (1 + 1e-6))
    assert "its sums are not those of its losses" in refused(tmp_path / "budget.db")


def test_a_run_charged_twice_is_found_even_with_right_sums_and_hashes(copy: Path) -> None:
    reserve(copy, plan(accountant="zcdp"))
    rewritten(copy, entries(copy)[-1].number, {"run": entries(copy)[2].stored["run"]})
    assert "its run was charged before" in refused(copy)


def test_a_number_left_out_is_found_even_with_right_hashes(copy: Path) -> None:
    last = entries(copy)[-1]
    moved = attrs.evolve(last, number=last.number + 5, hash="")
    sealed = attrs.evolve(moved, hash=Chain()._digest(moved))
    tamper(copy, f"UPDATE {TABLE} SET number = {sealed.number}, hash = '{sealed.hash}' WHERE number = {last.number}")
    assert f"entry {last.number} is missing" in refused(copy)


@pytest.mark.parametrize("blind", [False, True])
def test_an_index_that_hides_entries_is_found(copy: Path, monkeypatch: pytest.MonkeyPatch, blind: bool) -> None:
    """Entries are added while the index is out of the schema, so that a look-up by data set misses them.

    SQLite's own check finds it, and where that is blind, ours does.
    """
    with closing(sqlite3.connect(copy)) as connection, connection:
        row = connection.execute(f"SELECT * FROM sqlite_master WHERE name = '{TABLE}_dataset'").fetchone()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(f"DELETE FROM sqlite_master WHERE name = '{TABLE}_dataset'")
    plan(0.1).run(DATA, ledger=copy, dataset=NAME)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    if blind:
        monkeypatch.setattr(sqlite._SqliteTransaction, "check", lambda _: None)
    assert "the index of the ledger does not find" in refused(copy) if blind else "is damaged" in refused(copy)


def test_an_entry_that_follows_another_one_than_the_last_is_found(copy: Path) -> None:
    last = entries(copy)[-1]
    loose = Chain().seal(None, dataset=last.dataset, kind=last.kind, content=last.stored)
    moved = attrs.evolve(loose, number=last.number, hash="")
    sealed = attrs.evolve(moved, hash=Chain()._digest(moved))
    tamper(
        copy, f"UPDATE {TABLE} SET previous = '{sealed.previous}', hash = '{sealed.hash}' WHERE number = {last.number}"
    )
    assert "does not follow the entry before it" in refused(copy)


def test_all_of_it_written_anew_is_found_by_a_head_or_a_key(copy: Path, tmp_path: Path) -> None:
    head = entries(copy)[-1].hash
    rewritten(copy, 4, {"released": "0" * 64})
    dp.Ledger.open(copy).verify()  # nothing tells without a head or a key
    assert "all of it was written anew" in refused(copy, head=head)
    path = tmp_path / "keyed.db"
    make(path, key=KEY)
    plan().run(DATA, ledger=dp.Ledger.open(path, key=KEY), dataset=NAME)
    rewritten(path, 4, {"released": "0" * 64}, key=b"some other key, of no use")
    with pytest.raises(dp.LedgerError, match="the key is another one"):
        dp.Ledger.open(path, key=KEY).verify()


def test_a_body_with_another_spelling_is_found(copy: Path) -> None:
    found = entries(copy)
    sealing, before = Chain(), None
    for entry in found:
        body = json.dumps(entry.stored) if entry.number == 3 else entry.body
        spelled = attrs.evolve(entry, body=body, previous=chain.START if before is None else before.hash, hash="")
        before = attrs.evolve(spelled, hash=sealing._digest(spelled))
        tamper(
            copy,
            f"UPDATE {TABLE} SET body = '{body}', previous = '{before.previous}', hash = '{before.hash}' "
            f"WHERE number = {entry.number}",
        )
    assert "not in canonical form" in refused(copy)
    assert canonical({"b": 1.5, "a": "é"}) == '{"a":"\\u00e9","b":1.5}'
