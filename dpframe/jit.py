"""Compilation with Numba, which is imported when the first function is compiled.

Modules of compiled functions are imported only when a loop must be fast: compilation takes seconds, and loading
compiled code takes tenths of a second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""IEEE arithmetic, operation by operation: nothing is contracted, reordered or approximated."""


def compiled(*signature: Any) -> Callable[[F], F]:
    """Compile a function now, and cache the result on disk if that is possible (not if it is read-only or full).

    The cache key covers every module in the function's folder. Numba itself checks only the function's own file, and
    would use stale code after a change to a helper in another file.

    Args:
        signature: the Numba types of the arguments.
    """

    def compile_now(function: F) -> F:
        import numba

        result: Any
        try:
            name, folder = function.__qualname__.partition("-")[0], Path(function.__code__.co_filename).parent
            function.__qualname__ = f"{name}-{sources(folder)}"
            result = numba.njit([signature], cache=True, **_OPTIONS)(function)
        except Exception:  # any failure of the cache; an error of compilation is raised again by the next line
            result = numba.njit([signature], **_OPTIONS)(function)
        return cast("F", result)

    return compile_now


def compiled_part(function: F) -> F:
    """Mark a helper of compiled functions; it is compiled together with them."""
    import numba

    return cast("F", numba.njit(**_OPTIONS)(function))


@cache
def sources(folder: Path) -> str:
    """A hash of everything compiled from the modules of a folder: those modules, and the options in this one."""
    digest = hashlib.sha256()
    for file in [Path(__file__), *sorted(folder.glob("*.py"))]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
