"""Plain data and JSON of what is reported."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class Exportable(ABC):
    """Something that can be had as plain data, and as text."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data: dictionaries, lists, texts and numbers."""

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON, written to a file where a path is given. Numbers keep every bit."""
        return as_json(self.to_dict(), path)


def as_json(content: Any, path: str | Path | None = None) -> str:
    """Plain data as JSON, written to a file where a path is given."""
    text = json.dumps(content, indent=1, allow_nan=False)
    if path is not None:
        Path(path).write_text(text + "\n", encoding="utf-8")
    return text
