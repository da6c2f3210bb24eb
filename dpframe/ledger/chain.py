"""The hash chain of a ledger: each entry carries a hash that covers the entry before it.

The hash of an entry is SHA-256, or HMAC-SHA-256 where the ledger has a key, of the canonical JSON of its number, data
set, kind, content and the previous hash. Knowing the hash of an entry is enough to detect whether any entry up to it
was changed, removed, inserted or reordered.
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

FORMAT = 2
"""The format of new entries. The format of a ledger is that of its last entry.

1. The first one.
2. Entries have `details`; a reservation and its outcome hold hashes of the statement; a reservation has a `public_key`,
   `computed_by` and a `law_error`, whose sums are `law_errors`; the kind "repaired".
"""

UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: lambda content: {**content, "details": {}}}
"""For each older format, a function that converts content to the next one. Stored entries are never rewritten."""

START = "0" * 64  # the previous hash of the first entry
SHORTEST_KEY = 16


def canonical(content: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, ASCII, the shortest digits of every double.

    Args:
        content: plain data.
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def now() -> str:
    """The time of the system clock in UTC, in a form that sorts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@attrs.frozen(kw_only=True)
class Entry:
    """One entry of a ledger, as it is stored.

    Args:
        number: its position, from 1.
        dataset: the data set that it is about; empty where it is about the ledger itself.
        kind: "created", "dataset", "reserved", "released", "failed" or "repaired".
        body: its content as canonical JSON.
        previous: the hash of the entry before it.
        hash: its own hash.
    """

    number: int
    dataset: str
    kind: str
    body: str
    previous: str
    hash: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Entry:
        """The entry of a stored row.

        Args:
            row: the values of the columns, in the order of the fields.
        """
        if not isinstance(row[0], int) or not all(isinstance(value, str) for value in row[1:]):
            raise LedgerError(f"entry {row[0]!r} holds something other than text: the ledger was changed or damaged.")
        return cls(**dict(zip(attrs.fields_dict(cls), row, strict=True)))

    @property
    def content(self) -> dict[str, Any]:
        """The content, converted to the current format."""
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
        """The values of the columns, in the order of the fields."""
        return attrs.astuple(self)


@attrs.frozen(kw_only=True)
class Chain:
    """Computes and checks the hashes of entries, with a key or without.

    Args:
        key: the key of HMAC-SHA-256; None for plain SHA-256.
    """

    key: bytes | None = attrs.field(default=None, repr=False)

    @classmethod
    def keyed(cls, key: bytes | str | None) -> Chain:
        """The chain for a key as users give it; raises LedgerError where the key is too short.

        Args:
            key: bytes, a text, or None.
        """
        secret = key.encode() if isinstance(key, str) else key
        if secret is not None and (not isinstance(secret, bytes) or len(secret) < SHORTEST_KEY):
            raise LedgerError(
                f"the key of a ledger must be at least {SHORTEST_KEY} bytes; this one is "
                f"{'shorter' if isinstance(secret, bytes) else 'a ' + type(secret).__name__}. Use, for example, "
                "secrets.token_hex(32)."
            )
        return cls(key=secret)

    def seal(self, before: Entry | None, *, dataset: str, kind: str, content: Mapping[str, Any]) -> Entry:
        """The next entry, with its hash.

        Args:
            before: the last entry; None for the first one.
            dataset: the data set that it is about.
            kind: what happened.
            content: its content, without the format.
        """
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
        """The entry itself; raises LedgerError where its hash is wrong.

        Args:
            entry: an entry as it was stored.
        """
        if not hmac.compare_digest(self._digest(entry).encode(), entry.hash.encode()):
            cause = "the key is another one, or the entry" if self.key is not None else "the entry"
            raise LedgerError(
                f"the hash of entry {entry.number} is not that of its content: {cause} was changed. Nothing was "
                "charged. Compare the ledger with a copy, and ledger.verify() with a head that you noted."
            )
        return entry

    def _digest(self, entry: Entry) -> str:
        sealed = canonical([entry.number, entry.dataset, entry.kind, entry.body, entry.previous]).encode()
        if self.key is None:
            return hashlib.sha256(sealed).hexdigest()
        return hmac.new(self.key, sealed, "sha256").hexdigest()
