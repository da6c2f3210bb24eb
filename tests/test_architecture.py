"""The page about the architecture says what the code does."""

from __future__ import annotations

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
