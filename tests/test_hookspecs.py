"""Hooks: each is documented and called, may veto before the charge, and harms nothing after the release."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pluggy
import pytest

import dpframe.plugin as dp
from dpframe import hookspecs, registry
from dpframe.noise import Keystream
from dpframe.sources import Source
from tests.support.plugins import (
    DATA,
    ROWS,
    Both,
    Count,
    Generous,
    Halved,
    Oracle,
    Trace,
    entry,
    found,
    installed,
    plugin,
    pure_plan,
)


@pytest.fixture
def listener() -> Iterator[Callable[..., None]]:
    """Adds plugins with the given hooks to this process for one test."""
    registry.hook()
    manager: pluggy.PluginManager = registry._registry._manager
    added: list[Any] = []

    def add(**hooks: Any) -> None:
        added.append(plugin(**hooks))
        manager.register(added[-1])

    yield add
    for each in added:
        manager.unregister(each)


def gaussian_plan() -> dp.Plan:
    steps = [dp.release("moment", "gaussian"), dp.derive("values", "eigenvalues", of="moment")]
    return dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)


def test_before_charge_sees_the_losses(listener: Callable[..., None]) -> None:
    seen: list[Any] = []
    listener(dpframe_before_charge=lambda plan, losses: seen.append((plan, losses)))
    gaussian_plan().run(DATA)
    bound = gaussian_plan().bind(2)
    assert [(bound, (dp.losses.Gaussian(mu=bound.pricing.levels["moment"]),))] == seen


def test_before_charge_may_veto(listener: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[str] = []
    monkeypatch.setattr(Source, "blocks", lambda source: touched.append("read"))
    monkeypatch.setattr(Keystream, "take", lambda stream, count: touched.append("draw"))

    def veto(plan: dp.Plan) -> None:
        raise PermissionError("not before noon")

    listener(dpframe_before_charge=veto)
    with pytest.raises(PermissionError, match=r"^not before noon$"):
        gaussian_plan().run(DATA)
    assert [] == touched


def test_after_release_sees_each_record(listener: Callable[..., None]) -> None:
    seen: list[dp.Record] = []
    listener(dpframe_after_release=lambda record: seen.extend([record]))
    result = gaussian_plan().run(DATA)
    assert [result.record("moment"), result.record("values")] == seen


def test_errors_after_the_release_become_warnings(listener: Callable[..., None]) -> None:
    seen: list[str] = []

    def fail(record: dp.Record) -> None:
        raise OSError(f"disk full at {record.value.array[0]}")

    quiet = gaussian_plan().run(DATA, insecure_seed=7)
    listener(dpframe_after_release=lambda record: seen.append(record.name))
    listener(dpframe_after_release=fail)
    listener(dpframe_after_release=lambda record: seen.append(record.name))
    with pytest.warns(
        RuntimeWarning, match="a plugin failed after the release of '(moment|values)'.*OSError"
    ) as caught:
        result = gaussian_plan().run(DATA, insecure_seed=7)
    assert quiet["moment"].tobytes() == result["moment"].tobytes()
    assert 2 == len(caught)
    assert not any("disk full" in str(warning.message) for warning in caught)
    assert ["moment", "moment", "values", "values"] == seen  # the others are still told


@pytest.mark.parametrize("error", [SystemExit(0), asyncio.CancelledError(), GeneratorExit(), BaseException("own")])
def test_no_observer_can_lose_a_paid_result(listener: Callable[..., None], error: BaseException) -> None:
    seen: list[str] = []

    def leave(record: dp.Record) -> None:
        raise error

    listener(dpframe_after_release=leave)
    listener(dpframe_after_release=lambda record: seen.append(record.name))
    with pytest.warns(RuntimeWarning, match=f"after the release of .*{type(error).__name__}"):
        assert ["moment", "values"] == list(gaussian_plan().run(DATA))
    assert ["moment", "values"] == seen


def test_an_interrupt_by_the_user_carries_the_result(listener: Callable[..., None]) -> None:
    def interrupt(record: dp.Record) -> None:
        raise KeyboardInterrupt

    listener(dpframe_after_release=interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        gaussian_plan().run(DATA)
    result: Any = getattr(caught.value, "result", None)
    assert isinstance(result, dp.Result)
    assert (["moment", "values"], {}) == (list(result), result.failed)
    assert ["The run was charged. What was released is in error.result: moment, values."] == caught.value.__notes__


HOOKS = [name for name in vars(hookspecs) if name.startswith("dpframe_")]


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_documented(name: str) -> None:
    document = getattr(hookspecs, name).__doc__
    assert document
    assert document.strip().endswith(".")


def test_every_hook_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """One plugin that implements them all, used from a plan to its result."""
    called: set[str] = set()

    def gives(name: str, *classes: type) -> Callable[[], list[type]]:
        def hook() -> list[type]:
            called.add(name)
            return list(classes)

        return hook

    def before(plan: dp.Plan, losses: Sequence[dp.PrivacyLoss]) -> None:
        called.add("dpframe_before_charge")

    def after(record: dp.Record) -> None:
        called.add("dpframe_after_release")

    whole = plugin(
        dpframe_mechanisms=gives("dpframe_mechanisms", Trace, Both),
        dpframe_postprocessors=gives("dpframe_postprocessors", Halved),
        dpframe_statistics=gives("dpframe_statistics", Count),
        dpframe_accountants=gives("dpframe_accountants", Generous),
        dpframe_bound_oracles=gives("dpframe_bound_oracles", Oracle),
        dpframe_before_charge=before,
        dpframe_after_release=after,
    )
    known = installed(monkeypatch, entry("whole", whole))
    monkeypatch.setattr(registry, "_registry", known)
    monkeypatch.setattr(registry, "plugins", known.plugins)
    plan = pure_plan(dp.release("cov", "test-both"), accountant="test-generous")
    assert 0.5 == plan.explain(spectrum=[2.0, 1.0]).bounds("cov")[0].value
    result = plan.run(DATA)
    assert set(HOOKS) == called
    assert "1.0" == result.versions["whole"]
    assert Count is known.find("statistic", "test-count")
    assert found(known, "whole").provides == (
        "mechanism test-trace",
        "mechanism test-both",
        "postprocessor test-halved",
        "statistic test-count",
        "accountant test-generous",
        "bound oracle test-oracle",
    )
