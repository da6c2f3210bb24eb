"""Notes and user names: recorded with the charge, shown in the history, never a way to disturb it."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe.ledger.details import USER, details
from tests.support.ledgers import DATA, NAME, kinds, make, plan


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def test_a_note_and_the_user_are_recorded_with_the_charge(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(target)
    monkeypatch.setenv(USER, "alice")
    plan().run(DATA, ledger=target, dataset=NAME, note="for the annual report")
    reserved, released = ledger.history()[2:]
    assert {"note": "for the annual report", "user": "alice"} == reserved.content["details"]
    assert {} == released.content["details"]
    assert "by alice: for the annual report" in str(ledger.history())
    assert 1 == ledger.verify().runs


def test_a_result_names_nobody(path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be published."""
    monkeypatch.setenv(USER, "alice-in-wonderland")
    result = plan().run(DATA, ledger=path, dataset=NAME, note="my own business")
    for text in (result.to_json(), str(result)):
        assert "wonderland" not in text
        assert "business" not in text
    assert result.charge is not None
    assert "wonderland" not in repr(result.charge)
    page = result.to_html()  # handed to those who ask who did it, and what for
    assert "alice-in-wonderland" in page
    assert "my own business" in page


def test_a_result_knows_when_it_was_charged_and_what_others_spent(path: Path, ledger: dp.Ledger) -> None:
    first, second = (plan(0.5).run(DATA, ledger=path, dataset=NAME).charge for _ in range(2))
    assert first is not None
    assert second is not None
    assert (first.spent, 0.0) == (second.others, first.others and first.others.epsilon)
    assert ledger.history()[4].content["time"] == second.time


def test_a_time_that_was_changed_is_found(path: Path, ledger: dp.Ledger) -> None:
    result = plan().run(DATA, ledger=path, dataset=NAME)
    assert result.charge is not None
    for time, covered in (("", True), ("2020-01-01T00:00:00.000000+00:00", False)):
        assert covered == ledger.covers(attrs.evolve(result, charge=attrs.evolve(result.charge, time=time)))


def test_the_user_is_that_of_the_system_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(USER, raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "bob")
    assert {"user": "bob"} == details()
    monkeypatch.setenv(USER, "")
    assert {} == details()

    def unknown() -> str:
        raise OSError("no such user")

    monkeypatch.delenv(USER)
    monkeypatch.setattr(getpass, "getuser", unknown)
    assert {} == details()


def test_characters_that_cannot_be_printed_become_spaces(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(USER, "ali\x1b[31mce\u202e" + "x" * 500)
    result = plan().run(DATA, ledger=path, dataset=NAME, note="  a\nb\x1b]0;c\x07 \ud800\u202ed\u0000 ")
    found = ledger.history()[2].content["details"]
    assert "a b ]0;c d" == found["note"]
    assert found["user"].startswith("ali [31mce x")
    assert 100 == len(found["user"])
    assert not [each for each in str(ledger.history()) if not each.isprintable() and each != "\n"]
    assert ledger.covers(result)


@pytest.mark.parametrize(
    ("note", "message"),
    [("x" * 501, "at most 500 characters; got 501"), (7, "a text; got a int"), (b"x", "a text; got a bytes")],
)
def test_a_note_that_cannot_be_recorded_is_refused(path: Path, ledger: dp.Ledger, note: Any, message: str) -> None:
    with pytest.raises(dp.PlanError, match=rf"{message}\. Nothing was charged"):
        plan().run(DATA, ledger=path, dataset=NAME, note=note)
    assert [] == kinds(ledger)


def test_a_note_needs_a_ledger() -> None:
    with pytest.raises(dp.PlanError, match=r"needs both.*a note is recorded there\. Nothing was charged"):
        plan().run(DATA, note="for whom?")


def test_fields_that_are_not_known_are_left_alone(path: Path, ledger: dp.Ledger) -> None:
    """A later version may add some: they are covered by the hash, and change nothing."""
    with ledger.journal.writing() as transaction:
        content = {key: value for key, value in ledger.history()[1].content.items() if key != "time"}
        ledger.journal.append(
            transaction, dataset="other", kind="dataset", content=content, details={"later": {"a": [1]}}
        )
    assert 2 == ledger.verify().datasets
    plan().run(DATA, ledger=path, dataset="other")
    assert {"later": {"a": [1]}} == ledger.history("other")[0].content["details"]
    assert "other" in str(ledger.history())
