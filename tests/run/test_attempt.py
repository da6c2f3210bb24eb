"""What fails after the charge loses nothing that was paid for, and tells nothing that must not be told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import registry
from dpframe.noise import Keystream
from dpframe.run.attempt import NOT_COVERED
from tests.support.derivations import RAISED, Disliking, Doubled, Raising
from tests.support.mechanisms import Failing, GivingUp, NoisySignal, NoisyTrace, ShiftedTrace, registered

DIM = 4
ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=DIM)
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DATA = np.random.default_rng(0).standard_normal((200, DIM)) * 0.5
TRACE = dp.Step(name="trace", action=NoisyTrace())
MOMENT = dp.release("moment", "gaussian")
BAD = dp.Step(name="bad", action=Disliking(of="trace"))
TWICE = dp.Step(name="twice", action=Doubled(of="trace"))


@attrs.frozen(kw_only=True)
class Leaving(Failing):
    """Ends the process, or tries to."""

    name = "test-leaving"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        raise SystemExit(1)


@pytest.fixture(autouse=True)
def _third_parties() -> Iterator[None]:
    with registered(NoisyTrace, ShiftedTrace, NoisySignal, Failing, GivingUp, Leaving, Doubled, Disliking, Raising):
        yield


def plan(*steps: dp.Step) -> dp.Plan:
    return dp.Plan(rows=ROWS, budget=BUDGET, steps=list(steps))


def failed(*steps: dp.Step, data: Any = DATA, **options: Any) -> dp.ReleaseFailed:
    with pytest.raises(dp.ReleaseFailed) as caught:
        plan(*steps).run(data, **options)
    return caught.value


def kept(error: BaseException) -> dp.Result:
    result = getattr(error, "result", None)
    assert isinstance(result, dp.Result)
    return result


EVERYTHING = (
    TRACE,
    BAD,
    dp.Step(name="worse", action=Doubled(of="bad")),
    dp.Step(name="shifted", action=ShiftedTrace(by="bad")),
    MOMENT,
    dp.derive("basis", "top-subspace", of="moment", k=2),
    TWICE,
    dp.Step(name="signal", action=NoisySignal(basis="basis")),
)


def test_a_failing_derivation_returns_all_that_does_not_need_it() -> None:
    """Also what comes after it, in this pass and in the next."""
    error = failed(*EVERYTHING)
    result = kept(error)
    assert dp.DerivationFailed is type(error)
    assert ["trace", "moment", "basis", "twice", "signal"] == list(result)
    assert ("bad", plan(*EVERYTHING).spent, plan(*EVERYTHING).spent) == (error.step, error.spent, result.spent)
    words = f"{float(result['trace'])!r} is not to my liking."
    assert f"step 'bad' failed after the charge: ValueError: {words} The charge of epsilon=1, " in str(error)
    assert str(error).endswith("released is in error.result: 'trace', 'moment', 'basis', 'twice', 'signal'.")
    needs = "not computed, since 'bad' failed."
    assert {"bad": f"failed: ValueError: {words}", "worse": needs, "shifted": needs} == result.failed
    assert [f"Step 'worse': {needs}", f"Step 'shifted': {needs}"] == error.__notes__
    assert (None, None) == (error.__cause__, error.__context__)
    complete = plan(*EVERYTHING[:1], *EVERYTHING[4:]).run(DATA, insecure_seed=3)
    again = kept(failed(*EVERYTHING, insecure_seed=3))
    assert list(complete) == list(again)
    assert again["trace"].dtype == complete["trace"].dtype


def test_what_is_kept_is_a_result_like_any_other(tmp_path: Path) -> None:
    result = kept(failed(*EVERYTHING))
    assert result.private
    assert "Steps without a result" in str(result)
    assert "is not to my liking" in str(result)
    with pytest.raises(KeyError, match="step 'bad' has no result: failed: ValueError"):
        _ = result["bad"]
    result.to_json(tmp_path / "result.json")
    loaded = dp.Result.load(tmp_path / "result.json")
    assert (result.failed, list(result)) == (loaded.failed, list(loaded))
    assert result == loaded
    assert "failed" not in plan(MOMENT).run(DATA).to_dict()


def test_observers_see_what_was_released() -> None:
    seen: list[str] = []

    class Observer:
        @dp.hookimpl
        def dpframe_after_release(self, record: dp.Record) -> None:
            seen.append(record.name)

    with registry.observing(Observer()):
        failed(TRACE, BAD, MOMENT)
    assert ["trace", "moment"] == seen


def test_two_derivations_fail() -> None:
    error = failed(TRACE, BAD, dp.derive("other", "test-disliking", of="trace"))
    assert ("bad", ["trace"]) == (error.step, list(kept(error)))
    (note,) = error.__notes__
    assert note.startswith("Step 'other': failed: ValueError: ")


def test_a_failing_mechanism_ends_the_run_and_keeps_what_was_released_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn after it: each attempt might depend on the data again. Derivations go on."""
    steps = (TRACE, dp.release("broken", "failing"), MOMENT, TWICE)
    streams: list[str] = []
    child = Keystream.child

    def noted(stream: Keystream, name: str) -> Keystream:
        streams.append(name)
        return child(stream, name)

    monkeypatch.setattr(Keystream, "child", noted)
    error = failed(*steps, BAD)
    assert dp.ReleaseFailed is type(error)
    assert ["trace", "broken"] == streams
    assert ["trace", "twice"] == list(kept(error))
    assert "step 'broken' failed after the charge (ValueError). The charge" in str(error)
    assert "details are withheld" in str(error)
    assert str(error).endswith("What was released is in error.result: 'trace', 'twice'.")
    trace = str(int(np.trace(dp.Moment().partial(dp.Chunk(ROWS, DATA))["moment"])))
    assert trace not in repr(kept(error).to_dict()) + str(error) + "".join(error.__notes__)
    assert NOT_COVERED == kept(error).failed["broken"]
    assert "not computed, since 'broken' failed." == kept(error).failed["moment"]
    assert kept(error).failed["bad"].startswith("failed: ValueError: ")
    assert isinstance(failed(*steps, insecure_seed=1).__cause__, ValueError)


@attrs.frozen(kw_only=True)
class Fragile(Failing):
    """Raises an error whose type, or whose text, depends on the data."""

    name = "test-fragile"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        trace = int(np.trace(data.moment))
        raise ZeroDivisionError if trace == 0 else dp.DataError(f"the trace is {trace}")


def test_a_result_says_nothing_of_how_a_mechanism_failed() -> None:
    """A result may be published: it says that the failure is outside of the guarantee, and the error says its type."""
    with registered(Fragile):
        steps = (TRACE, dp.release("fragile", "test-fragile"))
        errors = [failed(*steps, data=data) for data in (DATA, np.zeros_like(DATA))]
    assert [NOT_COVERED] * 2 == [kept(error).failed["fragile"] for error in errors]
    assert all("the guarantee does not cover" in " ".join(str(kept(error)).split()) for error in errors)
    assert "after the charge (DataError). The" in str(errors[0])
    assert "after the charge (ZeroDivisionError). The" in str(errors[1])
    assert "the trace is" not in str(errors[0])


def test_nothing_is_returned_where_nothing_was_released() -> None:
    error = failed(dp.release("broken", "failing"), MOMENT)
    assert None is error.result
    assert str(error).endswith("Nothing of this run is returned.")


def test_a_sampler_that_gives_up_keeps_what_was_released_before() -> None:
    error = failed(TRACE, dp.release("broken", "giving-up"))
    assert isinstance(error, dp.SamplingError)
    assert "the sampler reached its limit of 10 sweeps" == str(error)
    assert ["trace"] == list(kept(error))
    assert ["What was released is in error.result: 'trace'."] == error.__notes__


def test_data_that_fails_in_the_second_pass_does_not_lose_the_first() -> None:
    class Shrinking:
        passes = 0

        def __iter__(self) -> Iterator[NDArray[np.float64]]:
            self.passes += 1
            yield DATA[: 100 // self.passes]

    error = failed(*EVERYTHING[4:6], EVERYTHING[-1], data=Shrinking())
    assert ("signal", ["moment", "basis"]) == (error.step, list(kept(error)))
    assert "another number of rows" in str(error)


def test_a_step_that_ends_the_process_is_a_failure_as_any_other() -> None:
    RAISED.append(SystemExit(1))
    error = failed(TRACE, dp.derive("bad", "test-raising", of="trace"))
    assert "step 'bad' failed after the charge: SystemExit: 1." in str(error)
    assert ["trace"] == list(kept(error))
    error = failed(TRACE, dp.release("gone", "test-leaving"))
    assert "step 'gone' failed after the charge (SystemExit)." in str(error)
    assert ["trace"] == list(kept(error))


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_an_interrupt_carries_what_was_released(interrupt: BaseException) -> None:
    RAISED.append(interrupt)
    steps = (TRACE, dp.derive("slow", "test-raising", of="trace"), MOMENT)
    with pytest.raises(type(interrupt)) as caught:
        plan(*steps).run(DATA)
    result = kept(caught.value)
    assert ["trace"] == list(result)
    assert {"slow", "moment"} == set(result.failed)
    assert "not computed, since the run was interrupted." == result.failed["slow"]
    assert "The run was charged. What was released is in error.result: trace." in caught.value.__notes__


def test_an_interrupt_before_anything_was_released_carries_nothing() -> None:
    def chunks() -> Iterator[NDArray[np.float64]]:
        raise KeyboardInterrupt
        yield DATA

    with pytest.raises(KeyboardInterrupt) as caught:
        plan(MOMENT).run(chunks())
    assert not hasattr(caught.value, "result")
