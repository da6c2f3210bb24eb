"""Names of data sets: two that a reader cannot tell apart are not two budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpframe as dp
from dpframe.ledger.names import alike, meant
from tests.support.ledgers import BUDGET, DATA, NAME, kinds, make, plan, tamper

ALIKE = {
    "case": ("Clinic", "cLINIC"),
    "width": ("clinic", "ｃｌｉｎｉｃ"),
    "Cyrillic a": ("data", "d\u0430ta"),
    "Cyrillic capitals": ("HOME", "\u041d\u041e\u041c\u0415"),
    "Cyrillic word in other case": ("HOC", "\u043d\u043e\u0441"),
    "Greek omicron": ("core", "c\u03bfre"),
    "capital and small letters of two scripts": ("Hybrid", "\u041d\u03b3brid"),
    "Cherokee": ("DATA", "\u13a0AT\u13aa"),
    "mathematical letters": ("data", "\U0001d41d\U0001d41a\U0001d42d\U0001d41a"),
    "variation selector": ("data", "data\ufe0f"),
    "Hangul filler": ("data", "da\u3164ta"),
    "grapheme joiner": ("data", "da\u034fta"),
    "Braille blank": ("my data", "my\u2800data"),
    "two spaces": ("my data", "my  data"),
    "no-break space": ("my data", "my\u00a0data"),
    "dash": ("clinic-2026", "clinic\u20132026"),
    "non-breaking hyphen": ("clinic-2026", "clinic\u20112026"),
    "apostrophe": ("o'brien", "o\u2019brien"),
    "lunate sigma": ("clinic", "\u03f2lini\u03f2"),
    "small capital": ("clinic", "\u1d04lini\u1d04"),
    "dotless i": ("clinic", "cl\u0131n\u0131c"),
}
APART = [
    ("wave-1", "wave-l"), ("clinic", "clinics"), ("data-o", "data-0"), ("nu", "vu"), ("café", "cafe"), ("a b", "ab"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "other"), ALIKE.values(), ids=ALIKE)
def test_names_that_look_alike_are_one(name: str, other: str) -> None:
    assert alike(name, other)
    assert alike(other, name)


@pytest.mark.parametrize(("name", "other"), APART)
def test_names_that_can_be_told_apart_are_two(name: str, other: str) -> None:
    assert not alike(name, other)


@pytest.mark.parametrize("other", ["clini\u0441-2026", "clinic\u20132026", "\u0421LINIC-2026", "clinic-2026\ufe0e"])
def test_a_data_set_that_could_be_taken_for_another_is_refused_with_both_names(ledger: dp.Ledger, other: str) -> None:
    before = ledger.head
    with pytest.raises(dp.LedgerError, match=f"has a data set '{NAME}' already, and") as caught:
        ledger.add(other, budget=BUDGET, neighbors="add-remove")
    assert repr(other) in str(caught.value)
    assert ascii(other) in str(caught.value)  # in which it can be told apart
    assert before == ledger.head


@pytest.mark.parametrize("asked", ["clini\u0441-2026", "Clinic-2026", "clinic-2026 ", "clinik-2026", "clinic_2026"])
def test_a_name_that_is_not_there_suggests_the_one_that_was_meant(path: Path, ledger: dp.Ledger, asked: str) -> None:
    ledger.add("another", budget=BUDGET, neighbors="add-remove")
    with pytest.raises(dp.LedgerError, match=rf"Nothing was charged\. Did you mean '{NAME}'\?"):
        plan().run(DATA, ledger=path, dataset=asked)
    assert ["dataset"] == kinds(ledger)


def test_nothing_is_suggested_where_nothing_is_close() -> None:
    assert meant("people", [NAME]) is None
    assert meant(7, [NAME]) is None
    assert meant("people", []) is None


def test_look_alikes_of_an_older_ledger_still_verify_and_can_be_charged(tmp_path: Path) -> None:
    """They were added when only case and width were compared."""
    ledger = make(tmp_path / "budget.db")
    other = "clini\u0441-2026"
    ledger.add("x", budget=BUDGET, neighbors="add-remove")
    last = ledger.history()[-1]
    renamed = ledger.journal.chain.seal(ledger.history()[-2], dataset=other, kind=last.kind, content=last.stored)
    tamper(
        tmp_path / "budget.db",
        f"UPDATE dpframe_ledger SET dataset = '{other}', hash = '{renamed.hash}' WHERE number = {last.number}",
    )
    assert 2 == ledger.verify().datasets
    plan().run(DATA, ledger=ledger, dataset=other)
