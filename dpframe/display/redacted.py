"""Objects whose repr shows no value."""

from __future__ import annotations


class Redacted:
    """An object that holds private data: its repr shows its type and no value."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: private>"
