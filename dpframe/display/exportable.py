"""Export of reports as plain data and JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class Exportable(ABC):
    """An object that can be exported as plain data and as JSON."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The whole object as plain data: dictionaries, lists, strings and numbers."""

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON, also written to a file if a path is given. Numbers are read back without rounding."""
        return as_json(self.to_dict(), path)


def as_json(content: Any, path: str | Path | None = None) -> str:
    """Plain data as JSON, also written to a file if a path is given."""
    text = json.dumps(content, indent=1, allow_nan=False)
    if path is not None:
        Path(path).write_text(text + "\n", encoding="utf-8")
    return text
