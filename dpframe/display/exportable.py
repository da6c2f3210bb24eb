"""Export of reports as plain data and JSON."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Exportable(ABC):
    """An object that can be exported as plain data and as JSON."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The whole object as plain data: dictionaries, lists, strings and numbers."""

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON, also written to a file if a path is given. Numbers are read back without rounding."""
        return as_json(self.to_dict(), path)


def as_json(content: Any, path: str | Path | None = None) -> str:
    """Plain data as JSON, also written to a file if a path is given.

    What was paid for can always be written: JSON has no infinities, so they are written as strings; what a plugin adds
    that is no plain data is written as numbers where it holds numbers, and in words otherwise.

    >>> as_json([1.0, math.inf, np.float32(0.5)]).split()
    ['[', '1.0,', '"Infinity",', '0.5', ']']
    """
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except (TypeError, ValueError):
        text = json.dumps(_plain(content), indent=1, allow_nan=False)
    written(text + "\n", path)
    return text


def written(text: str, path: str | Path | None) -> str:
    """The text, also written to a file if a path is given.

    Args:
        text: the text.
        path: the path of the file.
    """
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The numbers that JSON lacks, by the strings that stand for them."""
