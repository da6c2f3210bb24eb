"""Classes of third parties, and plugins as importlib.metadata knows them."""

import types
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.discovery import PluginInfo
from dpframe.lattice import RADIUS, IntArray
from dpframe.registry import Registry

ROWS = dp.Rows(norm=1.0, neighbors="add-remove")
PURE = dp.Budget(epsilon=1.0)
DATA = np.array([[0.6, 0.8], [0.5, 0.0]])


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


def write_plugin(folder: Path, module: str, code: str) -> None:
    name = module.replace("_", "-")
    info = folder / f"{module}-1.5.dist-info"
    info.mkdir()
    (folder / f"{module}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[dpframe]\nplugin = {module}\n")


def pure_plan(*steps: dp.Step, **settings: Any) -> dp.Plan:
    return dp.Plan(rows=ROWS, budget=PURE, steps=list(steps), **settings)
