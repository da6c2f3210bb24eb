"""Checks: how they are registered and run.

A check is a function of a stage, which is the subject under test with what it is tested on. It returns a short detail
or None if the subject passes; it raises :class:`Failed` if the subject fails, and :class:`NotRun` if the check does not
apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import attrs

from dpframe.errors import DPFrameError
from dpframe.testing.report import Finding, Report


class Failed(Exception):
    """The subject breaks its contract."""


class NotRun(Exception):
    """The check does not apply."""


@attrs.frozen
class Check:
    """A named check, with its description and its function."""

    name: str
    about: str
    run: Callable[[Any], str | None] = attrs.field(repr=False)


ROLES = ("mechanism", "statistic", "postprocessor", "accountant", "bound oracle")
CHECKS: dict[str, list[Check]] = {role: [] for role in ROLES}

MODULES = ("values", "mechanism", "error_bars", "statistic", "postprocessor", "accountant", "oracle", "package")
"""The modules of this package that hold checks."""

CheckFunction = Callable[[Any], str | None]

BROKEN = (Exception, SystemExit)
"""What a subject may raise: an attempt to end the process is a failure of the subject, not the end of the tests."""


def check(*roles: str) -> Callable[[CheckFunction], CheckFunction]:
    """Register a function as a check of these roles, named and described by its name and its docstring's first line."""

    def register(function: CheckFunction) -> CheckFunction:
        name = function.__name__.replace("_", "-")
        about = (function.__doc__ or "").strip().splitlines()[0]
        for role in roles:
            CHECKS[role].append(Check(name, about, function))
        return function

    return register


def kit() -> dict[str, list[Check]]:
    """Every check of the kit, by role, in the order in which they run."""
    for module in MODULES:
        import_module(f"dpframe.testing.{module}")
    return {role: sorted(checks, key=_place) for role, checks in CHECKS.items()}


def _place(each: Check) -> int:
    """The place of its module in MODULES, whichever was imported first."""
    return MODULES.index(each.run.__module__.rpartition(".")[2])


def run(role: str, subject: str, stage: Any, without: Iterable[str] = ()) -> Report:
    """Run all checks of a role on one subject, except those named in ``without``."""
    left_out = set(without)
    findings = tuple(_finding(each, stage) for each in kit()[role] if each.name not in left_out)
    return Report(subject=subject, role=role, findings=findings)


def _finding(each: Check, stage: Any) -> Finding:
    try:
        return Finding(check=each.name, outcome="passed", detail=each.run(stage) or "")
    except NotRun as reason:
        return Finding(check=each.name, outcome="not run", detail=str(reason))
    except Failed as reason:
        return Finding(check=each.name, outcome="failed", detail=str(reason))
    except BROKEN as error:  # any other error of the subject
        return Finding(check=each.name, outcome="failed", detail=f"{type(error).__name__}: {error}")


@contextmanager
def refusals_are_not_run(what: str) -> Iterator[None]:
    """Turn errors of the subject into NotRun, because another check reports them."""
    try:
        yield
    except (Failed, NotRun):
        raise
    except DPFrameError as error:
        raise NotRun(f"{what}: {error}") from error
    except BROKEN as error:
        raise NotRun(f"{what}: {type(error).__name__}") from error
