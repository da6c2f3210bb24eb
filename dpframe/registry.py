"""Looks up what plugins provide, and calls their hooks.

Nothing is imported before the first look-up; :mod:`dpframe.discovery` says how plugins are found and checked.

A plugin may have a rule that vetoes charges. Where one that has such a rule, or may have one, is set aside, names can
still be looked up, but every run is refused before its charge: a limit that silently no longer applies is worse.
"""

from __future__ import annotations

import difflib
import inspect
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from dpframe.discovery import (
    CORE,
    DISABLE,
    HERE,
    ROLES,
    Catalog,
    Classes,
    PluginInfo,
    checked_class,
    core_version,
    where_to_get,
)
from dpframe.errors import PluginError
from dpframe.interfaces import Accountant, BoundOracle, Mechanism, PostProcessor, Recipe
from dpframe.losses import PrivacyLoss

if TYPE_CHECKING:
    from dpframe.plan import Plan

C = TypeVar("C", bound=type)


class Registry:
    """All classes of the plugins and of this process, by role and name.

    Plugins are loaded into a new catalog, which is used from the moment it is whole. An interrupt on the way leaves
    nothing behind, and the next look-up begins again: no run can pass by a rule of a plugin that was not loaded yet.

    No lock is held while plugins are imported, since another thread may hold the lock of the import of one of them and
    make a look-up. Threads that make the first look-up together each load a catalog, and all use the first whole one.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._whole: Catalog | None = None
        self._thread = threading.local()  # holds the catalog that a thread is loading
        self._here: Classes = {}

    def load(self) -> Catalog:
        """Discover and check every plugin, once.

        A plugin that looks up a name while it is loaded sees those that are loaded so far. So does one that is imported
        before the first look-up and makes it: what it provides is found by the next look-up.
        """
        if self._whole is not None:
            return self._whole
        loading: Catalog | None = getattr(self._thread, "loading", None)
        if loading is not None:
            return loading
        found = self._thread.loading = Catalog(self._here)
        try:
            found.discover()
        finally:
            self._thread.loading = None
        with self._lock:
            if self._whole is None and found.complete:
                self._whole = found
        return self._whole or found

    @property
    def _manager(self) -> pluggy.PluginManager:
        """The hooks of all plugins; raises PluginError while some are not loaded."""
        found = self.load()
        if found is not self._whole:
            raise PluginError(
                "plugins are still being loaded. While a plugin is imported it may look up names, but not run a plan. "
                "Nothing was charged, read or drawn."
            )
        return found.manager

    @property
    def hook(self) -> pluggy.HookRelay:
        """The callers of all hooks, with every plugin loaded."""
        return self._manager.hook

    def before_charge(self, plan: Plan, losses: Sequence[PrivacyLoss]) -> None:
        """Let the rules of all plugins veto a charge; raises PluginError where one that may have a rule is set aside.

        Args:
            plan: the plan, for rows of a known dimension.
            losses: the losses of its releases.
        """
        hook = self.hook
        if lost := self.load().lost_rules:
            raise PluginError(
                f"plugin {lost[0].name!r} is set aside: {lost[0].reason}. Nothing was charged, read or drawn. Mend or "
                f"uninstall it; or, where runs need no rule of it, name it in {DISABLE}."
            )
        hook.dpframe_before_charge(plan=plan, losses=losses)

    def register(self, cls: C) -> C:
        """Register a class in this process."""
        role = next((role for role, bases in ROLES.items() if inspect.isclass(cls) and issubclass(cls, bases)), None)
        if role is None:
            raise PluginError(
                "dp.register takes a class derived from dp.Mechanism, dp.Recipe, dp.PostProcessor, dp.Statistic, "
                f"dp.Accountant or dp.BoundOracle; got {cls!r}."
            )
        key, found = (role, checked_class(role, cls)), self.load()
        with self._lock:
            if key in found.classes:
                raise PluginError(f"the {role} name {key[1]!r} is already provided by {found.provider_label(key)}.")
            self._here[key] = cls
        return cls

    def unregister(self, cls: type) -> None:
        """Remove a class added by :meth:`register`."""
        with self._lock:
            for key in [key for key, known in self._here.items() if known is cls]:
                del self._here[key]

    @contextmanager
    def observing(self, observer: object) -> Iterator[None]:
        """Call the hooks of an object while the context is open."""
        manager = self._manager
        manager.register(observer)
        try:
            yield
        finally:
            manager.unregister(observer)

    def _classes(self) -> Classes:
        return self.load().classes | self._here

    def find(self, role: str, name: str) -> type:
        """The class with this role and name; raises PluginError with the names that exist."""
        found, classes = self.load(), self._classes()
        if isinstance(name, str) and (role, name) in classes:
            return classes[role, name]
        known = {label: found.provider_label((kind, label)) for kind, label in classes if kind == role}
        if role == "accountant":
            known["auto"] = f"{CORE} {core_version()}"
        close = difflib.get_close_matches(str(name), known, n=1)
        if where := where_to_get(f"{role} {name}", found.plugins):
            advice = where
        elif close:
            advice = f" Did you mean {close[0]!r} ({known[close[0]]})?"
        else:
            advice = f" There is: {', '.join(sorted(known)) or 'none'}."
        aside = [plugin for plugin in found.plugins.values() if plugin.status != "active"]
        if aside:
            advice += " Not in use: " + "; ".join(f"{p.name} ({p.reason})" for p in aside) + "."
        article = "an" if role[0] in "aeiou" else "a"
        raise PluginError(f"no installed plugin provides {article} {role} named {name!r}.{advice}")

    def provider(self, role: str, name: str) -> PluginInfo | None:
        """The plugin that provides a class; None for a class registered in this process."""
        self.find(role, name)
        found = self.load()
        return found.plugins.get(found.origin.get((role, name), HERE))

    def provider_label(self, role: str, name: str) -> str:
        """The name and version of the plugin that provides a class; `HERE` for a class registered in this process."""
        self.find(role, name)
        return self.load().provider_label((role, name))

    def own(self, role: str) -> list[type]:
        """The classes of a role that the core and the project's own plugins provide, in loading order."""
        found = self.load()
        return [cls for key, cls in found.classes.items() if key[0] == role and found.origin[key] in found.own]

    def all(self, role: str) -> list[type]:
        """Every class of a role, in loading order."""
        return [cls for (kind, _), cls in self._classes().items() if kind == role]

    def plugins(self) -> list[PluginInfo]:
        """All plugins and, if there are any, the classes registered in this process."""
        here = tuple(f"{role} {label}" for role, label in self._here)
        own = [PluginInfo(HERE, "", "active", here)] if here else []
        return [*self.load().plugins.values(), *own]


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


def before_charge(plan: Plan, losses: Sequence[PrivacyLoss]) -> None:
    """Let the rules of all plugins veto a charge; raises PluginError where one that may have a rule is set aside."""
    _registry.before_charge(plan, losses)


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
