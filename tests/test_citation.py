"""The citation names the version that is here."""

from __future__ import annotations

import re
from pathlib import Path

import dpframe


def test_the_cited_version_is_the_installed_one() -> None:
    text = (Path(__file__).parent.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert [dpframe.__version__] == re.findall(r"^version: (.+)$", text, re.M)
