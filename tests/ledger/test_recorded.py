"""Reservation, outcome and result belong together: rollbacks are told, outcomes follow later, edits are found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.ledger import chain, sqlite
from dpframe.ledger.account import Account
from dpframe.ledger.store import TABLE
from tests.support.faults import at, die, in_a_child
from tests.support.ledgers import DATA, NAME, kinds, make, plan, roll_back
from tests.support.mechanisms import Failing, registered

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run


def during(act: Callable[[], Any]) -> Iterator[Any]:
    """Data in whose middle something happens."""
    yield DATA
    act()
    yield DATA


# -- rollbacks --------------------------------------------------------------------------------------------------------


def test_a_rollback_during_a_run_is_told_and_loses_no_result(target: str) -> None:
    ledger = make(target)
    with pytest.warns(RuntimeWarning, match=r"older copy, during the run: entry 3 is missing.*is forgotten there"):
        result = plan().run(during(lambda: roll_back(target, 2)), ledger=target, dataset=NAME)
    assert (3, 3) == result["moment"].shape
    assert result.charge is not None
    assert "is forgotten there: charge nothing to it" in result.charge.notices[0]
    assert result.charge.head in result.charge.notices[0]
    assert "Notice" in str(result)
    assert [] == kinds(ledger)  # no outcome of a run that is charged nowhere
    assert not ledger.covers(result)
    with pytest.raises(dp.LedgerError, match="entries are missing from the end"):
        ledger.verify(head=result.charge.head)


def test_a_ledger_that_is_gone_at_the_end_of_a_run_is_told(target: str) -> None:
    make(target)

    def act() -> None:
        if target.startswith("postgresql:"):
            import psycopg

            with psycopg.connect(target) as connection:
                connection.execute(f"DROP TABLE {TABLE}")
        else:
            Path(target).unlink()

    with pytest.warns(RuntimeWarning, match=r"there is no ledger.*is forgotten there"):
        result = plan().run(during(act), ledger=target, dataset=NAME)
    assert (3, 3) == result["moment"].shape


def test_a_rollback_that_others_have_written_over_is_told(target: str) -> None:
    ledger = make(target)

    def act() -> None:
        roll_back(target, 2)
        plan(0.1).run(DATA, ledger=target, dataset=NAME)

    with pytest.warns(RuntimeWarning, match="entry 3 is another one"):
        result = plan().run(during(act), ledger=target, dataset=NAME)
    assert not ledger.covers(result)
    assert ["reserved", "released"] == kinds(ledger)
    assert 1 == ledger.verify().runs


def test_an_older_copy_put_in_place_during_a_run_is_told(path: Path, ledger: dp.Ledger, tmp_path: Path) -> None:
    older = Path(shutil.copy(path, tmp_path / "older.db"))

    def act() -> None:
        path.rename(tmp_path / "newer.db")
        older.rename(path)

    with pytest.warns(RuntimeWarning, match="older copy"):
        result = plan().run(during(act), ledger=path, dataset=NAME)
    assert result.charge is not None
    assert result.charge.notices
    with pytest.raises(dp.LedgerError, match="an older copy was put in the place of this one"):
        ledger.record(result)
    (tmp_path / "newer.db").replace(path)
    assert ledger.verify(head=result.charge.head).known
    assert ledger.covers(ledger.record(result))


def test_a_rollback_to_before_the_head_seen_at_opening_is_told(path: Path, ledger: dp.Ledger, tmp_path: Path) -> None:
    """The own reservation is there, but what came before it is not: the file was put together from two."""
    plan(0.1).run(DATA, ledger=path, dataset=NAME)

    def act() -> None:
        seen, own = ledger.history()[3], ledger.history()[4]
        other = ledger.journal.chain.seal(
            ledger.history()[2], dataset=NAME, kind="released", content={**seen.stored, "released": "0" * 64}
        )
        roll_back(str(path), 3)
        with ledger.journal.writing() as transaction:
            transaction.append(other)
            transaction.append(own)

    with pytest.warns(RuntimeWarning, match="entry 4 is another one"):
        plan(0.1).run(during(act), ledger=path, dataset=NAME)


def test_a_rollback_before_the_charge_charges_nothing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(target)
    plan(0.1).run(DATA, ledger=target, dataset=NAME)
    at(Account, "reserve", lambda: roll_back(target, 2))(monkeypatch)
    with pytest.raises(dp.LedgerError, match=r"older copy.*entry 4 is missing\. Nothing was charged\."):
        plan().run(DATA, ledger=target, dataset=NAME)
    assert [] == kinds(ledger)


def test_a_rollback_during_a_run_that_fails_is_told_too(path: Path, ledger: dp.Ledger) -> None:
    with registered(Failing):
        failing = plan(0.5, dp.release("a", "failing"))
        with pytest.raises(dp.ReleaseFailed), pytest.warns(RuntimeWarning, match="older copy"):
            failing.run(during(lambda: roll_back(str(path), 2)), ledger=path, dataset=NAME)


# -- outcomes that are recorded later ---------------------------------------------------------------------------------


def unrecorded(target: str | Path, monkeypatch: pytest.MonkeyPatch, epsilon: float = 0.5) -> dp.Result:
    """The result of a run that lost its ledger at the end."""

    def fail() -> None:
        raise OSError("the network is gone")

    with monkeypatch.context() as planted:
        at(Account, "released", fail)(planted)
        with pytest.warns(RuntimeWarning, match="can be recorded later"):
            return plan(epsilon).run(DATA, ledger=target, dataset=NAME)


def test_an_outcome_is_recorded_later(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make(target)
    unrecorded(target, monkeypatch).to_json(tmp_path / "result.json")
    plan(0.1).run(DATA, ledger=target, dataset=NAME)  # others go on
    loaded = dp.Result.load(tmp_path / "result.json")
    assert loaded.charge is not None
    assert "ledger.record(result)" in loaded.charge.notices[0]
    assert (False, 1) == (ledger.covers(loaded), ledger.verify().unfinished)
    later = ledger.record(loaded)
    assert later.charge is not None
    assert (ledger.head, ()) == (later.charge.head, later.charge.notices)
    assert ["reserved", "reserved", "released", "released"] == kinds(ledger)
    for result in (loaded, later):
        assert ledger.covers(result)
        assert ledger.verify(head=loaded.charge.head, result=result).covered
    assert later == ledger.record(loaded)  # once only
    assert (6, 0) == (ledger.verify().entries, ledger.verify().unfinished)


def test_an_outcome_whose_confirmation_was_lost_is_not_recorded_twice(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("no answer")

    with monkeypatch.context() as planted:
        at(Account, "released", fail, after=True)(planted)
        with pytest.warns(RuntimeWarning, match="no answer"):
            result = plan().run(DATA, ledger=path, dataset=NAME)
    assert ledger.covers(result)
    assert ledger.head == getattr(ledger.record(result).charge, "head", None)
    assert ["reserved", "released"] == kinds(ledger)


@pytest.mark.parametrize("after", [False, True])
def test_a_late_record_killed_while_it_is_written_is_whole_or_not_there(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    result = unrecorded(path, monkeypatch)
    with monkeypatch.context() as planted:
        owner, name = (dp.Ledger, "record") if after else (sqlite._SqliteTransaction, "append")
        at(owner, name, die, after=True)(planted)
        assert in_a_child(lambda: ledger.record(result)) < 0
    assert ["reserved", *(["released"] if after else [])] == kinds(ledger)
    ledger.record(result)
    assert ["reserved", "released"] == kinds(ledger)
    assert ledger.verify(result=result).covered


def test_results_that_cannot_be_recorded_are_told(
    path: Path, ledger: dp.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = unrecorded(path, monkeypatch)
    assert result.charge is not None
    statement = attrs.evolve(result.statement, spent=dp.Budget(epsilon=0.1, delta=1e-6))
    for wrong, message in (
        (plan().run(DATA), "was not charged to a ledger"),
        (attrs.evolve(result, statement=statement), "its statement was changed"),
        (attrs.evolve(result, statement=attrs.evolve(result.statement, plan="0" * 64)), "its plan is another one"),
        (attrs.evolve(result, charge=attrs.evolve(result.charge, run="0" * 32)), "not the reservation of the run"),
        (attrs.evolve(result, charge=attrs.evolve(result.charge, entry=2)), "not the reservation of the run"),
        (attrs.evolve(result, charge=attrs.evolve(result.charge, entry=99)), "not the reservation of the run"),
        (attrs.evolve(result, charge=attrs.evolve(result.charge, head="0" * 64)), "its head is not that of the run"),
    ):
        with pytest.raises(dp.LedgerError, match=message):
            ledger.record(wrong)
    with pytest.raises(dp.LedgerError, match="charged to another ledger"):
        make(tmp_path / "other.db").record(result)
    assert ["reserved"] == kinds(ledger)
    ledger.record(result)
    moved = attrs.evolve(result.record("moment"), value=dp.SymmetricMatrix(np.nextafter(result["moment"], 10.0)))
    with pytest.raises(dp.LedgerError, match="its values are others"):
        ledger.record(attrs.evolve(result, records={"moment": moved}))


LATE_EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "values": lambda content: content["results"]["moment"].update(array=[[123.0] * 3] * 3),
    "noise of a step": lambda content: content["statement"]["lines"][0].update(noise={"diagonal": 1e-3}),
    "a step that failed": lambda content: content.update(failed={"other": "failed."}),
    "signature": lambda content: content["charge"].update(signature="00" * 64),
    "no signature": lambda content: content["charge"].pop("signature"),
    "no hexadecimal digits": lambda content: content["charge"].update(signature="none"),
}


@pytest.mark.parametrize("edit", LATE_EDITS)
def test_what_the_run_did_not_sign_is_not_recorded_later(
    edit: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, file = make(path), tmp_path / "result.json"
    result = unrecorded(path, monkeypatch)
    result.to_json(file)
    content = json.loads(file.read_text())
    LATE_EDITS[edit](content)
    file.write_text(json.dumps(content))
    with pytest.raises(dp.LedgerError, match="are not those that the run signed"):
        ledger.record(dp.Result.load(file))
    assert ["reserved"] == kinds(ledger)
    recorded = ledger.record(result)
    assert recorded.charge is not None
    assert "" == recorded.charge.signature
    assert ledger.covers(result)


def test_what_an_interrupted_run_released_is_recorded_later(path: Path, ledger: dp.Ledger) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    radius = dp.release("radius", "private-quantile", quantile=0.9, high=4.0)
    two = dp.Plan(
        rows=dp.Rows(norm=dp.ref("radius"), neighbors="add-remove", dim=3),
        budget=dp.Budget(epsilon=0.5, delta=1e-6),
        steps=[radius, dp.release("moment", "gaussian")],
    )

    class Interrupted:
        passes = 0

        def __iter__(self) -> Iterator[Any]:
            self.passes += 1
            return iter([DATA]) if self.passes == 1 else during(interrupt)

    with pytest.raises(KeyboardInterrupt) as caught:
        two.run(Interrupted(), ledger=path, dataset=NAME)
    result = getattr(caught.value, "result", None)
    assert isinstance(result, dp.Result)
    assert ["radius"] == list(ledger.record(result))
    assert ["reserved", "failed"] == kinds(ledger)
    assert ledger.covers(result)


def test_a_failed_run_is_not_recorded_as_released(path: Path, ledger: dp.Ledger) -> None:
    with registered(Failing), pytest.raises(dp.ReleaseFailed):
        plan(0.5, dp.release("a", "failing")).run(DATA, ledger=path, dataset=NAME)
    result = plan().run(DATA, ledger=path, dataset=NAME)
    assert result.charge is not None
    reserved = ledger.history()[2]
    claimed = attrs.evolve(result.charge, entry=3, run=reserved.content["run"], head=reserved.hash)
    with pytest.raises(dp.LedgerError, match="recorded as failed"):
        ledger.record(attrs.evolve(result, charge=claimed))


# -- edits ------------------------------------------------------------------------------------------------------------

EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "epsilon spent": lambda content: content["statement"]["spent"].update(epsilon=0.1),
    "delta spent": lambda content: content["statement"]["spent"].update(delta=1e-9),
    "budget": lambda content: content["statement"]["budget"].update(epsilon=0.1),
    "words": lambda content: content["statement"].update(strength="none of your business"),
    "accountant": lambda content: content["statement"].update(accountant="gdp"),
    "relation": lambda content: content["statement"].update(neighbors="replace"),
    "epsilon of a step": lambda content: content["statement"]["lines"][0].update(epsilon_alone=0.1),
    "noise of a step": lambda content: content["statement"]["lines"][0].update(noise={"diagonal": 1e-3}),
    "slack of a step": lambda content: content["statement"]["lines"][0].update(slack=1e-3),
    "epsilon of all runs": lambda content: content["charge"]["spent"].update(epsilon=0.1),
    "budget of the data set": lambda content: content["charge"]["budget"].update(epsilon=30.0),
    "what is left": lambda content: content["charge"]["remaining"].update(epsilon=2.9),
    "caveat": lambda content: content["charge"].update(caveat="nothing to worry about"),
    "slack of all runs": lambda content: content["charge"].update(slack=1e-3),
    "head": lambda content: content["charge"].update(head="0" * 64),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_result_file_is_not_covered(edit: str, path: Path, ledger: dp.Ledger, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    plan().run(DATA, ledger=path, dataset=NAME).to_json(file)
    assert ledger.covers(dp.Result.load(file))
    content = json.loads(file.read_text())
    EDITS[edit](content)
    file.write_text(json.dumps(content))
    edited = dp.Result.load(file)
    assert not ledger.covers(edited)
    with pytest.raises(dp.LedgerError, match="the result is not what"):
        ledger.verify(result=edited)


@pytest.mark.parametrize("entry", [0, -1, 99, 2**63, 10**30, True, "3", None, 3.0])
def test_an_entry_that_cannot_be_is_not_covered(target: str, entry: Any) -> None:
    ledger = make(target)
    result = plan().run(DATA, ledger=target, dataset=NAME)
    assert result.charge is not None
    assert not ledger.covers(attrs.evolve(result, charge=attrs.evolve(result.charge, entry=entry)))


def test_a_result_with_a_released_norm_is_covered(path: Path, ledger: dp.Ledger, tmp_path: Path) -> None:
    """Its noise scales are known only after the run."""
    rows = dp.Rows(norm=dp.ref("radius"), neighbors="add-remove", dim=3)
    steps = [dp.release("radius", "private-quantile", quantile=0.9, high=4.0), dp.release("moment", "gaussian")]
    adaptive = dp.Plan(rows=rows, budget=dp.Budget(epsilon=0.5, delta=1e-6), steps=steps)
    result = adaptive.run(DATA, ledger=path, dataset=NAME)
    result.to_json(tmp_path / "result.json")
    assert ledger.covers(dp.Result.load(tmp_path / "result.json"))


# -- older versions at the same time ----------------------------------------------------------------------------------


def test_a_run_of_an_older_version_during_an_upgrade(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has reserved its loss when the first entry of a newer format is written: it can write no more, and loses
    nothing; the newer version records its outcome."""
    with monkeypatch.context() as older:
        older.setattr(chain, "FORMAT", 1)
        ledger = make(path)

        def act() -> None:
            with monkeypatch.context() as newer:
                newer.setattr(chain, "FORMAT", 2)
                plan(0.1).run(DATA, ledger=path, dataset=NAME)

        with pytest.warns(RuntimeWarning, match=r"entry 5 has ledger format 2.*stands"):
            result = plan().run(during(act), ledger=path, dataset=NAME)
        with pytest.raises(dp.LedgerError, match=r"Nothing was charged\. Install a newer dpframe"):
            plan().run(DATA, ledger=path, dataset=NAME)
    assert [1, 1, 1, 2, 2] == [entry.stored["format"] for entry in ledger.history()]
    ledger.record(result)
    assert (2, 0) == (ledger.verify(result=result).runs, ledger.verify().unfinished)


# -- the same plan again ----------------------------------------------------------------------------------------------


def test_the_same_plan_on_the_same_data_set_gives_a_notice(target: str, tmp_path: Path) -> None:
    ledger = make(target)
    ledger.add("other", budget=dp.Budget(epsilon=1.0, delta=1e-6), neighbors="add-remove")
    notices = []
    for epsilon, dataset in ((0.5, NAME), (0.4, NAME), (0.5, "other"), (0.5, NAME)):
        result = plan(epsilon).run(DATA, ledger=target, dataset=dataset)
        assert result.charge is not None
        notices.append(result.charge.notices)
    assert [(), (), ()] == notices[:3]
    assert "the same plan was charged to this data set before, last in entry 4;" in notices[3][0]
    assert "Notice" in str(result)
    result.to_json(tmp_path / "result.json")
    assert result.charge == dp.Result.load(tmp_path / "result.json").charge
    assert ledger.covers(result)
