"""Discovers, checks and isolates plugins.

Nothing is imported before the first look-up. A plugin that cannot be imported, was written for another interface
version, returns anything but suitable classes, or claims a name that is taken, is set aside with the reason; all others
keep working. ``DPFRAME_DISABLE_PLUGINS`` lists plugins not to load, separated by commas.
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
"""The project's own plugins are loaded first, so that no other can take their names."""

CORE = "dpframe"
"""The origin of the classes of the core."""

HERE = "this process"
"""The origin of classes registered by :func:`register`."""

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
    """One plugin: what it provides, or why it is not in use.

    Args:
        name: the name of its distribution.
        version: the version of its distribution.
        status: "active", "disabled" or "set aside".
        provides: the classes it provides, as "role name".
        reason: why it is not active.
    """

    name: str
    version: str
    status: str
    provides: tuple[str, ...] = ()
    reason: str = ""


class Registry:
    """All registered classes by role and name, and the plugin of each."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded = False
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._classes: dict[tuple[str, str], type] = {}
        self._origin: dict[tuple[str, str], str] = {}
        self._plugins: dict[str, PluginInfo] = {}
        self._own = {CORE}

    @property
    def hook(self) -> pluggy.HookRelay:
        """The callers of all hooks, with every plugin loaded."""
        self.load()
        return self._manager.hook

    def load(self) -> None:
        """Discover and check every plugin, once."""
        with self._lock:
            if self._loaded:
                return
            self._loaded = True
            from dpframe.builtin import hooks as builtin

            self._add(builtin, CORE, _version(CORE))
            disabled = {word.strip() for word in os.environ.get(DISABLE, "").split(",")} - {""}
            for entry in sorted(metadata.entry_points(group=ENTRY_POINTS), key=_precedence):
                name = _distribution(entry)
                if name in self._plugins:
                    name = f"{name}:{entry.name}"
                if _is_own(entry):
                    self._own.add(name)
                version = entry.dist.version if entry.dist else "unknown"
                if name in disabled:
                    self._plugins[name] = PluginInfo(name, version, "disabled", reason=f"named in {DISABLE}")
                    continue
                try:
                    plugin = entry.load()
                except (Exception, SystemExit) as error:  # a broken plugin must not affect the others
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
            self._manager.check_pending()  # a misspelled hook would never be called
            classes = self._provided(plugin)
        except Exception as error:  # any exception from a plugin's hook
            self._forget(name)
            self._set_aside(name, version, f"{type(error).__name__}: {error}")
            return
        provides = tuple(f"{role} {label}" for role, label in classes)
        self._plugins[name] = PluginInfo(name, version, "active", provides)
        self._classes |= classes
        self._origin |= dict.fromkeys(classes, name)

    def _provided(self, plugin: Any) -> dict[tuple[str, str], type]:
        """The classes that a plugin returns from its hooks, all checked before any is added."""
        classes: dict[tuple[str, str], type] = {}
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
                if key in classes or key in self._classes:
                    owner = self._provider_label(key) if key in self._origin else "the same plugin"
                    raise PluginError(f"the {role} name {key[1]!r} is already provided by {owner}")
                classes[key] = cls
        return classes

    def _forget(self, name: str) -> None:
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)

    def _set_aside(self, name: str, version: str, reason: str) -> None:
        self._plugins[name] = PluginInfo(name, version, "set aside", reason=reason)

    def register(self, cls: C) -> C:
        """Register a class in this process."""
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
                raise PluginError(f"the {role} name {key[1]!r} is already provided by {self._provider_label(key)}.")
            self._classes[key] = cls
            self._origin[key] = HERE
        return cls

    def unregister(self, cls: type) -> None:
        """Remove a class added by :meth:`register`."""
        with self._lock:
            for key in [key for key, known in self._classes.items() if known is cls]:
                if self._origin[key] == HERE:
                    del self._classes[key], self._origin[key]

    @contextmanager
    def observing(self, observer: object) -> Iterator[None]:
        """Call the hooks of an object while the context is open."""
        self.load()
        self._manager.register(observer)
        try:
            yield
        finally:
            self._manager.unregister(observer)

    def find(self, role: str, name: str) -> type:
        """The class with this role and name; raises PluginError with the names that exist."""
        self.load()
        if isinstance(name, str) and (role, name) in self._classes:
            return self._classes[role, name]
        known = {label: self._provider_label((kind, label)) for kind, label in self._origin if kind == role}
        if role == "accountant":
            known["auto"] = f"{CORE} {_version(CORE)}"
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
        """The plugin that provides a class; None for a class registered in this process."""
        self.find(role, name)
        return self._plugins.get(self._origin[role, name])

    def provider_label(self, role: str, name: str) -> str:
        """The name and version of the plugin that provides a class; `HERE` for a class registered in this process."""
        self.find(role, name)
        return self._provider_label((role, name))

    def _provider_label(self, key: tuple[str, str]) -> str:
        plugin = self._plugins.get(self._origin[key])
        return self._origin[key] if plugin is None else f"{plugin.name} {plugin.version}"

    def own(self, role: str) -> list[type]:
        """The classes of a role that the core and the project's own plugins provide, in loading order."""
        self.load()
        return [cls for key, cls in self._classes.items() if key[0] == role and self._origin[key] in self._own]

    def all(self, role: str) -> list[type]:
        """Every class of a role, in loading order."""
        self.load()
        return [cls for (kind, _), cls in self._classes.items() if kind == role]

    def plugins(self) -> list[PluginInfo]:
        """All plugins and, if there are any, the classes registered in this process."""
        self.load()
        here = tuple(f"{role} {label}" for (role, label), origin in self._origin.items() if origin == HERE)
        own = [PluginInfo(HERE, "", "active", here)] if here else []
        return [*self._plugins.values(), *own]


def checked_class(role: str, cls: Any) -> str:
    """Check that a class fits its role, and return its name; raises PluginError otherwise."""
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
        raise PluginError(f"{cls.__name__} does not define {absent[0]}")
    if role in ("mechanism", "postprocessor", "statistic") and not attrs.has(cls):
        raise PluginError(f"{cls.__name__} is not an attrs class; decorate it with @attrs.frozen(kw_only=True)")
    return name


def _distribution(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.name


def _is_own(entry: metadata.EntryPoint) -> bool:
    """Whether a distribution of the project provides the entry point; its own name could be anybody's."""
    return entry.dist is not None and entry.dist.name in OWN


def _precedence(entry: metadata.EntryPoint) -> tuple[bool, str]:
    return not _is_own(entry), _distribution(entry)


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


_registry = Registry()


def register(cls: C) -> C:
    """Register a mechanism, post-processor, statistic, accountant or oracle in this process; also a decorator."""
    return _registry.register(cls)


def unregister(cls: type) -> None:
    """Remove a class added by :func:`register`."""
    _registry.unregister(cls)


def plugins() -> list[PluginInfo]:
    """All plugins: what they provide, or why they are not in use."""
    return _registry.plugins()


def provider(role: str, name: str) -> PluginInfo | None:
    """The plugin that provides a class; None for a class registered in this process."""
    return _registry.provider(role, name)


def provider_label(role: str, name: str) -> str:
    """The name and version of the plugin that provides a class; `HERE` for a class registered in this process."""
    return _registry.provider_label(role, name)


def observing(observer: object) -> AbstractContextManager[None]:
    """Call the hooks of an object while the context is open; tests observe the charge this way."""
    return _registry.observing(observer)


def hook() -> pluggy.HookRelay:
    """The callers of all hooks, with every plugin loaded."""
    return _registry.hook


def versions() -> dict[str, str]:
    """The versions of dpframe and its active plugins."""
    return {plugin.name: plugin.version for plugin in plugins() if plugin.status == "active" and plugin.version}


def mechanism(name: str) -> type[Mechanism] | type[Recipe]:
    """The mechanism or recipe with this name."""
    return _registry.find("mechanism", name)


def postprocessor(name: str) -> type[PostProcessor]:
    """The post-processor with this name."""
    return _registry.find("postprocessor", name)


def accountant(name: str) -> type[Accountant]:
    """The accountant with this name."""
    return _registry.find("accountant", name)


def classes(role: str) -> list[Any]:
    """Every class of a role, in loading order."""
    return _registry.all(role)


def accountants() -> list[type[Accountant]]:
    """Every accountant, in loading order."""
    return _registry.all("accountant")


def own_accountants() -> list[type[Accountant]]:
    """The accountants of the core and of the project's own plugins, in loading order."""
    return _registry.own("accountant")


def bound_oracles() -> list[type[BoundOracle]]:
    """Every bound oracle, in loading order."""
    return _registry.all("bound oracle")
