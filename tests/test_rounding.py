"""Numbers as text: given ones as they were typed, computed ones rounded to the safe side."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpframe import rounding
from dpframe.rounding import format_down, format_given, format_up

numbers = st.floats(min_value=0.0, allow_infinity=False, allow_nan=False)
TYPED = [
    "0.1",
    "1e-05",
    "1e-06",
    "0.3",
    "1",
    "1.5",
    "2.675",
    "0.123456789",
    "12345.678",
    "1e-300",
    "0.000123",
    "100000",
]


@given(numbers)
@example(0.1)
@example(1e-5)
@example(5e-324)
@example(1.7976931348623157e308)
def test_a_given_number_parses_back_to_itself(value: float) -> None:
    assert float(format_given(value)) == value
    assert len(format_given(value)) <= len(repr(value))


@pytest.mark.parametrize("text", TYPED)
def test_what_was_typed_is_what_is_printed(text: str) -> None:
    for formatted in (format_given, format_up, format_down):
        assert text == formatted(float(text))


@given(numbers)
@example(0.1)
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
@example(1.2345e-320)
def test_up_is_not_below_and_down_not_above(value: float) -> None:
    assert float(format_down(value)) <= value <= float(format_up(value))
    if 1e-300 < value < 1e300:
        assert float(format_up(value)) <= value * (1 + 1.01e-5)
        assert float(format_down(value)) >= value * (1 - 1.01e-5)


@given(numbers, numbers)
def test_within_a_limit_it_is_not_printed_above_it(one: float, other: float) -> None:
    value, limit = sorted((one, other))
    assert value <= float(format_up(value, limit)) <= max(limit, float(format_up(value)))
    assert float(format_up(value, limit)) <= limit or value == limit
    assert format_given(limit) == format_up(limit, limit)


@given(st.floats(min_value=1e-6, max_value=1e5), st.integers(1, 6))
def test_just_below_a_limit(limit: float, steps: int) -> None:
    value = limit
    for _ in range(steps):
        value = math.nextafter(value, 0.0)
    assert value <= float(format_up(value, limit)) <= limit


def test_infinity_and_zero() -> None:
    assert ("inf", "0", "inf") == (format_up(math.inf), format_up(0.0), format_up(math.inf, 3.0))


def test_examples() -> None:
    found = doctest.testmod(rounding)
    assert found.failed == 0
    assert found.attempted >= 5
