"""The clock of a ledger: one wrong entry is repaired by another one, and nothing is rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import dpframe as dp
from dpframe.ledger import chain, sqlite
from dpframe.ledger.details import USER
from tests.support.faults import at, die, in_a_child
from tests.support.ledgers import DATA, NAME, kinds, plan, roll_back

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run
FUTURE = "2099-01-01T00:00:00.000000+00:00"


def from_the_future(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """A run on a machine whose clock is wrong."""
    with monkeypatch.context() as planted:
        planted.setattr(chain, "now", lambda: FUTURE)
        plan(0.1).run(DATA, ledger=path, dataset=NAME)


def test_an_entry_from_the_future_is_repaired_by_an_entry(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_the_future(monkeypatch, path)
    before = list(ledger.history())
    with pytest.raises(dp.LedgerError, match=r"Nothing was charged\. If this clock is wrong, set it.*ledger\.repair"):
        plan(0.1).run(DATA, ledger=path, dataset=NAME)
    assert before == list(ledger.history())
    monkeypatch.setenv(USER, "carol")
    entry = ledger.repair(note="battery of the clock")
    assert before == list(ledger.history())[:-1]
    assert ("repaired", "", 4, FUTURE) == (entry.kind, entry.dataset, entry.content["entry"], entry.content["said"])
    assert datetime.fromisoformat(entry.content["time"]) - datetime.now(UTC) < timedelta(minutes=1)
    assert {"note": "battery of the clock", "user": "carol"} == entry.content["details"]
    assert "battery of the clock" in " ".join(str(ledger.history()).split())
    result = plan(0.1).run(DATA, ledger=path, dataset=NAME)
    assert ledger.covers(result)
    assert (2, 0) == (ledger.verify(head=before[-1].hash).runs, ledger.verify().unfinished)
    assert ["reserved", "released", "repaired", "reserved", "released"] == kinds(ledger)


def test_a_clock_that_is_right_is_not_repaired(path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ledger.head
    with pytest.raises(dp.LedgerError, match=r"needs no repair.*Nothing was changed"):
        ledger.repair()
    from_the_future(monkeypatch, path)
    ledger.repair()
    with pytest.raises(dp.LedgerError, match="needs no repair"):
        ledger.repair()
    assert before == ledger.history()[1].hash


def test_a_run_in_progress_survives_a_repair(path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def chunks() -> Iterator[Any]:
        yield DATA
        from_the_future(monkeypatch, path)
        ledger.repair()

    result = plan(0.1).run(chunks(), ledger=path, dataset=NAME)
    assert ["reserved", "reserved", "released", "repaired", "released"] == kinds(ledger)
    assert ledger.covers(result)
    assert 2 == ledger.verify().runs


@pytest.mark.parametrize("after", [False, True])
def test_a_repair_killed_while_it_is_written_is_whole_or_not_there(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    from_the_future(monkeypatch, path)
    with monkeypatch.context() as planted:
        owner, name = (dp.Ledger, "repair") if after else (sqlite._SqliteTransaction, "append")
        at(owner, name, die, after=True)(planted)
        assert in_a_child(ledger.repair) < 0
    assert (["repaired"] if after else []) == kinds(ledger)[2:]
    if not after:
        ledger.repair()
    plan(0.1).run(DATA, ledger=path, dataset=NAME)
    ledger.verify()


def test_time_that_goes_back_without_a_repair_is_found_even_with_right_hashes(path: Path, ledger: dp.Ledger) -> None:
    plan(0.1).run(DATA, ledger=path, dataset=NAME)
    for kind, content, message in (
        ("released", {}, "its time is before that of the last entry"),
        ("repaired", {"entry": 3, "said": FUTURE}, "without need|does not repair"),
    ):
        *_, before, last = ledger.history()
        past = datetime.fromisoformat(last.content["time"]) - timedelta(minutes=6 if kind == "released" else 0)
        body = {**last.stored, **content, "time": past.isoformat(timespec="microseconds")}
        sealed = ledger.journal.chain.seal(before, dataset=last.dataset, kind=kind, content=body)
        roll_back(str(path), before.number)
        with ledger.journal.writing() as transaction:
            transaction.append(sealed)
        with pytest.raises(dp.LedgerError, match=message):
            ledger.verify()
        roll_back(str(path), before.number)
        with ledger.journal.writing() as transaction:
            transaction.append(last)
        ledger.verify()


def test_the_time_of_a_server_is_its_own(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a wrong clock writes the right time."""
    ledger = dp.Ledger.create(url)
    monkeypatch.setattr(chain, "now", lambda: FUTURE)
    ledger.add(NAME, budget=dp.Budget(epsilon=1.0, delta=1e-6), neighbors="add-remove")
    plan(0.1).run(DATA, ledger=url, dataset=NAME)
    for entry in ledger.history():
        assert abs(datetime.fromisoformat(entry.content["time"]) - datetime.now(UTC)) < timedelta(minutes=5)
        assert entry.content["time"].endswith("+00:00")
