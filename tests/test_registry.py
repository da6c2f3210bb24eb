"""Plugins: found lazily, checked, and set aside with a reason where they cannot be used."""

import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pluggy
import pytest

import dpframe.plugin as dp
from dpframe import hookspecs, registry
from dpframe.lattice import RADIUS, IntArray
from dpframe.noise import Keystream
from dpframe.registry import PluginInfo, Registry
from dpframe.sources import Source

ROWS = dp.Rows(norm=1.0, neighbors="add-remove")
PURE = dp.Budget(epsilon=1.0)
DATA = np.array([[0.6, 0.8], [0.5, 0.0]])


# -- third-party classes ---------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Trace(dp.Mechanism):
    """The trace of the moment, with Laplace noise: one row moves it by its squared length."""

    name = "test-trace"
    unit = "epsilon"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        noisy = int(np.trace(data.moment)) + int(random.laplace(self.scale(level), 1)[0])
        return dp.Scalar(noisy * data.rows.step**2)

    @staticmethod
    def scale(level: float) -> float:
        return float(np.nextafter(RADIUS**2 / level, np.inf))


@attrs.frozen(kw_only=True)
class LaplaceTrace(Trace):
    """The same, stating the tighter loss of a single Laplace variable."""

    name = "test-laplace-trace"

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Laplace(epsilon=level)


@attrs.frozen(kw_only=True)
class Halved(dp.PostProcessor):
    name = "test-halved"
    gives = dp.Scalar

    of: Any = dp.input(dp.Scalar)

    def apply(self) -> dp.Scalar:
        return dp.Scalar(self.of.array / 2)


@attrs.frozen(kw_only=True)
class Count(dp.Statistic):
    name = "test-count"

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        return {"count": dp.Sensitivity(l2_squared=1, l1=1)}

    def partial(self, chunk: dp.Chunk) -> Mapping[str, IntArray]:
        return {"count": np.asarray(len(chunk.values), dtype=np.int64)}


class Generous(dp.Accountant):
    """Doubles what it should say: never the tightest."""

    name = "test-generous"

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Pure)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return 2 * sum(loss.epsilon for loss in losses if isinstance(loss, dp.losses.Pure))

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return 1.0


class Oracle(dp.BoundOracle):
    name = "test-oracle"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        return [dp.Bound(name="test-oracle", value=0.5, norm="absolute", kind="forecast", explicit=True)]


@attrs.frozen(kw_only=True)
class Both(dp.Recipe):
    """Two releases and a result."""

    name = "test-both"
    share: float = 0.5

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        return [
            dp.release(f"{name}.first", "test-trace", weight=weight * self.share),
            dp.release(f"{name}.second", "test-trace", weight=weight * (1 - self.share)),
            dp.derive(name, "test-halved", of=f"{name}.first"),
        ]


@attrs.frozen(kw_only=True)
class Nested(dp.Recipe):
    name = "test-nested"

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        return [
            dp.release(f"{name}.inner", "test-both", weight=weight),
            dp.derive(name, "test-halved", of=f"{name}.inner"),
        ]


PARTS: list[type] = [Trace, LaplaceTrace, Halved, Count, Generous, Oracle, Both, Nested]


@pytest.fixture
def parts() -> Iterator[None]:
    for cls in PARTS:
        dp.register(cls)
    yield
    for cls in PARTS:
        dp.unregister(cls)


# -- installed plugins -----------------------------------------------------------------------------------------------


@attrs.frozen
class Distribution:
    name: str
    version: str = "1.0"


@attrs.frozen
class Entry:
    """What importlib.metadata knows of a plugin: a distribution and something to import."""

    dist: Distribution | None
    load: Callable[[], Any]
    name: str = "plugin"


def plugin(**members: Any) -> types.SimpleNamespace:
    """A plugin with the given hooks and attributes."""
    marked = {name: dp.hookimpl(value) if name.startswith("dpframe_") else value for name, value in members.items()}
    return types.SimpleNamespace(**marked)


def entry(name: str, loaded: Any) -> Entry:
    return Entry(Distribution(name), lambda: loaded)


def installed(monkeypatch: pytest.MonkeyPatch, *entries: Entry) -> Registry:
    """A registry where just these plugins are installed."""
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: list(entries))
    return Registry()


def found(known: Registry, name: str) -> PluginInfo:
    (info,) = [info for info in known.plugins() if info.name == name]
    return info


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
    raise RuntimeError("no licence")


def misspelt(plam: dp.Plan) -> None:
    """A hook with an argument that there is not."""


BROKEN = [
    pytest.param(raising(ImportError("no module named 'numpi'")), "ImportError: no module named 'numpi'", id="import"),
    pytest.param(raising(SyntaxError("bad")), "SyntaxError: bad", id="syntax"),
    pytest.param(raising(DeprecationWarning("old")), "DeprecationWarning: old", id="warning"),
    pytest.param(raising(SystemExit(3)), "SystemExit: 3", id="exit"),
    pytest.param(lambda: plugin(DPFRAME_API=2), "interface version 2; this dpframe has 1", id="newer interface"),
    pytest.param(lambda: plugin(DPFRAME_API=0), "interface version 0; this dpframe has 1", id="older interface"),
    pytest.param(lambda: plugin(DPFRAME_API="1"), "interface version", id="interface as a word"),
    pytest.param(lambda: plugin(dpframe_mechanisms=failing_hook), "RuntimeError: no licence", id="hook raises"),
    pytest.param(lambda: plugin(dpframe_before_charge=misspelt), "plam", id="hook with another argument"),
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
    pytest.param(lambda: plugin(dpframe_mechanisms=lambda: [Unitless]), "Unitless does not say its unit", id="no unit"),
    pytest.param(
        lambda: plugin(dpframe_postprocessors=lambda: [Kindless]), "Kindless does not say its gives", id="no kind"
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
    oracles = ("bound oracle first-order", "bound oracle dyson", "bound oracle printed-rates")
    assert ("mechanism gaussian", *oracles) == infos["dpframe-gaussian"].provides
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


def write_plugin(folder: Path, module: str, code: str) -> None:
    name = module.replace("_", "-")
    info = folder / f"{module}-1.5.dist-info"
    info.mkdir()
    (folder / f"{module}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[dpframe]\nplugin = {module}\n")


# -- one process -----------------------------------------------------------------------------------------------------

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
        (Unitless, "Unitless does not say its unit"),
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


# -- third-party steps in a plan -------------------------------------------------------------------------------------


def pure_plan(*steps: dp.Step, **settings: Any) -> dp.Plan:
    return dp.Plan(rows=ROWS, budget=PURE, steps=list(steps), **settings)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("accountant", ["auto", "pure"])
def test_a_pure_mechanism_of_a_third_party(accountant: str) -> None:
    plan = pure_plan(
        dp.release("small", "test-trace"),
        dp.release("large", "test-laplace-trace", weight=3.0),
        dp.derive("half", "test-halved", of="large"),
        accountant=accountant,
    )
    assert 1.0 == pytest.approx(plan.spent.epsilon, rel=1e-12)
    assert plan.spent.epsilon <= 1.0
    assert 0.0 == plan.spent.delta
    levels = plan.pricing.levels
    assert [0.25, 0.75] == pytest.approx([levels["small"], levels["large"]], rel=1e-12)

    result = plan.run(DATA, insecure_seed=7)
    step = ROWS.bind(2).step
    trace = float(np.trace(DATA.T @ DATA))
    for name in ("small", "large"):
        noise = dp.Random(Keystream.insecure(7)).child(name).laplace(Trace.scale(levels[name]), 1)[0] * step**2
        assert trace + noise == pytest.approx(float(result[name]), abs=1e-4)
        assert 1e-3 < abs(noise)
    assert result["large"] / 2 == result["half"]
    assert plan.spent == result.spent
    lines = [result.record(name).line for name in ("small", "large")]
    assert [levels["small"], plan.spent.epsilon] == [line.epsilon_so_far for line in lines]


@pytest.mark.usefixtures("parts")
def test_pure_and_gaussian_losses_in_one_plan() -> None:
    steps = [dp.release("a", "test-trace"), dp.release("b", "gaussian")]
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
    assert 1.0 == pytest.approx(plan.spent.epsilon, rel=1e-9)
    assert plan.spent.epsilon <= 1.0
    assert plan.pricing.levels["a"] == plan.pricing.levels["b"]
    with pytest.raises(dp.PlanError, match="'b' has no pure guarantee"):
        dp.Plan(rows=ROWS, budget=PURE, steps=steps)


def test_a_loss_that_nobody_accepted() -> None:
    @dp.register
    @attrs.frozen(kw_only=True)
    class Modelled(Trace):
        name = "test-modelled"

        def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
            loss = dp.losses.Pure(epsilon=level)
            return dp.losses.ModelBased(loss=loss, model="spiked-covariance", failure="1e-9")

    try:
        with pytest.raises(
            dp.PlanError, match="step 'a' is private only for data drawn from the model 'spiked-covariance'"
        ):
            pure_plan(dp.release("a", "test-modelled"))
    finally:
        dp.unregister(Modelled)


@pytest.mark.usefixtures("parts")
def test_an_accountant_of_a_third_party() -> None:
    named = pure_plan(dp.release("a", "test-trace"), accountant="test-generous")
    assert 0.5 == pytest.approx(named.pricing.levels["a"])
    tightest = pure_plan(dp.release("a", "test-trace"))
    assert 1.0 == pytest.approx(tightest.pricing.levels["a"])


@pytest.mark.usefixtures("parts")
def test_an_oracle_of_a_third_party() -> None:
    told = pure_plan(dp.release("a", "test-trace")).explain(spectrum=[2.0, 1.0])
    assert ["test-oracle"] == [bound.name for bound in told.bounds("a")]
    assert "test-oracle" in str(told)


@pytest.mark.usefixtures("parts")
def test_a_recipe_becomes_dotted_steps() -> None:
    plan = pure_plan(
        dp.release("cov", "test-both", weight=2.0, share=0.25), dp.release("rest", "test-trace", weight=2.0)
    )
    assert ("cov.first", "cov.second", "cov", "rest") == tuple(step.name for step in plan.steps)
    levels = plan.pricing.levels
    assert [0.125, 0.375, 0.5] == pytest.approx([levels["cov.first"], levels["cov.second"], levels["rest"]])
    result = plan.run(DATA, insecure_seed=7)
    assert ["cov.first", "cov.second", "cov", "rest"] == list(result)
    assert result["cov.first"] / 2 == result["cov"]
    assert "cov.second" in str(plan.explain())


@pytest.mark.usefixtures("parts")
def test_a_recipe_of_recipes() -> None:
    plan = pure_plan(dp.release("a", "test-nested"), dp.derive("b", "test-halved", of="a"))
    assert ["a.inner.first", "a.inner.second", "a.inner", "a", "b"] == [step.name for step in plan.steps]


@pytest.mark.usefixtures("parts")
def test_a_recipe_has_no_level() -> None:
    with pytest.raises(dp.PlanError, match=r"'cov'.*weight=, not level="):
        pure_plan(dp.release("cov", "test-both", level=0.5))


@pytest.mark.usefixtures("parts")
def test_names_of_a_recipe_clash_like_any() -> None:
    with pytest.raises(dp.PlanError, match=r"two steps are named 'cov\.first'"):
        pure_plan(dp.release("cov", "test-both"), dp.release("cov.first", "test-trace"))


# -- hooks -----------------------------------------------------------------------------------------------------------


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
