"""Frozen classes from plain data: what an annotation says is checked, and what it does not say is left to the class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from dpframe.run.structured import Malformed, structured, value_as
from dpframe.spec.budget import Budget, ModelBudget

if TYPE_CHECKING:
    from collections.abc import Hashable


@attrs.frozen
class Part:
    word: str
    share: float | None = None


@attrs.frozen
class Whole:
    count: int
    parts: tuple[Part, ...]
    named: dict[str, Part]
    either: int | str = 0
    anything: Any = None


@attrs.frozen
class Unreadable:
    """Has an annotation that only a type checker can read."""

    key: Hashable
    count: int


GOOD = {"count": 2, "parts": [{"word": "a"}, {"word": "b", "share": 1}], "named": {"c": {"word": "d", "share": None}}}


def test_plain_data_becomes_an_instance() -> None:
    whole = structured(Whole, {**GOOD, "either": "x", "anything": [1]})
    parts = (Part("a"), Part("b", 1.0))
    assert Whole(count=2, parts=parts, named={"c": Part("d")}, either="x", anything=[1]) == whole
    assert whole == structured(Whole, attrs.asdict(whole) | {"parts": [attrs.asdict(part) for part in whole.parts]})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"count": -1}, "count is not an integer of at least 0"),
        ({"count": 2.0}, "count is not an integer of at least 0"),
        ({"parts": {}}, "parts is not a list"),
        ({"parts": [{"word": 1}]}, "parts[0].word is not a text"),
        ({"parts": [{}]}, "parts[0].word is missing"),
        ({"parts": [None]}, "parts[0] is not an object"),
        ({"named": []}, "named is not an object"),
        ({"named": {"c": {"word": "d", "share": True}}}, "named.c.share is not a number"),
        ({"named": {"c": {"word": "d", "other": 1}}}, "named.c.other is not a field of Part"),
    ],
)
def test_the_field_is_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(Malformed) as caught:
        structured(Whole, {**GOOD, **changes})
    assert says == str(caught.value)


def test_annotations_that_cannot_be_read_are_left_to_the_class() -> None:
    assert Unreadable(key=[], count="x") == structured(Unreadable, {"key": [], "count": "x"})  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "number"), [("Infinity", math.inf), ("-Infinity", -math.inf)])
def test_numbers_that_json_lacks(text: str, number: float) -> None:
    assert number == value_as(float, text, "x")
    assert math.isnan(value_as(float, "NaN", "x"))
    with pytest.raises(Malformed, match="x is not a number"):
        value_as(float, number, "x")  # 1e999 in a file


def test_a_budget_that_rests_on_a_model_says_so() -> None:
    assert type(value_as(Budget, {"epsilon": 1.0}, "x")) is Budget
    assert type(value_as(Budget, {"epsilon": 1.0, "model": "m", "failure": "f"}, "x")) is ModelBudget
