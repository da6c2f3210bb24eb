"""Plugins: found lazily, checked, and set aside with a reason where they cannot be used."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import dpframe.plugin as dp
from dpframe import registry
from dpframe.discovery import PluginInfo
from dpframe.registry import Registry
from tests.support.plugins import (
    Both,
    Count,
    Distribution,
    Entry,
    Generous,
    Halved,
    Oracle,
    Trace,
    entry,
    found,
    installed,
    plugin,
    write_plugin,
)


def foreign(known: Registry) -> list[type]:
    """The mechanisms that are not the core's own."""
    return [cls for cls in known.all("mechanism") if not cls.__module__.startswith("dpframe.")]


@attrs.frozen(kw_only=True)
class Other(Trace):
    """A mechanism of a good plugin."""

    name = "other"


@attrs.frozen(kw_only=True)
class Third(Trace):
    """A mechanism of another good plugin."""

    name = "third"


class NotAttrs(dp.PostProcessor):
    name = "not-attrs"
    gives = dp.Scalar

    def apply(self) -> dp.Scalar:
        return dp.Scalar(0.0)


@attrs.frozen(kw_only=True)
class Abstract(dp.Mechanism):
    name = "abstract"
    unit = "epsilon"
    gives = dp.Scalar


@attrs.frozen(kw_only=True)
class Nameless(dp.Mechanism):
    unit = "epsilon"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(0.0)


@attrs.frozen(kw_only=True)
class Unnamed(Nameless):
    name = ""


@attrs.frozen(kw_only=True)
class Unitless(dp.Mechanism):
    name = "unitless"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(0.0)


@attrs.frozen(kw_only=True)
class Kindless(dp.PostProcessor):
    name = "kindless"

    def apply(self) -> dp.Scalar:
        return dp.Scalar(0.0)


@attrs.frozen(kw_only=True)
class AnotherPsd(Halved):
    name = "psd"


class AnotherAuto(Generous):
    name = "auto"


def raising(error: BaseException) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load


def failing_hook() -> Any:
    raise RuntimeError("no license")


def misspelled(plam: dp.Plan) -> None:
    """A hook with an argument that there is not."""


BROKEN = [
    pytest.param(raising(ImportError("no module named 'numpi'")), "ImportError: no module named 'numpi'", id="import"),
    pytest.param(raising(SyntaxError("bad")), "SyntaxError: bad", id="syntax"),
    pytest.param(raising(DeprecationWarning("old")), "DeprecationWarning: old", id="warning"),
    pytest.param(raising(SystemExit(3)), "SystemExit: 3", id="exit"),
    pytest.param(lambda: plugin(DPFRAME_API=2), "interface version 2; this dpframe has 1", id="newer interface"),
    pytest.param(lambda: plugin(DPFRAME_API=0), "interface version 0; this dpframe has 1", id="older interface"),
    pytest.param(lambda: plugin(DPFRAME_API="1"), "interface version", id="interface as a word"),
    pytest.param(lambda: plugin(dpframe_mechanisms=failing_hook), "RuntimeError: no license", id="hook raises"),
    pytest.param(lambda: plugin(dpframe_before_charge=misspelled), "plam", id="hook with another argument"),
    pytest.param(
        lambda: plugin(dpframe_mechanisms=lambda: Third), "must return a list of classes", id="class, no list"
    ),
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: None), "returned NoneType", id="nothing"),
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: [Halved]), "is not a mechanism class", id="another role"),
    pytest.param(lambda: plugin(dpframe_statistics=lambda: [int]), "is not a statistic class", id="another class"),
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: [Third()]), "is not a mechanism class", id="instance"),
    pytest.param(
        lambda: plugin(dpframe_mechanisms=lambda: [Abstract]), "Abstract does not define loss, release", id="abstract"
    ),
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: [Nameless]), "Nameless has no name", id="no name"),
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: [Unnamed]), "Unnamed has no name", id="empty name"),
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: [Unitless]), "Unitless does not define unit", id="no unit"),
    pytest.param(
        lambda: plugin(dpframe_postprocessors=lambda: [Kindless]), "Kindless does not define gives", id="no kind"
    ),
    pytest.param(lambda: plugin(dpframe_postprocessors=lambda: [NotAttrs]), "@attrs.frozen", id="no attrs class"),
    pytest.param(
        lambda: plugin(dpframe_mechanisms=lambda: [Other]),
        "the mechanism name 'other' is already provided by a-good 1.0",
        id="name of another plugin",
    ),
    pytest.param(
        lambda: plugin(dpframe_postprocessors=lambda: [AnotherPsd]),
        "the postprocessor name 'psd' is already provided by dpframe ",
        id="name of the core",
    ),
    pytest.param(
        lambda: plugin(dpframe_mechanisms=lambda: [Trace, Trace]), "'test-trace' is already provided", id="name twice"
    ),
    pytest.param(lambda: plugin(dpframe_accountants=lambda: [AnotherAuto]), "'auto'", id="reserved name"),
]


@pytest.mark.parametrize(("load", "reason"), BROKEN)
def test_a_broken_plugin_is_set_aside(monkeypatch: pytest.MonkeyPatch, load: Callable[[], Any], reason: str) -> None:
    known = installed(
        monkeypatch,
        entry("z-good", plugin(dpframe_mechanisms=lambda: [Third])),
        Entry(Distribution("m-broken", "3.2"), load),
        entry("a-good", plugin(dpframe_mechanisms=lambda: [Other])),
    )
    info = found(known, "m-broken")
    assert ("m-broken", "3.2", "set aside", ()) == (info.name, info.version, info.status, info.provides)
    assert reason in info.reason
    assert PluginInfo("a-good", "1.0", "active", ("mechanism other",)) == found(known, "a-good")
    assert PluginInfo("z-good", "1.0", "active", ("mechanism third",)) == found(known, "z-good")
    assert [Other, Third] == foreign(known)
    assert (Other, Third) == (known.find("mechanism", "other"), known.find("mechanism", "third"))
    assert "psd" == known.find("postprocessor", "psd").name  # type: ignore[attr-defined]
    with pytest.raises(dp.PluginError, match=r"Not in use: m-broken \(") as caught:
        known.find("mechanism", "zzz")
    assert reason in str(caught.value)


def test_nothing_of_a_broken_plugin_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def veto() -> None:
        raise AssertionError("called")

    broken = plugin(dpframe_mechanisms=lambda: [Third, Abstract], dpframe_before_charge=veto)
    known = installed(monkeypatch, entry("broken", broken))
    assert [] == foreign(known)
    assert [] == known.hook.dpframe_before_charge.get_hookimpls()


def test_a_name_belongs_to_the_first_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    first = plugin(dpframe_mechanisms=lambda: [Other])
    second = plugin(dpframe_mechanisms=lambda: [Third, Other])
    known = installed(monkeypatch, entry("b", second), entry("a", first))
    assert ["dpframe", "a", "b"] == [info.name for info in known.plugins()]
    assert ["active", "active", "set aside"] == [info.status for info in known.plugins()]
    assert [Other] == foreign(known)


def test_own_plugins_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = plugin(dpframe_mechanisms=lambda: [Other]), plugin(dpframe_mechanisms=lambda: [Other, Third])
    known = installed(monkeypatch, entry("a-thief", theirs), entry("dpframe-gaussian", ours))
    assert ("set aside", "active") == (found(known, "a-thief").status, found(known, "dpframe-gaussian").status)


def test_two_entry_points_of_one_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither takes the other down, and both are told of."""
    seen: list[str] = []
    one = plugin(dpframe_mechanisms=lambda: [Other], dpframe_before_charge=lambda: seen.append("one"))
    two = plugin(dpframe_mechanisms=lambda: [Third], dpframe_before_charge=lambda: seen.append("two"))
    dist = Distribution("a-pair")
    known = installed(monkeypatch, Entry(dist, lambda: one, "one"), Entry(dist, lambda: two, "two"))
    assert [Other, Third] == foreign(known)
    known.hook.dpframe_before_charge(plan=None, losses=())
    assert ["one", "two"] == sorted(seen)
    told = [info for info in known.plugins() if info.name != "dpframe"]
    assert {"active"} == {info.status for info in told}
    assert ["mechanism other", "mechanism third"] == sorted(label for info in told for label in info.provides)


def test_a_stranger_named_like_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    known = installed(monkeypatch, Entry(None, lambda: plugin(dpframe_mechanisms=lambda: [Other]), "dpframe"))
    infos = known.plugins()
    assert "active" == infos[0].status
    assert "postprocessor psd" in infos[0].provides
    assert "psd" == known.find("postprocessor", "psd").name  # type: ignore[attr-defined]


def test_an_entry_point_without_a_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    known = installed(monkeypatch, Entry(None, lambda: plugin(dpframe_mechanisms=lambda: [Other]), "local"))
    assert PluginInfo("local", "unknown", "active", ("mechanism other",)) == found(known, "local")


def test_disabled_plugins_are_not_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPFRAME_DISABLE_PLUGINS", " off , unknown,")
    load = raising(AssertionError("imported"))
    on = entry("on", plugin(dpframe_mechanisms=lambda: [Other]))
    known = installed(monkeypatch, Entry(Distribution("off", "2.0"), load), on)
    assert PluginInfo("off", "2.0", "disabled", (), "named in DPFRAME_DISABLE_PLUGINS") == found(known, "off")
    assert "active" == found(known, "on").status
    with pytest.raises(dp.PluginError, match=r"Not in use: off \(named in DPFRAME_DISABLE_PLUGINS\)"):
        known.find("mechanism", "zzz")


def test_plugins_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []

    def load() -> Any:
        loads.append(1)
        return plugin(dpframe_mechanisms=lambda: [Other])

    known = installed(monkeypatch, Entry(Distribution("once"), load))
    assert [] == loads
    known.load()
    known.load()
    assert (Other, 1) == (known.find("mechanism", "other"), len(loads))


def test_what_is_installed_here() -> None:
    infos = {info.name: info for info in dp.plugins()}
    assert ("active", "active") == (infos["dpframe"].status, infos["dpframe-gaussian"].status)
    names = ("first-order", "dyson", "one-gap", "printed-rates")
    oracles = tuple(f"bound oracle {name}" for name in names)
    mechanisms = ("mechanism gaussian", "mechanism gaussian-folds", "mechanism gaussian-sum")
    assert (*mechanisms, *oracles) == infos["dpframe-gaussian"].provides
    assert {"accountant gdp", "accountant pure", "statistic moment", "postprocessor psd"} <= set(
        infos["dpframe"].provides
    )
    assert "this process" not in infos


def python(code: str, **environment: str) -> list[str]:
    """The lines that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "" == done.stderr
    return done.stdout.split("\n")[:-1]


def test_plugins_are_imported_at_the_first_look_up() -> None:
    code = """
        import sys
        import dpframe.plugin as dp
        rows = dp.Rows(norm=1.0, neighbors="replace")
        print("dpframe_gaussian" in sys.modules)
        dp.plugins()
        print("dpframe_gaussian" in sys.modules)
    """
    assert ["False", "True"] == python(code)


def test_an_installed_broken_plugin(tmp_path: Path) -> None:
    """The whole way, with real distributions: the tool works, and names the broken one."""
    write_plugin(tmp_path, "broken_one", "import numpi\n")
    write_plugin(tmp_path, "silent_one", "raise AssertionError('imported')\n")
    write_plugin(
        tmp_path,
        "good_one",
        "import dpframe.plugin as dp\n\n@dp.hookimpl\ndef dpframe_after_release(record): print(record.name)\n",
    )
    code = """
        import dpframe.plugin as dp
        steps = [dp.release("moment", "gaussian")]
        rows, budget = dp.Rows(norm=1.0, neighbors="replace", dim=2), dp.Budget(epsilon=1.0, delta=1e-6)
        dp.Plan(rows=rows, budget=budget, steps=steps).run([])
        for info in dp.plugins():
            print(info.name, info.version, info.status, info.reason)
    """
    lines = python(code, PYTHONPATH=str(tmp_path), DPFRAME_DISABLE_PLUGINS="silent-one")
    assert "moment" == lines[0]
    assert "broken-one 1.5 set aside it cannot be imported: ModuleNotFoundError: No module named 'numpi'" in lines
    assert "silent-one 1.5 disabled named in DPFRAME_DISABLE_PLUGINS" in lines
    assert "good-one 1.5 active " in lines
    assert any(line.startswith("dpframe-gaussian") and " active" in line for line in lines)


ROLES: dict[str, Any] = {
    "mechanism": Trace,
    "postprocessor": Halved,
    "statistic": Count,
    "accountant": Generous,
    "bound oracle": Oracle,
}


@pytest.mark.parametrize(("role", "cls"), [*ROLES.items(), ("mechanism", Both)], ids=[*ROLES, "recipe"])
def test_register_and_unregister(role: str, cls: Any) -> None:
    known, name = registry._registry, cls.name
    assert cls is dp.register(cls)
    try:
        assert cls is known.find(role, name)
        assert cls in known.all(role)
        assert PluginInfo("this process", "", "active", (f"{role} {name}",)) == dp.plugins()[-1]
        assert cls is dp.register(cls)  # as a notebook cell that is run again
    finally:
        dp.unregister(cls)
    assert cls not in known.all(role)
    assert "this process" not in [info.name for info in dp.plugins()]
    with pytest.raises(dp.PluginError, match=f"named {name!r}"):
        known.find(role, name)
    dp.unregister(cls)  # nothing left to forget


def test_register_as_a_decorator() -> None:
    @dp.register
    @attrs.frozen(kw_only=True)
    class Decorated(Halved):
        name = "test-decorated"

    try:
        assert Decorated is registry.postprocessor("test-decorated")
    finally:
        dp.unregister(Decorated)


def test_register_again_replaces() -> None:
    @attrs.frozen(kw_only=True)
    class Second(Halved):
        name = Halved.name

    dp.register(Halved)
    dp.register(Second)
    try:
        assert Second is registry.postprocessor("test-halved")
        dp.unregister(Halved)  # replaced: no longer known
        assert Second is registry.postprocessor("test-halved")
    finally:
        dp.unregister(Second)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (5, "dp.register takes a class derived from dp.Mechanism, .* got 5"),
        (int, "dp.register takes a class .* got <class 'int'>"),
        (Trace(), r"dp.register takes a class .* got Trace\(\)"),
        (Abstract, "Abstract does not define loss, release"),
        (Nameless, "Nameless has no name"),
        (Unitless, "Unitless does not define unit"),
        (NotAttrs, "NotAttrs is not an attrs class"),
        (AnotherPsd, "the postprocessor name 'psd' is already provided by dpframe "),
        (AnotherAuto, "'auto'"),
    ],
    ids=["number", "class", "instance", "abstract", "no name", "no unit", "no attrs class", "taken", "reserved"],
)
def test_register_refuses(cls: Any, message: str) -> None:
    before = dp.plugins()
    try:
        with pytest.raises(dp.PluginError, match=message):
            dp.register(cls)
        assert before == dp.plugins()
    finally:
        dp.unregister(cls)


def test_a_plugin_s_class_is_not_unregistered() -> None:
    cls = registry.mechanism("gaussian")
    dp.unregister(cls)
    assert cls is registry.mechanism("gaussian")
