"""Faults at every point of a run, and of everything around it: charged or not, always told, nothing lost."""

from __future__ import annotations

import signal
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe import noise
from dpframe.ledger import chain, sqlite
from dpframe.ledger.account import Account
from dpframe.run import runner
from tests.support.derivations import Disliking
from tests.support.faults import at, die, in_a_child
from tests.support.ledgers import DATA, NAME, kinds, plan
from tests.support.mechanisms import Failing, NoisyTrace, registered

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons, where threads run
POINTS: dict[str, tuple[Any, str, bool, list[str]]] = {
    "before the reservation": (Account, "reserve", False, []),
    "while the reservation is written": (sqlite._SqliteTransaction, "append", True, []),
    "after the reservation": (Account, "reserve", True, ["reserved"]),
    "during the reading": (runner, "accumulate", True, ["reserved"]),
    "during the draw": (noise.Keystream, "take", True, ["reserved"]),
    "before the recording": (Account, "released", False, ["reserved"]),
    "after the recording": (Account, "released", True, ["reserved", "released"]),
}
"""Function, before or after it, and what the ledger must show of a run that ends there."""


@pytest.mark.parametrize("point", POINTS)
def test_a_run_killed_at_any_point_leaves_its_charge_once_it_was_reserved(
    point: str, path: Path, ledger: dp.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, after, expected = POINTS[point]
    file = tmp_path / "result.json"
    with monkeypatch.context() as planted:
        at(owner, name, die, after=after)(planted)
        ended = in_a_child(lambda: plan().run(DATA, ledger=path, dataset=NAME).to_json(file))
    assert -signal.SIGKILL == ended
    assert not file.exists()
    assert expected == kinds(ledger)
    assert expected.count("reserved") == ledger.verify().runs
    result = plan().run(DATA, ledger=path, dataset=NAME)  # the next run works
    assert ledger.covers(result)
    assert [*expected, "reserved", "released"] == kinds(ledger)
    assert 1 + len(expected) // 2 + len(expected) % 2 == ledger.verify().runs


class Planted(BaseException):
    """Not an error that anybody catches, as KeyboardInterrupt is not."""


def interrupt() -> None:
    raise Planted


@pytest.mark.parametrize("point", POINTS)
def test_a_run_interrupted_at_any_point_leaves_its_charge_once_it_was_reserved(
    point: str, path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, after, expected = POINTS[point]
    with monkeypatch.context() as planted:
        at(owner, name, interrupt, after=after)(planted)
        with pytest.raises(Planted) as caught:
            plan().run(DATA, ledger=path, dataset=NAME)
    released: dp.Result | None = getattr(caught.value, "result", None)
    assert (point in ("before the recording", "after the recording")) == (released is not None)
    assert released is None or (released.charge is not None and ledger.covers(released) == ("released" in expected))
    assert expected == kinds(ledger)
    ledger.verify()
    plan().run(DATA, ledger=path, dataset=NAME)


def fail() -> None:
    raise OSError("no space left")


@pytest.mark.parametrize("point", ["during the reading", "during the draw"])
def test_what_fails_after_the_reservation_is_recorded_and_the_charge_stands(
    point: str, path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, after, _ = POINTS[point]
    with monkeypatch.context() as planted:
        at(owner, name, fail, after=after)(planted)
        with pytest.raises(dp.ReleaseFailed) as caught:
            plan().run(DATA, ledger=path, dataset=NAME)
    assert ["reserved", "failed"] == kinds(ledger)
    assert "moment" == ledger.history()[-1].content["step"]
    assert [f"Charged to data set '{NAME}', entry 3. Head: {ledger.head}"] == caught.value.__notes__
    assert (1, 0) == (ledger.verify().runs, ledger.verify().unfinished)
    assert ledger.dataset(NAME).spent.epsilon > 0.49


@pytest.mark.parametrize("point", ["before the recording", "after the recording"])
def test_a_result_is_returned_with_a_warning_where_its_outcome_cannot_be_recorded(
    point: str, path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, after, expected = POINTS[point]
    with monkeypatch.context() as planted:
        at(owner, name, fail, after=after)(planted)
        with pytest.warns(RuntimeWarning, match=r"could not be recorded in the ledger \(no space left\).*stands"):
            result = plan().run(DATA, ledger=path, dataset=NAME)
    assert (3, 3) == result["moment"].shape
    assert result.charge is not None
    assert expected == kinds(ledger)
    assert ledger.verify(head=result.charge.head).known


def test_a_failure_whose_outcome_cannot_be_recorded_is_still_that_failure(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(Account, "failed", fail)(monkeypatch)
    with registered(Failing), pytest.raises(dp.ReleaseFailed), pytest.warns(RuntimeWarning, match="recorded"):
        plan(0.5, dp.release("a", "failing")).run(DATA, ledger=path, dataset=NAME)
    assert ["reserved"] == kinds(ledger)


def test_a_veto_comes_before_the_reservation(path: Path, ledger: dp.Ledger) -> None:
    from dpframe import registry

    class Veto:
        @dp.hookimpl
        def dpframe_before_charge(self, plan: dp.Plan) -> None:
            raise dp.PlanError(f"not with {plan.accountant}")

    with registry.observing(Veto()), pytest.raises(dp.PlanError, match="not with zcdp"):
        plan().run(DATA, ledger=path, dataset=NAME)
    assert [] == kinds(ledger)


def test_a_clock_that_went_backwards_charges_nothing(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(chain, "now", lambda: "2020-01-01T00:00:00.000000+00:00")
        with pytest.raises(dp.LedgerError, match="the clock says 2020-01-01T00:00:00"):
            plan().run(DATA, ledger=path, dataset=NAME)
    assert [] == kinds(ledger)
    written = ledger.history()[-1].content["time"]
    slightly = (datetime.fromisoformat(written) - timedelta(minutes=4)).isoformat(timespec="microseconds")
    monkeypatch.setattr(chain, "now", lambda: slightly)
    plan().run(DATA, ledger=path, dataset=NAME)  # clocks of two machines may differ by less than five minutes
    assert ["reserved", "released"] == kinds(ledger)


def test_an_outcome_is_recorded_whatever_the_clock_says(
    path: Path, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([chain.now()])
    monkeypatch.setattr(chain, "now", lambda: next(times))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan().run(DATA, ledger=path, dataset=NAME)
    assert ["reserved", "released"] == kinds(ledger)


def test_the_ledger_does_not_tell_how_long_a_run_took(path: Path, ledger: dp.Ledger) -> None:
    """That may depend on the data: an outcome has the time of the entry before it."""
    plan().run(DATA, ledger=path, dataset=NAME)
    with registered(Failing), pytest.raises(dp.ReleaseFailed):
        plan(0.5, dp.release("a", "failing")).run(DATA, ledger=path, dataset=NAME)
    reserved, released, again, failed = (entry.content["time"] for entry in ledger.history()[2:])
    assert (reserved, again) == (released, failed)
    assert reserved < again


def test_what_a_failed_run_released_is_recorded_and_covered(path: Path, ledger: dp.Ledger) -> None:
    with registered(NoisyTrace, Disliking):
        steps = [dp.release("trace", "noisy-trace"), dp.derive("bad", "test-disliking", of="trace")]
        with pytest.raises(dp.DerivationFailed) as caught:
            plan(0.5, *steps).run(DATA, ledger=path, dataset=NAME)
    result = caught.value.result
    assert result is not None
    assert result.charge is not None
    assert ["reserved", "failed"] == kinds(ledger)
    assert {"step": "bad", "released": result.fingerprint}.items() <= ledger.history()[-1].content.items()
    assert ledger.covers(result)
    assert not ledger.covers(attrs.evolve(result, records={}))
    assert ledger.verify(head=result.charge.head).known
    assert result.fingerprint[:12] in str(ledger.history())
    assert f"Charged to data set '{NAME}', entry 3. Head: {result.charge.head}" in caught.value.__notes__


def test_a_failed_run_that_released_nothing_is_covered_by_nothing(path: Path, ledger: dp.Ledger) -> None:
    with registered(Failing), pytest.raises(dp.ReleaseFailed):
        plan(0.5, dp.release("a", "failing")).run(DATA, ledger=path, dataset=NAME)
    assert "released" not in ledger.history()[-1].content
