"""Hashes of a statement: every field counts, and fields that later versions add change nothing."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

import dpframe as dp
from dpframe.ledger.stated import PROMISED, promise_hash, statement_hash
from dpframe.run.statement import Line, Statement, statement
from dpframe.run.structured import value_as
from tests.support.ledgers import plan

STATED = statement(plan(), "0" * 64)
OTHER: dict[str, Any] = {
    "budget": dp.Budget(epsilon=0.1),
    "spent": dp.Budget(epsilon=0.1, delta=1e-6),
    "accountants": {"zcdp": 0.1},
    "passes": 2,
    "lines": (),
}


@pytest.mark.parametrize("field", attrs.fields_dict(Statement))
def test_every_field_counts(field: str) -> None:
    changed = attrs.evolve(STATED, **{field: OTHER.get(field, "something else")})
    assert statement_hash(STATED) != statement_hash(changed)
    assert (field in PROMISED) == (promise_hash(STATED) != promise_hash(changed))


@pytest.mark.parametrize("field", attrs.fields_dict(Line))
def test_every_field_of_a_line_counts(field: str) -> None:
    changed: dict[str, Any] = {field: "something else"}
    lines = (attrs.evolve(STATED.lines[0], **changed),)
    assert statement_hash(STATED) != statement_hash(attrs.evolve(STATED, lines=lines))


def test_all_but_the_lines_is_promised() -> None:
    """A field that a run sets only at its end must not be: then it would differ from what was reserved."""
    assert {*PROMISED, "lines"} == set(attrs.fields_dict(Statement))


def test_a_field_that_is_added_later_leaves_hashes_as_they_are() -> None:
    @attrs.frozen(kw_only=True)
    class Later(Statement):
        more: str = ""
        others: tuple[str, ...] = attrs.field(factory=tuple)

    fields = {field: getattr(STATED, field) for field in attrs.fields_dict(Statement)}
    assert statement_hash(STATED) == statement_hash(Later(**fields)) != statement_hash(Later(**fields, more="x"))
    assert promise_hash(STATED) == promise_hash(Later(**fields, more="x"))


def test_a_statement_that_was_read_from_a_file_has_the_same_hashes() -> None:
    again = value_as(Statement, json.loads(STATED.to_json()), "statement")
    assert (promise_hash(STATED), statement_hash(STATED)) == (promise_hash(again), statement_hash(again))
