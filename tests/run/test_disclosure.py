"""The questions of reviewers: answered where the plan knows, left to a person where it does not."""

from __future__ import annotations

import attrs
import pytest

import dpframe as dp
from dpframe.run import disclosure
from dpframe.run.disclosure import GUIDES, PERSON, Fact, Release, facts
from dpframe.run.statement import statement
from dpframe.spec.rows import Rows

PLAN = dp.Plan(
    rows=Rows(columns=[dp.Column("age", 0, 100, missing=40)], neighbors="add-remove", person="id", contributions=3),
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("moment", "gaussian")],
)


def known(plan: dp.Plan = PLAN, *, private: bool = True) -> dict[str, Fact]:
    release = Release(statement=statement(plan, "0" * 64), rows=plan.rows, private=private)
    return {fact.key: fact for fact in facts(release)}


def test_questions_have_keys_guides_and_sources() -> None:
    found = facts(Release(statement=statement(PLAN, "0" * 64)))
    assert len(found) == len({fact.key for fact in found})
    assert all(set(fact.asked_by) <= set(GUIDES) and fact.asked_by for fact in found)
    assert all(fact.answer for fact in found if fact.source != PERSON)
    assert {fact.source for fact in found} <= {"plan", "accountant", "software", "person"}
    assert all(any(guide in fact.asked_by for fact in found) for guide in GUIDES)


def test_what_the_plan_knows_is_answered() -> None:
    answers = {key: fact.answer for key, fact in known().items()}
    assert "the first 3 count (enforced)" in answers["unit"]
    assert "epsilon = 1, delta = 1e-06" in answers["parameters"]
    assert "unbounded" in answers["neighbors"]
    assert "moment: gaussian (diagonal " in answers["mechanisms"]
    assert "moment: exact" in answers["arithmetic"]
    assert "as 1 of 1 columns do" in answers["bias"]


@pytest.mark.parametrize(
    "key", ["choice", "origin_of_bounds", "utility", "bias", "composition", "other_releases", "access", "collection"]
)
def test_what_it_does_not_know_is_left_to_a_person(key: str) -> None:
    assert known()[key].is_open


def test_a_fixed_seed_is_never_called_strong() -> None:
    found = known(private=False)
    assert found["randomness"].answer.startswith("No")
    assert found["parameters"].answer.startswith("None")


def test_a_pure_and_a_bounded_promise() -> None:
    rows = attrs.evolve(PLAN.rows, neighbors="replace")
    pure = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=[dp.release("moment", "matrix-laplace")])
    answers = {key: fact.answer for key, fact in known(pure).items()}
    assert "pure differential privacy, delta = 0" == answers["definition"]
    assert "(bounded)" in answers["neighbors"]
    assert disclosure.W3C in known(pure)["trust_model"].asked_by
