"""Many processes on one ledger, in a file and in a PostgreSQL server: never over budget, whoever is killed when."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import secrets
import signal
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe.plugin as dp
from dpframe.ledger.filters import ACCOUNTANTS
from dpframe.ledger.journal import Journal
from dpframe.ledger.store import TABLE
from tests.support.ledgers import BUDGET, DATA, NAME, kinds, make, plan

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run
FORK = multiprocessing.get_context("fork")
PROCESSES, EACH = 8, 6
EPSILONS = (0.5, 0.6, 0.8)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest) -> str:
    """Where a ledger may be made: a new file, or a schema of its own in the server."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("path"))
    return schema(request.getfixturevalue("postgres"))


@pytest.fixture
def url(postgres: str) -> str:
    return schema(postgres)


def schema(server: str) -> str:
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(server) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


def at_once(work: Callable[[int], Any], processes: int = PROCESSES) -> list[Any]:
    """What a function gives in so many processes that start together."""
    start, answers = FORK.Barrier(processes), FORK.SimpleQueue()

    def child(number: int) -> None:
        start.wait(60)
        try:
            answers.put((number, work(number)))
        except BaseException as error:
            answers.put((number, error))

    children = [FORK.Process(target=child, args=(number,)) for number in range(processes)]
    for each in children:
        each.start()
    found = dict(answers.get() for _ in children)
    for each in children:
        each.join(60)
        assert 0 == each.exitcode
    return [found[number] for number in range(processes)]


def several_runs(target: str, number: int) -> list[tuple[float, Any, Any]]:
    """Runs of various sizes: the size of each, its charge and result, or what was asked, allowed and offered."""
    found: list[tuple[float, Any, Any]] = []
    for turn in range(EACH):
        epsilon = EPSILONS[(number + turn) % len(EPSILONS)]
        try:
            result = plan(epsilon).run(DATA, ledger=target, dataset=NAME)
            found.append((epsilon, result.charge, result.fingerprint))
        except dp.BudgetExceeded as error:
            found.append((epsilon, None, error.asked))
    return found


def test_eight_processes_on_one_ledger(target: str) -> None:
    ledger = make(target)
    outcomes = [outcome for found in at_once(lambda number: several_runs(target, number)) for outcome in found]
    assert PROCESSES * EACH == len(outcomes)
    charged = {charge.run: mark for _, charge, mark in outcomes if charge is not None}
    history = ledger.history()
    reserved = [entry.content for entry in history if entry.kind == "reserved"]
    released = {entry.content["run"]: entry.content["released"] for entry in history if entry.kind == "released"}
    assert charged == released
    assert set(charged) == {content["run"] for content in reserved}
    assert 0 < len(charged) < PROCESSES * EACH  # some were let through, some were not
    checked = ledger.verify()
    assert (len(charged), 0) == (checked.runs, checked.unfinished)
    accountant = ACCOUNTANTS["zcdp"]
    costs = {epsilon: accountant.total(_losses(epsilon)) for epsilon in EPSILONS}
    assert sum((costs[epsilon] for epsilon, charge, _ in outcomes if charge), Fraction(0)) == ledger.dataset(NAME).total
    assert accountant.epsilon_of(ledger.dataset(NAME).total, BUDGET.delta) <= BUDGET.epsilon
    totals = [Fraction(0), *(Fraction(content["total"]) for content in reserved)]
    for epsilon, charge, asked in outcomes:
        if charge is None:  # each refusal was right: with some total that there was, this plan was over the budget
            assert asked > BUDGET.epsilon
            assert asked in [accountant.epsilon_of(total + costs[epsilon], BUDGET.delta) for total in totals]


def _losses(epsilon: float) -> tuple[dp.PrivacyLoss, ...]:
    return attrs.evolve(plan(epsilon), accountant="zcdp").pricing.all_losses


def test_eight_processes_create_one_ledger_and_one_data_set(target: str) -> None:
    def create(number: int) -> str:
        ledger = dp.Ledger.create(target, exist_ok=True)
        try:
            ledger.add(NAME, budget=BUDGET, neighbors="add-remove")
        except dp.LedgerError as error:
            return str(error)
        return ""

    answers = at_once(create)
    assert 1 == answers.count("")
    assert all(f"has a data set '{NAME}' already" in answer for answer in answers if answer)
    assert 2 == dp.Ledger.open(target).verify().entries


def test_runs_are_the_same_in_either_store(target: str) -> None:
    ledger = make(target, key="a key of at least sixteen bytes")
    ledger.add("診療所 ✓", budget=BUDGET, neighbors="add-remove", accountant="gdp")
    with pytest.raises(dp.LedgerError, match="already"):
        ledger.add(NAME.upper(), budget=BUDGET, neighbors="replace")
    result = plan().run(DATA, ledger=ledger, dataset="診療所 ✓")
    assert ledger.covers(result)
    assert result.charge is not None
    assert result.charge.head == ledger.head
    assert 5 == ledger.verify(head=result.charge.head).entries
    with pytest.raises(dp.LedgerError, match=r"exists already|a ledger in"):
        dp.Ledger.create(target)
    with pytest.raises(dp.LedgerError, match="has a key, and none was given"):
        dp.Ledger.open(target)
    with pytest.raises(dp.LedgerError, match="has no data set"):
        ledger.dataset("clinic")


def test_a_run_killed_after_its_reservation_is_charged_in_either_store(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpframe.run import runner

    ledger = make(target)
    with monkeypatch.context() as planted:
        planted.setattr(runner, "accumulate", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        child = FORK.Process(target=lambda: plan().run(DATA, ledger=target, dataset=NAME))
        child.start()
        child.join(60)
    assert -signal.SIGKILL == child.exitcode
    plan().run(DATA, ledger=target, dataset=NAME)
    assert ["reserved", "reserved", "released"] == kinds(ledger)
    assert (2, 1) == (ledger.verify().runs, ledger.verify().unfinished)


# -- PostgreSQL -------------------------------------------------------------------------------------------------------


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


def test_a_ledger_in_postgres_needs_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(dp.LedgerError, match=r"pip install 'dpframe\[postgres\]'"):
        dp.Ledger.open("postgresql://host/db")


# -- killed at random -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_three_hundred_runs_killed_at_random_moments(path: Path, tmp_path: Path) -> None:
    ledger = make(path)
    small = plan(1e-3)

    def run(number: int) -> None:
        small.run(DATA, ledger=path, dataset=NAME).to_json(tmp_path / f"{number}.json")
        os._exit(0)

    def started(number: int) -> multiprocessing.context.ForkProcess:
        child = FORK.Process(target=run, args=(number,))
        child.start()
        return child

    begin = time.perf_counter()
    started(-1).join()
    usual = time.perf_counter() - begin
    moments, head, runs = random.Random(20261116), ledger.head, 1
    ends = {"before": 0, "reserved": 0, "released": 0}
    for number in range(300):
        child = started(number)
        time.sleep(moments.uniform(0.0, 1.1 * usual))
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        checked = ledger.verify(head=head)
        file = tmp_path / f"{number}.json"
        assert checked.runs - runs in (0, 1)
        assert checked.runs > runs or not file.exists()
        finished = file.exists() and file.read_text().endswith("}\n")
        assert not finished or ledger.covers(dp.Result.load(file))
        ends["before" if checked.runs == runs else "released" if finished else "reserved"] += 1
        head, runs = checked.head, checked.runs
    assert min(ends.values()) > 5, ends  # all parts of a run were hit
    assert ledger.covers(small.run(DATA, ledger=path, dataset=NAME))
