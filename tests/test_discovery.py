"""Loading plugins: all or nothing, whatever interrupts it, and no rule on charges is lost on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.registry import Registry
from tests.support.plugins import (
    DATA,
    ROWS,
    Distribution,
    Entry,
    Trace,
    entry,
    found,
    installed,
    plugin,
    write_plugin,
)

GENEROUS = dp.Budget(epsilon=8.0)


def at_most_three(plan: dp.Plan) -> None:
    if plan.spent.epsilon > 3.0:
        raise dp.PlanError("not above epsilon 3")


RULES = entry("z-rules", plugin(dpframe_before_charge=at_most_three))
TRACE = entry("a-trace", plugin(dpframe_mechanisms=lambda: [Trace]))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Registry]:
    """Makes a registry of the given entry points the one that runs use."""

    def use(*entries: Entry) -> Registry:
        made = installed(monkeypatch, *entries)
        monkeypatch.setattr(registry, "_registry", made)
        return made

    return use


def run() -> dp.Result:
    return dp.Plan(rows=ROWS, budget=GENEROUS, steps=[dp.release("trace", "test-trace")]).run(DATA)


def statuses(known: Registry) -> dict[str, str]:
    return {info.name: info.status for info in known.plugins() if info.name != "dpframe"}


def once(error: BaseException, loaded: Any) -> Callable[[], Any]:
    """A function that raises the error the first time it is called."""
    errors = [error]

    def load() -> Any:
        if errors:
            raise errors.pop()
        return loaded

    return load


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), BaseException("a signal handler's own")])
@pytest.mark.parametrize("where", ["import", "hook"])
def test_an_interrupted_look_up_leaves_nothing_and_the_next_one_finds_every_rule(
    known: Callable[..., Registry], error: BaseException, where: str
) -> None:
    broken = once(error, plugin() if where == "import" else [])
    load = broken if where == "import" else lambda: plugin(dpframe_mechanisms=broken)
    seen = known(TRACE, Entry(Distribution("m-interrupted"), load), RULES)
    with pytest.raises(type(error)):
        run()
    with pytest.raises(dp.PlanError, match="not above epsilon 3"):
        run()
    assert {"a-trace": "active", "m-interrupted": "active", "z-rules": "active"} == statuses(seen)


def leaves(*_: Any) -> Any:
    raise SystemExit("gone")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class WrongVersion:
    @property
    def DPFRAME_API(self) -> int:  # noqa: N802
        raise OSError("no version")


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (lambda: plugin(dpframe_mechanisms=leaves), "SystemExit: gone"),
        (once(Mute(), None), "it cannot be imported: Mute"),
        (WrongVersion, "OSError: no version"),
    ],
    ids=["exit in a hook", "no words", "no version"],
)
def test_whatever_a_plugin_raises_concerns_it_alone(
    known: Callable[..., Registry], load: Callable[[], Any], reason: str
) -> None:
    seen = known(TRACE, Entry(Distribution("m-broken"), load), RULES)
    assert {"a-trace": "active", "m-broken": "set aside", "z-rules": "active"} == statuses(seen)
    assert reason in found(seen, "m-broken").reason


def test_damaged_metadata_of_a_distribution_concern_it_alone(known: Callable[..., Registry]) -> None:
    nameless: Any = Distribution(None)  # type: ignore[arg-type]
    seen = known(TRACE, Entry(nameless, plugin, "m-damaged"), RULES)
    assert {"a-trace": "active", "m-damaged": "active", "z-rules": "active"} == statuses(seen)


def test_a_plugin_that_looks_up_names_while_it_is_loaded(known: Callable[..., Registry]) -> None:
    """It sees what is loaded so far, and cannot run a plan past rules that are not loaded yet."""
    told: list[Any] = []

    def load() -> Any:
        told.append([info.name for info in dp.plugins()])
        told.append(registry.mechanism("test-trace"))
        try:
            run()
        except dp.PluginError as error:
            told.append(str(error))
        return plugin()

    seen = known(TRACE, Entry(Distribution("m-curious"), load), RULES)
    assert {"a-trace": "active", "m-curious": "active", "z-rules": "active"} == statuses(seen)
    assert [["dpframe", "a-trace"], Trace] == told[:2]
    assert "plugins are still being loaded" in told[2]
    with pytest.raises(dp.PlanError, match="not above epsilon 3"):
        run()


def test_other_threads_wait_until_all_plugins_are_loaded(known: Callable[..., Registry]) -> None:
    loading, go_on = threading.Event(), threading.Event()

    def load() -> Any:
        loading.set()
        assert go_on.wait(60)
        return plugin()

    seen = known(TRACE, Entry(Distribution("m-slow"), load), RULES)
    views: list[dict[str, str]] = []
    threads = [threading.Thread(target=lambda: views.append(statuses(seen))) for _ in range(4)]
    threads[0].start()
    assert loading.wait(60)
    for thread in threads[1:]:
        thread.start()
    assert [] == views
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert [{"a-trace": "active", "m-slow": "active", "z-rules": "active"}] * 4 == views


def unmarked(plan: dp.Plan) -> None:
    """A rule that pluggy would not call."""


def other_name(plan: dp.Plan) -> None:
    """A rule under another name."""


def rule_without_a_mark() -> Any:
    made = plugin()
    made.dpframe_before_charge = unmarked
    return made


def rule_by_another_name() -> Any:
    made = plugin(DPFRAME_API=2)
    made.house_rule = dp.hookimpl(specname="dpframe_before_charge")(other_name)
    return made


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (lambda: plugin(DPFRAME_API=2, dpframe_before_charge=at_most_three), "interface version 2"),
        (lambda: plugin(dpframe_mechanisms=lambda: 3, dpframe_before_charge=at_most_three), "list of classes"),
        (rule_without_a_mark, "dpframe_before_charge is not marked with @dp.hookimpl"),
        (rule_by_another_name, "interface version 2"),
        (once(ImportError("no files"), None), "no files"),
    ],
    ids=["another interface", "a broken hook", "no mark", "another name", "not found"],
)
def test_no_run_where_a_rule_may_be_lost(
    known: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch, load: Callable[[], Any], reason: str
) -> None:
    entries = [TRACE, Entry(Distribution("house-rules"), load)]
    seen = known(*entries)
    with pytest.raises(dp.PluginError, match=r"(?s)'house-rules' is set aside: .* Nothing was charged") as caught:
        run()
    assert reason in str(caught.value)
    assert "runs are refused" in found(seen, "house-rules").reason
    assert Trace is seen.find("mechanism", "test-trace")  # all else works
    monkeypatch.setenv("DPFRAME_DISABLE_PLUGINS", "house-rules")
    known(*entries)
    assert "trace" in run()


def test_a_plugin_without_rules_that_is_set_aside_stops_no_run(known: Callable[..., Registry]) -> None:
    seen = known(TRACE, entry("m-broken", plugin(DPFRAME_API=2)))
    assert "set aside" == found(seen, "m-broken").status
    assert "trace" in run()


def python(code: str, path: Path) -> list[str]:
    """The lines that a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *filter(None, sys.path)])}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "" == done.stderr
    return done.stdout.split("\n")[:-1]


RUN = """
    import dpframe.plugin as dp
    rows, budget = dp.Rows(norm=1.0, neighbors="replace", dim=2), dp.Budget(epsilon=8.0, delta=1e-6)
    try:
        print(list(dp.Plan(rows=rows, budget=budget, steps=[dp.release("moment", "gaussian")]).run([])))
    except (dp.PluginError, dp.PlanError) as error:
        print(error)
"""
RULE = """
import dpframe.plugin as dp

@dp.hookimpl
def dpframe_before_charge(plan):
    raise dp.PlanError("never")
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (RULE, "never"),
        (f"import numpi\n{RULE}", "plugin 'a-rule' is set aside: it cannot be imported"),
        ("import numpi\n", "['moment']"),
    ],
    ids=["in use", "with a rule", "without one"],
)
def test_the_files_of_a_plugin_that_cannot_be_imported_are_searched_for_a_rule(
    tmp_path: Path, code: str, expected: str
) -> None:
    write_plugin(tmp_path, "a_rule", code)
    (line,) = python(RUN, tmp_path)
    assert line.startswith(expected)


def test_a_plugin_that_makes_the_first_look_up_while_it_is_imported_is_found_whole(tmp_path: Path) -> None:
    write_plugin(tmp_path, "a_rule", f"import dpframe.plugin as dp\nSTEP = dp.release('m', 'gaussian')\n{RULE}")
    assert ["never"] == python("    import a_rule\n" + RUN, tmp_path)


def test_threads_that_import_a_plugin_and_look_up_names_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """One imports a plugin, which looks up names; the other, amid its own look-up, has to wait for that import."""
    events = "import threading\nimporting, looking = threading.Event(), threading.Event()\n"
    (tmp_path / "events.py").write_text(events)
    write_plugin(tmp_path, "a_first", "import events\nevents.importing.wait(60)\nevents.looking.set()\n")
    write_plugin(
        tmp_path,
        "b_rule",
        f"import events\nevents.importing.set()\nevents.looking.wait(60)\n{RULE}\nNAMES = dp.plugins()\n",
    )
    code = """
        import threading
        import events
        import dpframe.plugin as dp
        one = threading.Thread(target=lambda: __import__("b_rule"), daemon=True)
        one.start()
        events.importing.wait(60)
        other = threading.Thread(target=dp.plugins, daemon=True)
        other.start()
        one.join(60)
        other.join(60)
        print(one.is_alive(), other.is_alive())
        if one.is_alive() or other.is_alive():
            raise SystemExit
    """
    assert ["False False", "never"] == python(textwrap.dedent(code) + textwrap.dedent(RUN), tmp_path)
