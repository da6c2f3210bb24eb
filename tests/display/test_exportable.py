"""JSON of reports: strict, and able to hold whatever was paid for."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpframe.display.exportable import NOT_FINITE, as_json


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_numbers_that_json_lacks_are_strings() -> None:
    assert list(NOT_FINITE) == strict(as_json(list(NOT_FINITE.values())))
    assert {"a": ["NaN", {"b": "-Infinity"}]} == strict(as_json({"a": (math.nan, {"b": np.float64(-math.inf)})}))


def test_what_a_plugin_adds_is_written_as_it_holds() -> None:
    content = {"array": np.eye(2), "single": np.float32(0.5), "count": np.int64(7), 3: Fraction(1, 3), "none": None}
    expected = {"array": [[1, 0], [0, 1]], "single": 0.5, "count": 7, "3": "1/3", "none": None}
    assert expected == strict(as_json(content))


def test_plain_data_is_written_as_ever() -> None:
    content = {"a": [1, 2.5, True, None, "ε"], "b": {}}
    assert json.dumps(content, indent=1) == as_json(content)
