"""Finds, checks and isolates plugins.

Nothing is imported before the first look-up. A plugin that cannot be imported, was written for another interface
version, returns something else than it should, or claims a name that is taken, is set aside with the reason; all others
keep working. ``DPFRAME_DISABLE_PLUGINS`` names plugins to leave alone, separated by commas.
"""

from __future__ import annotations

import difflib
import inspect
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import metadata
from typing import Any, TypeVar

import attrs
import pluggy

from dpframe import hookspecs
from dpframe.errors import PluginError
from dpframe.interfaces import API_VERSION, Accountant, BoundOracle, Mechanism, PostProcessor, Recipe, Statistic

ENTRY_POINTS = "dpframe"
DISABLE = "DPFRAME_DISABLE_PLUGINS"
OWN = ("dpframe-gaussian", "dpframe-laplace", "dpframe-orbit", "dpframe-pld", "dpframe-spiked")
"""The project's own plugins are loaded first, so nobody else can take their names."""

HERE = "this process"

ROLES: dict[str, tuple[type, ...]] = {
    "mechanism": (Mechanism, Recipe),
    "postprocessor": (PostProcessor,),
    "statistic": (Statistic,),
    "accountant": (Accountant,),
    "bound oracle": (BoundOracle,),
}
HOOKS = {
    "mechanism": "dpframe_mechanisms",
    "postprocessor": "dpframe_postprocessors",
    "statistic": "dpframe_statistics",
    "accountant": "dpframe_accountants",
    "bound oracle": "dpframe_bound_oracles",
}

C = TypeVar("C", bound=type)


@attrs.frozen
class PluginInfo:
    """One plugin: what it provides, or why it is set aside."""

    name: str
    version: str
    status: str  # "active", "disabled" or "set aside"
    provides: tuple[str, ...] = ()
    reason: str = ""


class Registry:
    """All classes known by name, and where they come from."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded = False
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._classes: dict[tuple[str, str], type] = {}
        self._origin: dict[tuple[str, str], str] = {}
        self._plugins: dict[str, PluginInfo] = {}

    @property
    def hook(self) -> pluggy.HookRelay:
        self.load()
        return self._manager.hook

    def load(self) -> None:
        """Find and check every plugin, once."""
        with self._lock:
            if self._loaded:
                return
            self._loaded = True
            from dpframe.builtin import hooks as builtin

            self._add(builtin, "dpframe", _version("dpframe"))
            disabled = {word.strip() for word in os.environ.get(DISABLE, "").split(",")} - {""}
            for entry in sorted(metadata.entry_points(group=ENTRY_POINTS), key=_precedence):
                name = _distribution(entry)
                if name in self._plugins:
                    name = f"{name}:{entry.name}"
                version = entry.dist.version if entry.dist else "unknown"
                if name in disabled:
                    self._plugins[name] = PluginInfo(name, version, "disabled", reason=f"named in {DISABLE}")
                    continue
                try:
                    plugin = entry.load()
                except (Exception, SystemExit) as error:  # a broken plugin must not take the others down
                    self._set_aside(name, version, f"it cannot be imported: {type(error).__name__}: {error}")
                else:
                    self._add(plugin, name, version)

    def _add(self, plugin: Any, name: str, version: str) -> None:
        written_for = getattr(plugin, "DPFRAME_API", API_VERSION)
        if written_for != API_VERSION:
            self._set_aside(
                name, version, f"it was written for interface version {written_for}; this dpframe has {API_VERSION}"
            )
            return
        try:
            self._manager.register(plugin, name=name)
            self._manager.check_pending()  # a misspelt hook would never be called
            classes = self._provided(plugin)
        except Exception as error:  # whatever a foreign hook raises
            self._forget(name)
            self._set_aside(name, version, f"{type(error).__name__}: {error}")
            return
        provides = tuple(f"{role} {label}" for role, label in classes)
        self._plugins[name] = PluginInfo(name, version, "active", provides)
        self._classes |= classes
        self._origin |= dict.fromkeys(classes, name)

    def _provided(self, plugin: Any) -> dict[tuple[str, str], type]:
        """The classes a plugin returns from its hooks, checked before any of them is admitted."""
        found: dict[tuple[str, str], type] = {}
        for role, hook_name in HOOKS.items():
            implementation = getattr(plugin, hook_name, None)
            if implementation is None:
                continue
            if self._manager.parse_hookimpl_opts(plugin, hook_name) is None:
                raise PluginError(f"{hook_name} is not marked with @dp.hookimpl")
            returned = implementation()
            if not isinstance(returned, list | tuple):
                raise PluginError(f"{hook_name} must return a list of classes; it returned {type(returned).__name__}")
            for cls in returned:
                key = (role, checked_class(role, cls))
                if key in found or key in self._classes:
                    owner = self._told(key) if key in self._origin else "the same plugin"
                    raise PluginError(f"the {role} name {key[1]!r} is already provided by {owner}")
                found[key] = cls
        return found

    def _forget(self, name: str) -> None:
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)

    def _set_aside(self, name: str, version: str, reason: str) -> None:
        self._plugins[name] = PluginInfo(name, version, "set aside", reason=reason)

    def register(self, cls: C) -> C:
        """Make a class known in this process."""
        role = next((role for role, bases in ROLES.items() if inspect.isclass(cls) and issubclass(cls, bases)), None)
        if role is None:
            raise PluginError(
                "dp.register takes a class derived from dp.Mechanism, dp.Recipe, dp.PostProcessor, dp.Statistic, "
                f"dp.Accountant or dp.BoundOracle; got {cls!r}."
            )
        with self._lock:
            self.load()
            key = (role, checked_class(role, cls))
            if key in self._classes and self._origin[key] != HERE:
                raise PluginError(f"the {role} name {key[1]!r} is already provided by {self._told(key)}.")
            self._classes[key] = cls
            self._origin[key] = HERE
        return cls

    def unregister(self, cls: type) -> None:
        """Forget a class made known by :meth:`register`."""
        with self._lock:
            for key in [key for key, known in self._classes.items() if known is cls]:
                if self._origin[key] == HERE:
                    del self._classes[key], self._origin[key]

    @contextmanager
    def observing(self, observer: object) -> Iterator[None]:
        """Have the hooks of an object called for a while."""
        self.load()
        self._manager.register(observer)
        try:
            yield
        finally:
            self._manager.unregister(observer)

    def find(self, role: str, name: str) -> type:
        """The class with this name, or an error that says what there is instead."""
        self.load()
        if isinstance(name, str) and (role, name) in self._classes:
            return self._classes[role, name]
        known = {label: self._told((kind, label)) for kind, label in self._origin if kind == role}
        if role == "accountant":
            known["auto"] = f"dpframe {_version('dpframe')}"
        close = difflib.get_close_matches(str(name), known, n=1)
        if close:
            advice = f" Did you mean {close[0]!r} ({known[close[0]]})?"
        else:
            advice = f" There is: {', '.join(sorted(known)) or 'none'}."
        aside = [plugin for plugin in self._plugins.values() if plugin.status != "active"]
        if aside:
            advice += " Not in use: " + "; ".join(f"{p.name} ({p.reason})" for p in aside) + "."
        article = "an" if role[0] in "aeiou" else "a"
        raise PluginError(f"no installed plugin provides {article} {role} named {name!r}.{advice}")

    def provider(self, role: str, name: str) -> PluginInfo | None:
        """The plugin that a class comes from; None for one registered in this process."""
        self.find(role, name)
        return self._plugins.get(self._origin[role, name])

    def _told(self, key: tuple[str, str]) -> str:
        plugin = self._plugins.get(self._origin[key])
        return self._origin[key] if plugin is None else f"{plugin.name} {plugin.version}"

    def all(self, role: str) -> list[type]:
        """Every class of a role, in the order of loading."""
        self.load()
        return [cls for (kind, _), cls in self._classes.items() if kind == role]

    def plugins(self) -> list[PluginInfo]:
        self.load()
        here = tuple(f"{role} {label}" for (role, label), origin in self._origin.items() if origin == HERE)
        own = [PluginInfo(HERE, "", "active", here)] if here else []
        return [*self._plugins.values(), *own]


def checked_class(role: str, cls: Any) -> str:
    """The name of a class, once it is known to be what its role asks for."""
    if not (inspect.isclass(cls) and issubclass(cls, ROLES[role])):
        raise PluginError(f"{cls!r} is not a {role} class")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(getattr(cls, "__abstractmethods__", ())))
        raise PluginError(f"{cls.__name__} does not define {missing}")
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or not name:
        raise PluginError(f"{cls.__name__} has no name")
    if (role, name) == ("accountant", "auto"):
        raise PluginError(f"{cls.__name__}: the name 'auto' is reserved")
    wanted = {"mechanism": ("unit", "gives"), "postprocessor": ("gives",)}.get(role, ())
    if not issubclass(cls, Recipe) and (absent := [word for word in wanted if not hasattr(cls, word)]):
        raise PluginError(f"{cls.__name__} does not say its {absent[0]}")
    if role in ("mechanism", "postprocessor", "statistic") and not attrs.has(cls):
        raise PluginError(f"{cls.__name__} is not an attrs class; decorate it with @attrs.frozen(kw_only=True)")
    return name


def _distribution(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.name


def _precedence(entry: metadata.EntryPoint) -> tuple[bool, str]:
    name = _distribution(entry)
    return name not in OWN, name


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


_registry = Registry()


def register(cls: C) -> C:
    """Make a mechanism, post-processor, statistic, accountant or oracle known in this process; also a decorator."""
    return _registry.register(cls)


def unregister(cls: type) -> None:
    """Forget a class made known by :func:`register`."""
    _registry.unregister(cls)


def plugins() -> list[PluginInfo]:
    """All plugins: what they provide, or why they are set aside."""
    return _registry.plugins()


def provider(role: str, name: str) -> PluginInfo | None:
    return _registry.provider(role, name)


def observing(observer: object) -> AbstractContextManager[None]:
    """Have the hooks of an object called for a while: how a test watches the charge."""
    return _registry.observing(observer)


def hook() -> pluggy.HookRelay:
    return _registry.hook


def versions() -> dict[str, str]:
    """The versions of dpframe and its active plugins."""
    return {plugin.name: plugin.version for plugin in plugins() if plugin.status == "active" and plugin.version}


def mechanism(name: str) -> type[Mechanism] | type[Recipe]:
    return _registry.find("mechanism", name)


def postprocessor(name: str) -> type[PostProcessor]:
    return _registry.find("postprocessor", name)


def accountant(name: str) -> type[Accountant]:
    return _registry.find("accountant", name)


def classes(role: str) -> list[Any]:
    return _registry.all(role)


def accountants() -> list[type[Accountant]]:
    return _registry.all("accountant")


def bound_oracles() -> list[type[BoundOracle]]:
    return _registry.all("bound oracle")
