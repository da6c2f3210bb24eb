"""The page about the architecture says what the code does."""

from __future__ import annotations

import re

from docs.figures import architecture


def test_the_picture_is_drawn_from_the_layers() -> None:
    assert architecture.picture() == architecture.PICTURE.read_text(encoding="utf-8"), (
        "draw it anew: python -m docs.figures.architecture"
    )


def test_the_walk_is_written_from_the_docstrings() -> None:
    text = architecture.PAGE.read_text(encoding="utf-8")
    assert architecture.page(text) == text, "write it anew: python -m docs.figures.architecture"


def test_a_run_takes_this_walk() -> None:
    assert list(architecture.WALK) == architecture.calls()


def test_the_page_counts_the_steps_before_the_charge() -> None:
    text = architecture.PAGE.read_text(encoding="utf-8")
    (step,) = re.findall(r"^(\d+)\. `dpframe\.ledger\.account\.Account\.reserve`", text, re.M)
    assert f"\nThe charge is step {step}. " in text
