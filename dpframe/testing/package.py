"""A check of the module that an entry point names: discovering plugins must stay quick."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from dpframe.discovery import ENTRY_POINTS
from dpframe.testing.checks import ROLES, Failed, NotRun, check

HEAVY = (
    "numba",
    "scipy.stats",
    "dp_accounting",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "torch",
    "jax",
)


@check(*ROLES)
def light_entry_module(stage: Any) -> str:
    """Importing the module of its entry point loads none of the heavy libraries, so that discovery stays quick."""
    module = _entry_module(type(stage.subject).__module__)
    if not _can_be_found(module):
        raise NotRun("it is defined in a script or a notebook, not in a module")
    if heavy := _heavy_imports(module):
        raise Failed(f"importing {module} loads {', '.join(heavy)}; import them where they are used")
    return module


def _can_be_found(module: str) -> bool:
    try:
        return module != "__main__" and find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _entry_module(defined_in: str) -> str:
    """The module of the entry point of a class's package; the class's own module if there is none."""
    package = defined_in.partition(".")[0]
    entries = metadata.entry_points(group=ENTRY_POINTS)
    return next((entry.module for entry in entries if entry.module.partition(".")[0] == package), defined_in)


@lru_cache
def _heavy_imports(module: str) -> list[str]:
    """Which heavy libraries a fresh interpreter has loaded after importing a module."""
    code = (
        f"import importlib, sys; importlib.import_module({module!r}); "
        f"print('heavy:', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | path
    )
    if done.returncode:
        raise Failed(f"{module} cannot be imported in a fresh interpreter: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.rpartition("heavy:")[2].split()
