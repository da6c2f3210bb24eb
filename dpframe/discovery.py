"""Discovers, checks and isolates plugins.

A plugin that cannot be imported, was written for another interface version, returns anything but suitable classes, or
claims a name that is taken, is set aside with the reason; all others keep working. ``DPFRAME_DISABLE_PLUGINS`` lists
plugins not to load, separated by commas.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Container
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
import pluggy

from dpframe import hookspecs
from dpframe.errors import PluginError, described
from dpframe.interfaces import API_VERSION, Accountant, BoundOracle, Mechanism, PostProcessor, Recipe, Statistic

ENTRY_POINTS = "dpframe"
DISABLE = "DPFRAME_DISABLE_PLUGINS"
OWN = {
    "dpframe-adaptive": (
        *("mechanism adaptive", "postprocessor kept-share", "postprocessor column-scales"),
        *("postprocessor ball-or-box-center", "postprocessor ball-or-box-norm", "postprocessor adaptive-count"),
        *("postprocessor adaptive-mean", "postprocessor adaptive-covariance", "postprocessor denoise"),
        *("postprocessor preconditioner", "postprocessor affordable-radius", "postprocessor regression-scales"),
    ),
    "dpframe-gaussian": ("mechanism gaussian", "mechanism gaussian-folds", "mechanism gaussian-sum"),
    "dpframe-laplace": ("mechanism laplace-eigenvalues", "mechanism laplace-sum", "mechanism matrix-laplace"),
    "dpframe-opendp": ("mechanism opendp-gaussian", "mechanism opendp-laplace"),
    "dpframe-orbit": (
        *("mechanism bingham", "mechanism bingham-low-rank", "mechanism deflation", "mechanism laplace-scores"),
        *("mechanism orbit", "mechanism orbit-low-rank"),
    ),
    "dpframe-pld": ("accountant pld",),
    "dpframe-spiked": (
        *("mechanism spiked", "mechanism spiked-block", "mechanism block-gaussian", "mechanism block-radii"),
        *("postprocessor block-estimate", "postprocessor range-radii", "postprocessor spiked-covariance"),
        *("postprocessor eigenvalue-shrinkage", "postprocessor eigen-ratio-rank"),
    ),
}
"""The project's own plugins, with the names that plans use: an error says which of them to install.

They are loaded first, so that no other can take their names.
"""

STEP_KEYS = ("release", "derive", "with", "weight", "level", "rows")
"""What a step of a plan file says beside the parameters of its action."""

CORE = "dpframe"
"""The origin of the classes of the core: the package, whose distribution is dpframe-core."""

HERE = "this process"
"""The origin of classes registered by :func:`dpframe.register`."""

RULE = "dpframe_before_charge"
"""The hook by which a plugin may veto a charge."""

CODE = {".py", ".pyc", ".so", ".pyd"}
"""Endings of files that hold the code of a plugin."""

BROKEN = (Exception, SystemExit)
"""What a plugin may raise while it is loaded: it is set aside then. An interrupt by the user is not one of these."""

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

Classes = dict[tuple[str, str], type]


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


class Catalog:
    """What one look at all entry points found: the classes by role and name, and the plugin of each.

    Args:
        here: the classes registered in this process, whose names are taken.
    """

    def __init__(self, here: Classes) -> None:
        self.manager = pluggy.PluginManager(hookspecs.PROJECT)
        self.manager.add_hookspecs(hookspecs)
        self.classes: Classes = {}
        self.origin: dict[tuple[str, str], str] = {}
        self.plugins: dict[str, PluginInfo] = {}
        self.own = {CORE}
        self.lost_rules: list[PluginInfo] = []
        self.complete = True
        self._here = here

    def discover(self) -> None:
        """Load and check every plugin; a broken one affects no other. `complete` says whether all were imported."""
        from dpframe.builtin import hooks as builtin

        self._add(builtin, CORE, core_version())
        disabled = {word.strip() for word in os.environ.get(DISABLE, "").split(",")} - {""}
        for entry in sorted(metadata.entry_points(group=ENTRY_POINTS), key=_precedence):
            name, version = _distribution(entry)
            if name in self.plugins:
                name = f"{name}:{entry.name}"
            if _is_own(entry):
                self.own.add(name)
            if name in disabled:
                self.plugins[name] = PluginInfo(name, version, "disabled", reason=f"named in {DISABLE}")
                continue
            begun = _being_imported(entry)
            try:
                plugin = entry.load()
            except BROKEN as error:
                self._set_aside(name, version, f"it cannot be imported: {described(error)}", _files_may_rule(entry))
                self.complete &= not (begun or _being_imported(entry))
            else:
                self.complete &= not _being_imported(entry)  # asked before its hooks are: it may end at any moment
                self._add(plugin, name, version)

    def _add(self, plugin: Any, name: str, version: str) -> None:
        try:
            written_for = getattr(plugin, "DPFRAME_API", API_VERSION)
            if written_for != API_VERSION:
                raise PluginError(f"it was written for interface version {written_for}; this dpframe has {API_VERSION}")
            self.manager.register(plugin, name=name)
            self.manager.check_pending()  # a misspelled hook would never be called
            classes = self._provided(plugin)
        except BROKEN as error:
            if self.manager.has_plugin(name):
                self.manager.unregister(name=name)
            self._set_aside(name, version, described(error), _may_rule(plugin))
            return
        provides = tuple(f"{role} {label}" for role, label in classes)
        self.plugins[name] = PluginInfo(name, version, "active", provides)
        self.classes |= classes
        self.origin |= dict.fromkeys(classes, name)

    def _provided(self, plugin: Any) -> Classes:
        """The classes that a plugin returns from its hooks, all checked before any is added."""
        for hook_name in (name for name in vars(hookspecs) if name.startswith("dpframe_")):
            if hasattr(plugin, hook_name) and self.manager.parse_hookimpl_opts(plugin, hook_name) is None:
                raise PluginError(f"{hook_name} is not marked with @dp.hookimpl")
        classes: Classes = {}
        for role, hook_name in HOOKS.items():
            implementation = getattr(plugin, hook_name, None)
            if implementation is None:
                continue
            returned = implementation()
            if not isinstance(returned, list | tuple):
                raise PluginError(f"{hook_name} must return a list of classes; it returned {type(returned).__name__}")
            for cls in returned:
                key = (role, checked_class(role, cls))
                if key in classes or key in self.classes or key in self._here:
                    owner = "the same plugin" if key in classes else self.provider_label(key)
                    raise PluginError(f"the {role} name {key[1]!r} is already provided by {owner}")
                classes[key] = cls
        return classes

    def _set_aside(self, name: str, version: str, reason: str, may_rule: bool) -> None:
        if may_rule:
            reason += f"; it has, or may have, a rule on charges ({RULE}), so that runs are refused"
        self.plugins[name] = info = PluginInfo(name, version, "set aside", reason=reason)
        if may_rule:
            self.lost_rules.append(info)

    def provider_label(self, key: tuple[str, str]) -> str:
        """The name and version of the plugin that provides a class."""
        plugin = self.plugins.get(self.origin.get(key, HERE))
        return HERE if plugin is None else f"{plugin.name} {plugin.version}"


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
    if role in ("mechanism", "postprocessor", "statistic"):
        if not attrs.has(cls):
            raise PluginError(f"{cls.__name__} is not an attrs class; decorate it with @attrs.frozen(kw_only=True)")
        taken = [field.alias for field in attrs.fields(cls) if role != "statistic" and field.alias in STEP_KEYS]
        if taken:
            raise PluginError(
                f"{cls.__name__} has a parameter {taken[0]!r}, which every step has; give it another name"
            )
    return name


def _being_imported(entry: metadata.EntryPoint) -> bool:
    """Whether the module of a plugin is still being imported, so that hooks may be missing from it."""
    spec = getattr(sys.modules.get(getattr(entry, "module", "")), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _may_rule(plugin: Any) -> bool:
    """Whether an object has the hook for rules on charges, by its own name or by another; True if it does not say."""
    try:
        members = {name: getattr(plugin, name, None) for name in dir(plugin)}
        marks = [getattr(member, f"{hookspecs.PROJECT}_impl", None) for member in members.values()]
        return RULE in members or any(isinstance(mark, dict) and mark.get("specname") == RULE for mark in marks)
    except BROKEN:
        return True


def _files_may_rule(entry: metadata.EntryPoint) -> bool:
    """Whether the files of a plugin that cannot be imported name the hook for rules; True if they are not found."""
    try:
        spec = find_spec(entry.module.partition(".")[0])
        folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
        files = [path for folder in folders for path in folder.rglob("*") if path.suffix in CODE]
        if spec is not None and spec.has_location and not folders:
            files = [Path(str(spec.origin))]
        return not files or any(RULE.encode() in path.read_bytes() for path in files)
    except BROKEN:
        return True


def _distribution(entry: metadata.EntryPoint) -> tuple[str, str]:
    """The name and version of the distribution of a plugin; its metadata may be damaged."""
    try:
        return (entry.dist.name or entry.name, str(entry.dist.version)) if entry.dist else (entry.name, "unknown")
    except BROKEN:
        return entry.name, "unknown"


def _is_own(entry: metadata.EntryPoint) -> bool:
    """Whether a distribution of the project provides the entry point; its own name could be anybody's."""
    return entry.dist is not None and _distribution(entry)[0] in OWN


def _precedence(entry: metadata.EntryPoint) -> tuple[bool, str]:
    return not _is_own(entry), _distribution(entry)[0]


def core_version() -> str:
    """The version of the package, whichever distribution brought it."""
    return str(import_module(CORE).__version__)


def where_to_get(provided: str, installed: Container[str]) -> str:
    """How to get a class, named as "role name", of a plugin of the project that is not installed; "" for others."""
    homes = [name for name, provides in OWN.items() if provided in provides and name not in installed]
    return f" It is in {homes[0]}: pip install {homes[0]}." if homes else ""
