"""The conformance kit finds every planted mistake, and no check of it is dispensable.

``python -m tests.testing.test_planted`` writes the table of the documentation.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from dpframe.testing import check
from dpframe.testing.checks import kit
from tests.support.heavy import HeavyTrace
from tests.support.packages import ROOT
from tests.support.planted.catalog import OPTIONS, PLANTED, RIGHT
from tests.support.planted.randomness import ReusedStream
from tests.support.planted.right import RESULTS

PAGE = ROOT / "docs" / "explanation" / "how-we-test-privacy.md"
TABLE = re.compile(r"(?<=<!-- planted -->\n).*?(?=<!-- end -->)", re.S)
MISTAKES: dict[str, tuple[Any, tuple[str, ...]]] = PLANTED | {
    "a heavy entry module": (HeavyTrace(), ("light-entry-module",))
}


def checked(mistake: str, **options: Any) -> tuple[str, ...]:
    """The checks that find a mistake."""
    subject, _ = MISTAKES[mistake]
    try:
        return check(subject, **OPTIONS.get(type(subject), {}) | options).failed
    finally:
        RESULTS.clear()
        ReusedStream.streams.clear()


EVERY = frozenset(each.name for checks in kit().values() for each in checks)
SUBTLE = (
    "sensitivity without the constant coordinate",
    "inverted Bingham exponent",
    "sensitivity of the other neighboring relation",
)
"""Mistakes that show only in thousands of releases, so that it takes long to find them."""


@pytest.mark.parametrize(
    "mistake", [pytest.param(each, marks=[pytest.mark.long] if each in SUBTLE else []) for each in MISTAKES]
)
def test_each_planted_mistake_is_found_by_its_checks(mistake: str) -> None:
    expected = MISTAKES[mistake][1]
    assert expected == checked(mistake, without=EVERY - set(expected))


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_other_check_finds_it(mistake: str) -> None:
    assert MISTAKES[mistake][1] == checked(mistake)


@pytest.mark.parametrize("right", RIGHT, ids=lambda subject: subject.name)
def test_nothing_is_found_where_nothing_is_wrong(right: Any) -> None:
    check(right, **OPTIONS.get(type(right), {})).assert_passed()


def test_without_any_one_check_a_mistake_would_pass() -> None:
    """For every check there is a mistake that it alone finds; the long run shows that no other check does."""
    assert EVERY == {found[0] for _, found in MISTAKES.values() if len(found) == 1}


@pytest.mark.parametrize("mistake", ["NaN slipping past the clip", "a random post-processor", "draw before charge"])
def test_without_its_check_the_mistake_passes(mistake: str) -> None:
    assert () == checked(mistake, without=["stated-loss", *MISTAKES[mistake][1]])


def table() -> str:
    lines = [f"| {mistake} | {', '.join(f'`{name}`' for name in found)} |" for mistake, (_, found) in MISTAKES.items()]
    return "\n".join(["| planted mistake | found by |", "|---|---|", *lines, ""])


def test_the_table_of_the_documentation_is_this_one() -> None:
    (shown,) = TABLE.findall(PAGE.read_text(encoding="utf-8"))
    assert table() == shown


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
