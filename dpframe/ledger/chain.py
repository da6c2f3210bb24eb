"""Entries of a ledger, each sealed with a hash that covers the one before it.

The hash of an entry is SHA-256, or HMAC-SHA-256 where the ledger has a key, of the canonical JSON of its number, data
set, kind, content and the hash before it. Whoever knows the hash of an entry can tell whether anything up to it was
changed, left out, put in or reordered.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs

from dpframe.errors import LedgerError

FORMAT = 1
"""The format of new entries. That of a ledger is the format of its last entry."""

UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For each older format, how its content is read as the next one. Stored entries are never rewritten."""

START = "0" * 64  # in place of the hash before the first entry
SHORTEST_KEY = 16


def canonical(content: Any) -> str:
    """JSON with one spelling: sorted keys, no spaces, ASCII, the shortest digits of every double."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def now() -> str:
    """The time by the system's clock, in a form that sorts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@attrs.frozen(kw_only=True)
class Entry:
    """One line of a ledger, as it is stored.

    Args:
        number: its place, from 1.
        dataset: whose it is; empty for the first entry, which is about the ledger itself.
        kind: "created", "dataset", "reserved", "released" or "failed".
        body: its content as canonical JSON.
        previous: the hash of the entry before it.
        hash: its own.
    """

    number: int
    dataset: str
    kind: str
    body: str
    previous: str
    hash: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Entry:
        """From a stored row, in the order of the fields."""
        if not isinstance(row[0], int) or not all(isinstance(value, str) for value in row[1:]):
            raise LedgerError(f"entry {row[0]!r} holds something other than text: the ledger was changed or damaged.")
        return cls(**dict(zip(attrs.fields_dict(cls), row, strict=True)))

    @property
    def content(self) -> dict[str, Any]:
        """The content in the present format."""
        content = self.stored
        while (version := content["format"]) != FORMAT:
            if version > FORMAT:
                raise LedgerError(
                    f"entry {self.number} has ledger format {version}; this version of dpframe knows formats up to "
                    f"{FORMAT}. Nothing was charged. Install a newer dpframe."
                )
            if version not in UPGRADES:
                raise LedgerError(
                    f"entry {self.number} has ledger format {version}, which this version of dpframe can no longer "
                    "read. Nothing was charged. Open the ledger with the version that wrote it."
                )
            content = {**UPGRADES[version](content), "format": version + 1}
        return content

    @property
    def stored(self) -> dict[str, Any]:
        """The content in the format it was written in."""
        try:
            content = json.loads(self.body)
            if isinstance(content, dict) and type(content["format"]) is int:
                return content
        except (ValueError, KeyError, RecursionError):
            pass
        raise LedgerError(f"entry {self.number} is not one of a ledger: it was changed or damaged.")

    @property
    def row(self) -> tuple[Any, ...]:
        return attrs.astuple(self)


@attrs.frozen(kw_only=True)
class Chain:
    """Seals entries and checks seals, with a key or without."""

    key: bytes | None = attrs.field(default=None, repr=False)

    @classmethod
    def keyed(cls, key: bytes | str | None) -> Chain:
        """A chain with a key as users give it."""
        found = key.encode() if isinstance(key, str) else key
        if found is not None and (not isinstance(found, bytes) or len(found) < SHORTEST_KEY):
            raise LedgerError(
                f"the key of a ledger must be at least {SHORTEST_KEY} bytes; this one is "
                f"{'shorter' if isinstance(found, bytes) else 'a ' + type(found).__name__}. Use, for example, "
                "secrets.token_hex(32)."
            )
        return cls(key=found)

    def seal(self, before: Entry | None, *, dataset: str, kind: str, content: Mapping[str, Any]) -> Entry:
        """The entry that follows another one."""
        entry = Entry(
            number=1 if before is None else before.number + 1,
            dataset=dataset,
            kind=kind,
            body=canonical({**content, "format": FORMAT}),
            previous=START if before is None else before.hash,
            hash="",
        )
        return attrs.evolve(entry, hash=self._digest(entry))

    def check(self, entry: Entry) -> Entry:
        """The entry, if its hash is right."""
        if not hmac.compare_digest(self._digest(entry).encode(), entry.hash.encode()):
            told = "the key is another one, or the entry" if self.key is not None else "the entry"
            raise LedgerError(
                f"the hash of entry {entry.number} is not that of its content: {told} was changed. Nothing was "
                "charged. Compare the ledger with a copy, and ledger.verify() with a head that you noted."
            )
        return entry

    def _digest(self, entry: Entry) -> str:
        sealed = canonical([entry.number, entry.dataset, entry.kind, entry.body, entry.previous]).encode()
        if self.key is None:
            return hashlib.sha256(sealed).hexdigest()
        return hmac.new(self.key, sealed, "sha256").hexdigest()
