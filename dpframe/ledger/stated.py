"""Hashes of what a run states, which its entries hold, so that an edited epsilon is found."""

from __future__ import annotations

import hashlib
from typing import Any

import attrs

from dpframe.ledger.chain import canonical
from dpframe.run.statement import Statement

PROMISED = (
    *("protected", "against", "strength", "rows", "budget", "spent", "plan", "neighbors"),
    *("accountant", "accountants", "computed_by", "passes"),
)
"""The fields of a statement that are known before the charge and do not change afterwards. A field that is added here
needs a default, with which it is left out of the hash."""


def promise_hash(statement: Statement) -> str:
    """SHA-256 of what a statement says before the charge.

    Args:
        statement: what a plan promises and costs.
    """
    return _hash({field: value for field, value in _plain(statement).items() if field in PROMISED})


def statement_hash(statement: Statement) -> str:
    """SHA-256 of a whole statement, with the noise scales that may follow from a released norm.

    Args:
        statement: what a run promised and cost.
    """
    return _hash(_plain(statement))


def _plain(statement: Statement) -> dict[str, Any]:
    """Plain data, without fields at their defaults: a field added later does not change the hash of older results."""

    def counts(field: Any, value: Any) -> bool:
        factory = getattr(field.default, "factory", None)
        return bool(value != (field.default if factory is None else factory()))

    return attrs.asdict(statement, filter=counts)


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()
