"""The figures of ``docs/how-to/look-at-a-result.md``, drawn by the code of that page itself."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

from docs.figures.style import save

HERE = Path(__file__).parent
PAGE = HERE.parent / "how-to" / "look-at-a-result.md"
DRAWN = ("correlation", "eigenvalues", "components", "means", "compared", "epsilons")
"""The names of the displays on the page."""


def results() -> None:
    """Run the blocks of the page and save what they draw."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, Any] = {"__name__": "figures"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        for block in blocks:
            exec(block, names)
    for name in DRAWN:
        save(names[name].plot().figure_, HERE / f"look-{name}.svg")
