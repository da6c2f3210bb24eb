"""Many processes on one ledger, in a file and in a PostgreSQL server: never over budget, whoever is killed when."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe.plugin as dp
from dpframe.ledger.filters import ACCOUNTANTS
from tests.support.ledgers import BUDGET, DATA, NAME, kinds, make, plan

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run
FORK = multiprocessing.get_context("fork")
PROCESSES, EACH = 8, 6
EPSILONS = (0.5, 0.6, 0.8)


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
