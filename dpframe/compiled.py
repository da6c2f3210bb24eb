"""Compiling with Numba, for modules that are imported only when a loop must be fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(*signature: Any) -> Callable[[F], F]:
    """Compile now, and keep the result on disk where that can be: not in a read-only install, nor on a full disk.

    Arithmetic stays IEEE's, operation by operation: nothing is contracted, reordered or approximated. What is kept is
    for the file of the function as it is; whoever changes the options here removes it.
    """

    def compile_now(function: F) -> F:
        kept: Any
        try:
            kept = numba.njit([signature], cache=True, nogil=True, error_model="numpy")(function)
        except (RuntimeError, OSError):
            kept = numba.njit([signature], nogil=True, error_model="numpy")(function)
        return cast(F, kept)

    return compile_now
