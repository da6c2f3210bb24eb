"""The optional part of an entry: a note, and who says to have made it.

`details` of an entry is a dictionary inside what is hashed. Fields may be added to it without a new format: readers
ignore those that they do not know, and nothing that is summed or limited depends on it.
"""

from __future__ import annotations

import getpass
import os
from typing import Any

from dpframe.errors import PlanError

USER = "DPFRAME_USER"
"""The environment variable with the name to record; set but empty for none."""

LONGEST_NOTE, LONGEST_USER = 500, 100


def details(note: Any = None) -> dict[str, str]:
    """The note and the user name, where there are any. The name is a claim: nobody checks it.

    Args:
        note: a text of at most 500 characters; those that cannot be printed become spaces.
    """
    if not isinstance(note, str | None):
        raise PlanError(f"note must be a text; got a {type(note).__name__}. Nothing was charged.")
    if len(note or "") > LONGEST_NOTE:
        raise PlanError(
            f"note must have at most {LONGEST_NOTE} characters; got {len(note or '')}. Nothing was charged."
        )
    found = {"note": _printable(note or ""), "user": _printable(_user())[:LONGEST_USER]}
    return {field: text for field, text in found.items() if text}


def _user() -> str:
    """The name in the environment variable, or that of the operating system; empty where neither is known."""
    try:
        return os.environ[USER] if USER in os.environ else getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in a container
        return ""


def _printable(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def in_words(found: dict[str, Any]) -> str:
    """The details in words; empty where there are none.

    Args:
        found: the details of an entry.

    >>> in_words({"note": "for the annual report", "user": "alice"}), in_words({})
    ('by alice: for the annual report', '')
    """
    note, user = (_printable(str(found.get(field, ""))) for field in ("note", "user"))
    return ": ".join(part for part in (f"by {user}" if user else "", note) if part)
