"""A verification takes long and holds up nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe.ledger import store
from dpframe.ledger.chain import Chain, Entry
from dpframe.ledger.journal import Journal
from tests.support.faults import in_a_child
from tests.support.ledgers import DATA, NAME, kinds, make, plan

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run


@pytest.mark.parametrize("elsewhere", [False, True], ids=["the same process", "another process"])
def test_runs_are_charged_while_a_ledger_is_verified(
    target: str, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    ledger = make(target)
    plan(0.1).run(DATA, ledger=ledger, dataset=NAME)
    before: Any = ledger.journal.store
    hasty = dp.Ledger(Journal(attrs.evolve(before, patience=0.5), ledger.journal.chain))
    real = Chain.check
    charged: list[Entry] = []

    def check(self: Chain, entry: Entry) -> Entry:
        if entry.number == 3 and not charged:
            charged.append(entry)
            if elsewhere:
                assert 0 == in_a_child(lambda: plan(0.2).run(DATA, ledger=hasty, dataset=NAME))
            else:
                plan(0.2).run(DATA, ledger=hasty, dataset=NAME)
        return real(self, entry)

    with monkeypatch.context() as planted:
        planted.setattr(Chain, "check", check)
        found = ledger.verify()
    assert charged
    assert (4, 1) == (found.entries, found.runs)  # those of one moment
    assert 4 == len(kinds(ledger))
    assert (6, 2) == (ledger.verify(head=found.head).entries, ledger.verify().runs)


def test_entries_are_read_in_parts_and_none_is_left_out(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(target)
    for _ in range(3):
        plan(0.1).run(DATA, ledger=ledger, dataset=NAME)
    whole = list(ledger.history())
    for size in (1, 3, 8):
        monkeypatch.setattr(store, "BATCH", size)
        assert whole == list(ledger.history())
        assert 8 == ledger.verify(head=whole[-1].hash).entries


def test_a_snapshot_leaves_nothing_behind(path: Path, ledger: dp.Ledger) -> None:
    before = sorted(path.parent.iterdir())
    ledger.verify()
    assert before == sorted(path.parent.iterdir())
