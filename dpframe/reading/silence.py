"""No warnings while private data is read: whether there is one may depend on the data, or on how large it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_within: list[Any] = []


@contextmanager
def quietly() -> Iterator[None]:
    """Warnings in between are neither shown nor errors, in any thread, unless somebody sets filters meanwhile.

    Filters belong to the process. So the first of several runs at once sets them, and the last one restores them: runs
    that overlap would otherwise leave behind what another one had set.
    """
    with _lock:
        caught = _within[0] if _within else warnings.catch_warnings()
        if not _within:
            caught.__enter__()
            warnings.simplefilter("ignore")
        _within.append(caught)
    try:
        yield
    finally:
        with _lock:
            _within.pop()
            if not _within:
                caught.__exit__(None, None, None)
