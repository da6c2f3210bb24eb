"""A ledger in a PostgreSQL server: what the server refuses, what is wrong with it, and which ledger is meant."""

from __future__ import annotations

import re
import secrets
import traceback
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe.ledger.journal import Journal
from dpframe.ledger.store import TABLE
from tests.support.ledgers import DATA, NAME, kinds, make, plan


def test_the_server_refuses_changes_and_tampering_is_found(url: str) -> None:
    import psycopg

    ledger = make(url)
    plan().run(DATA, ledger=url, dataset=NAME)
    head = ledger.head
    changes: list[Any] = [f"UPDATE {TABLE} SET kind = 'x'", f"DELETE FROM {TABLE}", f"TRUNCATE {TABLE}"]
    for statement in changes:
        with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.RaiseException, match="never changed"):
            connection.execute(statement)
    with psycopg.connect(url) as connection:
        connection.execute(f"ALTER TABLE {TABLE} DISABLE TRIGGER ALL")
        connection.execute(f"DELETE FROM {TABLE} WHERE number = 4")
    assert 3 == ledger.verify().entries
    with pytest.raises(dp.LedgerError, match="entries are missing from the end"):
        ledger.verify(head=head)
    with psycopg.connect(url) as connection:
        connection.execute(f"UPDATE {TABLE} SET body = replace(body, '3.0', '9.0') WHERE number = 2")
    with pytest.raises(dp.LedgerError, match="entry 2"):
        plan().run(DATA, ledger=url, dataset=NAME)


def test_a_user_who_may_only_add_entries_can_run_plans(url: str, postgres: str) -> None:
    import psycopg

    ledger = make(url)
    name = url.rpartition("%3D")[2]
    with psycopg.connect(postgres) as connection:
        for statement in (
            f"CREATE ROLE user_{name} LOGIN",
            f"GRANT USAGE ON SCHEMA {name} TO user_{name}",
            f"GRANT SELECT, INSERT ON {name}.{TABLE} TO user_{name}",
        ):
            connection.execute(statement)
    theirs = url.replace("dpframe@", f"user_{name}@")
    plan().run(DATA, ledger=theirs, dataset=NAME)
    assert ["reserved", "released"] == kinds(ledger)
    with psycopg.connect(postgres) as connection:
        connection.execute(f"REVOKE INSERT ON {name}.{TABLE} FROM user_{name}")
    with pytest.raises(dp.LedgerError, match=r"cannot be written by this user\. Nothing was charged"):
        plan().run(DATA, ledger=theirs, dataset=NAME)


def test_what_is_wrong_with_a_server_is_told_without_its_password(url: str, postgres: str) -> None:
    import psycopg

    from dpframe.ledger.postgres import LOCK, PostgresStore

    with pytest.raises(dp.LedgerError, match="there is no ledger in"):
        plan().run(DATA, ledger=url, dataset=NAME)
    secret = postgres.replace("dpframe@", "dpframe:hunter2@").replace("host=", "host=/nowhere")
    with pytest.raises(dp.LedgerError, match=r"cannot be used \(OperationalError\). Nothing was charged") as caught:
        dp.Ledger.open(secret)
    assert "hunter2" not in str(caught.value) + repr(PostgresStore(url=secret))
    with pytest.raises(dp.LedgerError, match="a database whose URL cannot be read"):
        dp.Ledger.open("postgresql://host:port:port/%%")
    ledger = make(url)
    impatient = dp.Ledger(Journal(PostgresStore(url=url, patience=0.05), ledger.journal.chain))
    with psycopg.connect(postgres) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        with pytest.raises(dp.LedgerError, match=r"is locked by another process.*Nothing was charged"):
            plan().run(DATA, ledger=impatient, dataset=NAME)
    assert [] == kinds(ledger)


@pytest.mark.parametrize("password", ["qx@jzk", "qx/jzk", "1/qx?jzk", "100%jzk", "qx/jz@kv"])
def test_a_password_that_is_not_escaped_is_not_told(password: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(dp.LedgerError, match="whose URL cannot be read") as caught:
        dp.Ledger.open(f"postgresql://alice:{password}@nowhere.invalid/db")
    told = "".join(traceback.format_exception(caught.value, limit=0))
    assert not [part for part in re.split("[@/?%]", password) if part in told and len(part) > 1]


def test_a_url_passed_as_a_path_is_not_told() -> None:
    with pytest.raises(dp.LedgerError, match="a text, not a path") as caught:
        dp.Ledger.open(Path("postgresql://alice:secret@nowhere.invalid/db"))
    assert "secret" not in str(caught.value)


def test_a_connection_lost_at_the_commit_is_told_as_unsure(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    ledger, real = make(url), Journal.append

    def cut(self: Journal, transaction: Any, **named: Any) -> Any:
        entry = real(self, transaction, **named)
        with psycopg.connect(url) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", (transaction.connection.info.backend_pid,))
        return entry

    with monkeypatch.context() as planted:
        planted.setattr(Journal, "append", cut)
        with pytest.raises(dp.LedgerError, match=r"Nothing was read or drawn\. The ledger's history shows whether"):
            plan().run(DATA, ledger=url, dataset=NAME)
    assert [] == kinds(ledger)
    plan().run(DATA, ledger=url, dataset=NAME)


def test_a_connection_lost_while_the_outcome_is_recorded_loses_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    ledger, real = make(url), Journal.append

    def cut(self: Journal, transaction: Any, **named: Any) -> Any:
        entry = real(self, transaction, **named)
        if named["kind"] == "released":
            with psycopg.connect(url) as other:
                other.execute("SELECT pg_terminate_backend(%s, 10000)", (transaction.connection.info.backend_pid,))
        return entry

    with monkeypatch.context() as planted:
        planted.setattr(Journal, "append", cut)
        with pytest.warns(RuntimeWarning, match="could not be recorded in the ledger.*stands"):
            result = plan().run(DATA, ledger=url, dataset=NAME)
    assert ["reserved"] == kinds(ledger)
    ledger.record(result)
    assert 0 == ledger.verify(result=result).unfinished


def test_a_ledger_in_postgres_needs_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(dp.LedgerError, match=r"pip install 'dpframe\[postgres\]'"):
        dp.Ledger.open("postgresql://host/db")


# -- time-outs --------------------------------------------------------------------------------------------------------


def impatient(ledger: dp.Ledger, seconds: float = 0.2) -> dp.Ledger:
    """The same ledger, for somebody who does not wait."""
    store: Any = ledger.journal.store
    return dp.Ledger(Journal(attrs.evolve(store, patience=seconds), ledger.journal.chain))


def test_a_table_that_is_locked_is_not_waited_for_forever(url: str) -> None:
    import psycopg

    ledger = make(url)
    hasty = impatient(ledger)
    with psycopg.connect(url) as other:
        other.execute(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(dp.LedgerError, match=r"is locked by another process.*Nothing was charged\. Try again"):
            _ = hasty.head
        with pytest.raises(dp.LedgerError, match=r"is locked by another process.*Nothing was charged"):
            plan().run(DATA, ledger=hasty, dataset=NAME)
    assert [] == kinds(ledger)


def test_a_server_that_takes_too_long_is_given_up(url: str) -> None:
    with impatient(make(url)).journal.reading() as transaction:
        connection: Any = getattr(transaction, "connection", None)
        assert ("200ms", "400ms") == tuple(
            connection.execute(f"SHOW {name}").fetchone()[0] for name in ("lock_timeout", "statement_timeout")
        )
    with (
        pytest.raises(dp.LedgerError, match=r"did not answer in time\. Nothing was charged\. Try again"),
        impatient(dp.Ledger.open(url)).journal.writing() as transaction,
    ):
        getattr(transaction, "connection", connection).execute("SELECT pg_sleep(60)")


def test_a_client_that_stalls_in_a_transaction_does_not_hold_up_others(url: str) -> None:
    """Its connection is ended by the server, and its lock with it."""
    ledger = make(url)

    def stall() -> None:
        with impatient(ledger).journal.writing() as transaction:
            plan(0.1).run(DATA, ledger=ledger, dataset=NAME)  # waits for the lock, and gets it
            transaction.last()

    with pytest.raises(dp.LedgerError, match="Nothing was charged"):
        stall()
    assert ["reserved", "released"] == kinds(ledger)


def test_a_network_that_goes_silent_is_given_up(url: str) -> None:
    with make(url).journal.reading() as transaction:
        connection: Any = getattr(transaction, "connection", None)
        found = connection.info.get_parameters()
    assert {"connect_timeout": "30", "tcp_user_timeout": "30000"}.items() <= found.items()
    silent = int(found["keepalives_idle"]) + int(found["keepalives_interval"]) * int(found["keepalives_count"])
    assert silent <= 30


# -- which ledger is meant --------------------------------------------------------------------------------------------


def test_the_place_has_port_and_schema_and_no_password(
    postgres: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpframe.ledger.postgres import PostgresStore

    schema, folder = url.rpartition("%3D")[2], postgres.rpartition("host=")[2]
    ledger = make(url.replace("dpframe@", "dpframe:hunter2@"))
    assert f"postgresql://{folder}:5432/postgres, schema {schema}" == ledger.place == dp.Ledger.open(url).place
    assert f"Ledger {ledger.place}" in " ".join(str(ledger).split())
    assert "hunter2" not in str(ledger) + repr(ledger.journal.store) + ledger.to_json()
    remote = "postgresql://alice:hunter2@db.example.org:6543/budgets"
    assert "postgresql://db.example.org:6543/budgets" == PostgresStore(url=remote).place
    monkeypatch.setenv("PGPORT", "6544")
    assert "postgresql://db.example.org:6544/budgets" == PostgresStore(url=remote.replace(":6543", "")).place


@pytest.fixture
def two(postgres: str) -> tuple[str, str, str]:
    """A database of its own, for a team whose ledger is in the schema public: its URL, and a member with a schema."""
    import psycopg

    name = f"team_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        connection.execute(f"CREATE ROLE {name} LOGIN SUPERUSER")
    database = postgres.replace("/postgres?", f"/{name}?")
    with psycopg.connect(database) as connection:
        connection.execute(f"CREATE SCHEMA {name} AUTHORIZATION {name}")
    return database, database.replace("dpframe@", f"{name}@"), name


def test_a_schema_of_the_user_does_not_shadow_the_ledger_of_the_team(two: tuple[str, str, str]) -> None:
    database, theirs, name = two
    ledger = make(database)
    assert ledger.place.endswith("schema public")
    plan(0.1).run(DATA, ledger=theirs, dataset=NAME)  # there is one ledger: the schema of the user has none
    assert ["reserved", "released"] == kinds(ledger)
    own = make(f"{theirs}&options=-csearch_path%3D{name}")
    assert own.place.endswith(f"schema {name}")
    for use in (dp.Ledger.open, lambda url: plan(0.1).run(DATA, ledger=url, dataset=NAME)):
        with pytest.raises(dp.LedgerError, match=rf"several schemas of .*: {name}, public\. Nothing was charged\. Say"):
            use(theirs)
    assert 2 == len(kinds(ledger))
    assert [] == kinds(own)
    plan(0.1).run(DATA, ledger=f"{theirs}&options=-csearch_path%3Dpublic", dataset=NAME)
    assert 4 == len(kinds(ledger))


def test_a_ledger_is_created_only_where_none_is_visible(two: tuple[str, str, str]) -> None:
    database, theirs, _ = two
    make(database)
    with pytest.raises(dp.LedgerError, match="there is a ledger in"):
        dp.Ledger.create(theirs)
    assert dp.Ledger.create(theirs, exist_ok=True).place.endswith("schema public")
    with pytest.raises(dp.LedgerError, match="leads to no schema that exists"):
        dp.Ledger.create(f"{theirs}&options=-csearch_path%3Dnowhere")


def test_an_open_ledger_stays_the_one_that_was_opened(two: tuple[str, str, str]) -> None:
    """Also where another one, or a temporary table, comes first on the search path later."""
    database, theirs, name = two
    make(database)
    opened = dp.Ledger.open(theirs)
    own = make(f"{theirs}&options=-csearch_path%3D{name}")
    plan(0.1).run(DATA, ledger=opened, dataset=NAME)
    assert ["reserved", "released"] == kinds(opened)
    assert [] == kinds(own)
    with opened.journal.writing() as transaction:
        connection: Any = getattr(transaction, "connection", None)
        connection.execute(f"CREATE TEMPORARY TABLE {TABLE} (LIKE public.{TABLE})")
        assert 4 == len(list(transaction.all()))
