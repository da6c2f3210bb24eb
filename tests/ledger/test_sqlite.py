"""The file of a ledger: full, read-only, locked, damaged, exchanged, forked over; always told, nothing lost."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import threading
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dpframe as dp
from dpframe.ledger import chain
from dpframe.ledger.account import Account
from dpframe.ledger.journal import Journal
from dpframe.ledger.sqlite import SqliteStore
from dpframe.ledger.store import TABLE
from tests.support.faults import at, die, in_a_child
from tests.support.ledgers import DATA, NAME, kinds, make, plan, reserve, tamper

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run
FORK = multiprocessing.get_context("fork")


def test_a_full_disk_charges_nothing_and_loses_nothing(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own limit on pages makes the same error as a disk without room."""
    real = sqlite3.connect

    def small(*arguments: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*arguments, **named)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    head = ledger.head
    with monkeypatch.context() as planted, warnings.catch_warnings(record=True):
        planted.setattr(sqlite3, "connect", small)
        try:
            for _ in range(20):  # until the pages there are have been filled
                plan(1e-3).run(DATA, ledger=path, dataset=NAME)
                head = ledger.head
            pytest.fail("there was room for all of them")
        except dp.LedgerError as error:
            told = str(error)
    assert "the disk is full. Nothing was charged, and nothing of the ledger is lost (SQLITE_FULL)" in told
    assert head == ledger.verify().head
    plan().run(DATA, ledger=path, dataset=NAME)


def test_a_file_that_may_not_grow_charges_nothing_and_loses_nothing(path: Path, ledger: dp.Ledger) -> None:
    head = ledger.head

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))
        with pytest.raises(dp.LedgerError, match="Nothing was"):
            plan().run(DATA, ledger=path, dataset=NAME)

    assert 0 == in_a_child(limited)
    assert head == ledger.verify().head
    plan().run(DATA, ledger=path, dataset=NAME)


def test_a_read_only_file_can_be_read_and_verified_but_not_charged(path: Path, ledger: dp.Ledger) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)

    def unprivileged() -> None:
        if os.geteuid() == 0:
            for folder in path.parents[:4]:
                folder.chmod(0o755)
            path.parent.chmod(0o555)
            os.setuid(65534)
        assert 2 == ledger.verify().entries
        with pytest.raises(dp.LedgerError, match=r"read-only\. Nothing was charged"):
            plan().run(DATA, ledger=path, dataset=NAME)
        with pytest.raises(dp.LedgerError, match="cannot be opened"):
            dp.Ledger.create(path.with_name("other.db"))

    try:
        assert 0 == in_a_child(unprivileged)
    finally:
        path.parent.chmod(0o755)
    assert 2 == ledger.verify().entries


def test_a_locked_database_is_waited_for_and_then_told(path: Path, ledger: dp.Ledger) -> None:
    impatient = dp.Ledger(Journal(SqliteStore(path=path, patience=0.05), ledger.journal.chain))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(dp.LedgerError, match=r"is locked by another process.*Nothing was charged; try again"):
            plan().run(DATA, ledger=impatient, dataset=NAME)
        other.execute("ROLLBACK")
    plan().run(DATA, ledger=impatient, dataset=NAME)


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda path: None, "there is no ledger"),
        (lambda path: path.mkdir(), "is a directory"),
        (os.mkfifo, "is a pipe or a device; a ledger is a file. Nothing was charged"),
        (lambda path: path.write_bytes(b"not a database at all, but long enough" * 50), "not an SQLite file"),
        (lambda path: path.touch(), "holds other tables, or none"),
        (lambda path: tamper(path, "CREATE TABLE other (x)"), "holds other tables, or none"),
    ],
    ids=["nothing", "directory", "pipe", "other file", "empty file", "other database"],
)
def test_what_is_not_a_ledger_is_told(path: Path, make_it: Callable[[Path], None], message: str) -> None:
    make_it(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(dp.LedgerError, match=message):
        plan().run(DATA, ledger=path, dataset=NAME)
    assert before == (path.read_bytes() if path.is_file() else None)


def test_an_emptied_table_is_not_a_ledger(path: Path, ledger: dp.Ledger) -> None:
    tamper(path, f"DELETE FROM {TABLE}")
    with pytest.raises(dp.LedgerError, match="no first entry"):
        ledger.verify()


def test_paths_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (tmp_path / "a", tmp_path / ("x" * 300), tmp_path / "none" / "budget.db"):
        for use in (dp.Ledger.open, dp.Ledger.create):
            with pytest.raises(dp.LedgerError, match=r"cannot be opened|there is no ledger"):
                use(path)


@pytest.mark.parametrize("target", ["", "mysql://host/db", 7, "a\0b"])
def test_targets_that_make_no_sense_are_told(target: Any) -> None:
    with pytest.raises(dp.LedgerError, match="a ledger is"):
        dp.Ledger.open(target)


def test_a_damaged_file_is_told(path: Path, ledger: dp.Ledger) -> None:
    for _ in range(8):
        plan(0.01).run(DATA, ledger=path, dataset=NAME)
    whole = path.read_bytes()
    for start in range(0, len(whole), 4096):
        path.write_bytes(whole[:start] + bytes(4096) + whole[start + 4096 :])
        with pytest.raises(dp.LedgerError):
            ledger.verify()


def test_a_newer_format_is_refused_and_an_older_one_is_read_and_never_rewritten(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan().run(DATA, ledger=path, dataset=NAME)
    old = list(ledger.history())
    monkeypatch.setattr(chain, "FORMAT", 3)
    with pytest.raises(dp.LedgerError, match="format 2, which this version of dpframe can no longer read"):
        plan().run(DATA, ledger=path, dataset=NAME)
    monkeypatch.setitem(chain.UPGRADES, 2, lambda content: content)
    plan().run(DATA, ledger=path, dataset=NAME)
    assert old == list(ledger.history())[: len(old)]
    assert 3 == ledger.history()[-1].content["format"]
    assert 2 == ledger.verify().runs
    monkeypatch.undo()
    for use in (lambda: plan().run(DATA, ledger=path, dataset=NAME), lambda: dp.Ledger.open(path)):
        with pytest.raises(dp.LedgerError, match=r"format 3; this version .* Install a newer dpframe"):
            use()


@pytest.mark.parametrize(("mode", "suffix"), [("WAL", "-wal"), ("DELETE", "-journal")])
def test_what_a_killed_writer_leaves_is_rolled_back(path: Path, ledger: dp.Ledger, mode: str, suffix: str) -> None:
    """Killed in the middle of a transaction, after much of it has gone to the disk."""
    for _ in range(5):
        plan(0.01).run(DATA, ledger=path, dataset=NAME)
    head = ledger.head
    with closing(sqlite3.connect(path)) as connection:
        assert (mode.lower(),) == connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()

    def half() -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA cache_size = 1")  # changed pages go to the disk before the commit
        connection.execute("BEGIN IMMEDIATE")
        for number in range(100, 400):
            row = (number, NAME, "reserved", "x" * 500, "", "")
            connection.execute(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?)", row)
        die()

    assert -signal.SIGKILL == in_a_child(half)
    left = path.with_name(path.name + suffix)
    assert left.stat().st_size > 0
    assert head == ledger.verify().head
    plan(0.01).run(DATA, ledger=path, dataset=NAME)
    assert 6 == ledger.verify().runs


def test_a_source_that_forks_while_it_is_read_harms_nothing(path: Path, ledger: dp.Ledger) -> None:
    def chunks() -> Any:
        assert 0 == in_a_child(gc.collect)
        yield DATA
        assert 0 == in_a_child(lambda: plan(0.01).run(DATA, ledger=path, dataset=NAME))
        yield DATA

    result = plan(0.01).run(chunks(), ledger=path, dataset=NAME)
    assert ledger.covers(result)
    assert ["reserved", "reserved", "released", "released"] == kinds(ledger)
    assert (2, 0) == (ledger.verify().runs, ledger.verify().unfinished)


def test_a_run_in_a_process_forked_during_another_run_loses_no_charge(path: Path, ledger: dp.Ledger) -> None:
    """A forked process does not have its parent's locks, though SQLite there believes so."""
    reading, go_on, begun, finish = (FORK.Event() for _ in range(4))
    third = FORK.Process(target=lambda: _run_and_wait(path, begun, finish))

    def in_the_fork() -> Any:
        yield DATA
        reading.set()
        assert go_on.wait(60)
        plan(0.01).run(DATA, ledger=path, dataset=NAME)

    def chunks() -> Any:
        yield DATA
        forked.start()
        assert reading.wait(60)

    forked = FORK.Process(target=lambda: plan(0.01).run(in_the_fork(), ledger=path, dataset=NAME))
    plan(0.01).run(chunks(), ledger=path, dataset=NAME)
    third.start()
    assert begun.wait(60)
    go_on.set()
    forked.join(60)
    finish.set()
    third.join(60)
    assert (0, 0) == (forked.exitcode, third.exitcode)
    assert (4, 0) == (ledger.verify().runs, ledger.verify().unfinished)


def test_processes_forked_while_threads_charge_can_charge_too(path: Path, ledger: dp.Ledger) -> None:
    impatient = dp.Ledger(Journal(SqliteStore(path=path, patience=5.0), ledger.journal.chain))
    small = plan(0.01, accountant="zcdp")

    def charge(times: int) -> None:
        for _ in range(times):
            reserve(impatient, small)

    threads = [threading.Thread(target=charge, args=(20,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    forked = [FORK.Process(target=charge, args=(2,)) for _ in range(6)]
    for each in forked:
        each.start()
    for thread in threads:
        thread.join()
    for each in forked:
        each.join(60)
    assert [0] * 6 == [each.exitcode for each in forked]
    assert 2 * 20 + 6 * 2 == ledger.verify().runs


def test_a_copy_made_by_the_process_of_a_run_loses_no_charge(path: Path, ledger: dp.Ledger) -> None:
    """Closing a file ends all locks that the process has on it."""
    start, begun, finish = (FORK.Event() for _ in range(3))

    def other() -> None:
        assert start.wait(60)
        plan(0.01).run(DATA, ledger=path, dataset=NAME)
        _run_and_wait(path, begun, finish)

    def chunks() -> Any:
        yield DATA
        shutil.copyfile(path, path.with_name("copy.db"))
        start.set()
        assert begun.wait(60)
        plan(0.01).run(DATA, ledger=path, dataset=NAME)
        finish.set()
        process.join(60)

    process = FORK.Process(target=other)
    process.start()
    plan(0.01).run(chunks(), ledger=path, dataset=NAME)
    assert 0 == process.exitcode
    assert (4, 0) == (ledger.verify().runs, ledger.verify().unfinished)


def _run_and_wait(path: Path, begun: Any, finish: Any) -> None:
    """A run that lasts until it is told to finish."""

    def chunks() -> Any:
        yield DATA
        begun.set()
        assert finish.wait(60)

    plan(0.01).run(chunks(), ledger=path, dataset=NAME)


def test_a_file_exchanged_between_check_and_charge_is_refused(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path.with_name("other.db"), neighbors="replace")
    at(Account, "reserve", lambda: path.with_name("other.db").replace(path))(monkeypatch)
    with pytest.raises(dp.LedgerError, match="was exchanged for another one"):
        plan().run(DATA, ledger=path, dataset=NAME)
    assert [] == kinds(ledger)


def test_terms_changed_between_check_and_charge_are_refused(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By somebody who computes the hash of the entry anew: the last one, which the run has seen, is still the same."""
    plan(0.1).run(DATA, ledger=path, dataset=NAME)
    first, fixed = ledger.history()[:2]
    content = {**fixed.stored, "neighbors": "replace"}
    changed = ledger.journal.chain.seal(first, dataset=fixed.dataset, kind=fixed.kind, content=content)
    update = f"UPDATE {TABLE} SET body = '{changed.body}', hash = '{changed.hash}' WHERE number = 2"
    at(Account, "reserve", lambda: tamper(path, update))(monkeypatch)
    with pytest.raises(dp.LedgerError, match=r"was exchanged for another one.*Nothing was charged"):
        plan().run(DATA, ledger=path, dataset=NAME)
    assert ["reserved", "released"] == kinds(ledger)


def test_a_ledger_can_be_used_after_a_fork(path: Path) -> None:
    ledger = make(path)
    plan(0.01).run(DATA, ledger=ledger, dataset=NAME)
    children = [in_a_child(lambda: plan(0.01).run(DATA, ledger=ledger, dataset=NAME)) for _ in range(2)]
    assert [0, 0] == children
    plan(0.01).run(DATA, ledger=ledger, dataset=NAME)
    assert 4 == ledger.verify().runs
