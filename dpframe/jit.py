"""Compiling with Numba, which is imported when the first function is compiled.

Modules of compiled functions are imported only when a loop must be fast: compiling takes seconds, and loading compiled
code tenths of a second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""Arithmetic stays IEEE's, operation by operation: nothing is contracted, reordered or approximated."""


def compiled(*signature: Any) -> Callable[[F], F]:
    """Compile now, and keep the result on disk where that can be: not in a read-only install, nor on a full disk.

    What is kept is for the folder of the function as it is. Numba itself would look at the function's own file only,
    and use old code where a part of it, in another file, has changed.
    """

    def compile_now(function: F) -> F:
        import numba

        kept: Any
        try:
            name, folder = function.__qualname__.partition("-")[0], Path(function.__code__.co_filename).parent
            function.__qualname__ = f"{name}-{sources(folder)}"
            kept = numba.njit([signature], cache=True, **_OPTIONS)(function)
        except Exception:  # whatever Numba meets where it keeps things; if it cannot compile, it says so again
            kept = numba.njit([signature], **_OPTIONS)(function)
        return cast("F", kept)

    return compile_now


def compiled_part(function: F) -> F:
    """For what compiled functions call: it is compiled with them."""
    import numba

    return cast("F", numba.njit(**_OPTIONS)(function))


@cache
def sources(folder: Path) -> str:
    """Stands for all that is compiled from the modules of a folder: these, and the options of this one."""
    digest = hashlib.sha256()
    for file in [Path(__file__), *sorted(folder.glob("*.py"))]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
