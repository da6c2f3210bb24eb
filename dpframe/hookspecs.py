"""The hooks a plugin may implement.

A plugin is a package with an entry point in the group ``dpframe`` that names a module (or object) with functions marked
``@dp.hookimpl``. The module may define ``DPFRAME_API = 1``, the interface version it was written for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

from dpframe.interfaces import Accountant, BoundOracle, Mechanism, PostProcessor, Recipe, Statistic
from dpframe.losses import PrivacyLoss

if TYPE_CHECKING:
    from dpframe.plan import Plan
    from dpframe.run.result import Record

PROJECT = "dpframe"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def dpframe_mechanisms() -> list[type[Mechanism] | type[Recipe]]:  # type: ignore[empty-body]
    """Mechanisms, and recipes made of them, for ``dp.release``."""


@hookspec
def dpframe_postprocessors() -> list[type[PostProcessor]]:  # type: ignore[empty-body]
    """Post-processors for ``dp.derive``."""


@hookspec
def dpframe_statistics() -> list[type[Statistic]]:  # type: ignore[empty-body]
    """Statistics that mechanisms of this or other plugins may read."""


@hookspec
def dpframe_accountants() -> list[type[Accountant]]:  # type: ignore[empty-body]
    """Accountants for ``dp.Plan(accountant=...)`` and ``dp.accountant``."""


@hookspec
def dpframe_bound_oracles() -> list[type[BoundOracle]]:  # type: ignore[empty-body]
    """Bound oracles, whose forecasts and bounds ``plan.explain`` shows."""


@hookspec
def dpframe_before_charge(plan: Plan, losses: Sequence[PrivacyLoss]) -> None:
    """Called just before a run is charged; raise to veto it. Nothing has been read or drawn yet.

    A dry run calls it too, and charges nothing.

    No run takes place while a plugin that implements this hook is set aside.
    """


@hookspec
def dpframe_after_release(record: Record) -> None:
    """Called with each released or derived result; an error becomes a warning, and the result is kept."""
