"""The picture of the layers and the walk of one run, drawn from the code: ``python -m docs.figures.architecture``.

Both stand in ``docs/explanation/architecture.md``. The sentences are those of the docstrings, and a traced run shows
that the functions of the walk are called in this order (``tests/test_architecture.py``).
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
import threading
from html import escape
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dpframe as dp
from docs.figures.layers import LAYERS

HERE = Path(__file__).parent
CORE = Path(dp.__file__).parent
PICTURE = HERE / "layers.svg"
PAGE = HERE.parent / "explanation" / "architecture.md"
BEGIN, END = "<!-- walk: written by python -m docs.figures.architecture -->", "<!-- end of walk -->"

WIDTH, BOX = 980, 24  # of the picture, and the height of a line
COLORS = (  # from the first layer that holds the module on down
    ("demo", "#e4f1e6", "#2f7d4f"),  # what people start
    ("ledger", "#eef1f5", "#4a5866"),  # what goes with runs
    ("run", "#fff6dc", "#8a6d1a"),  # plans and runs
    ("sources", "#fbe9e4", "#b3541e"),  # where private data is read
    ("accounting", "#eaf0fb", "#2b5797"),  # what is declared, priced and drawn
)


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph)[0].rstrip(":").replace("``", "`")


def room_sentence(room: str) -> str:
    """What the docstring of a module or package of the core says first."""
    path = CORE / room / "__init__.py"
    source = (path if path.exists() else CORE / f"{room}.py").read_text(encoding="utf-8")
    return first_sentence(ast.get_docstring(ast.parse(source)) or "")


def picture() -> str:
    """The layers from the highest to the lowest, as SVG."""
    lines, y, color = [], 44, COLORS[0]
    for layer in reversed(LAYERS):
        color = next((each for each in COLORS if each[0] in layer), color)
        height = BOX * len(layer) + 10
        size = f'width="{WIDTH - 32}" height="{height}" rx="6"'
        lines.append(f'<rect x="16" y="{y}" {size} fill="{color[1]}" stroke="{color[2]}"/>')
        for number, room in enumerate(layer):
            base = y + BOX * number + 22
            lines.append(f'<text x="30" y="{base}" font-weight="700">{room}</text>')
            lines.append(f'<text x="170" y="{base}">{escape(shortened(room_sentence(room)))}</text>')
        y += height + 6
    title = "A module imports from its own layer and from those below it, never from one above."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 10}" role="img" aria-labelledby="t"',
            "     font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\">",
            '  <title id="t">The layers of the core</title>',
            f'  <rect width="{WIDTH}" height="{y + 10}" rx="10" fill="#ffffff"/>',
            '  <g font-size="14" fill="#1b2733">',
            f'  <text x="16" y="28" font-weight="700">{title}</text>',
            *(f"  {line}" for line in lines),
            "  </g>",
            "</svg>",
            "",
        ]
    )


def shortened(text: str, most: int = 112) -> str:
    """A sentence that fits in its box."""
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(",;:") + " …"


WALK = (
    "dpframe.plan.plan:Plan.run",
    "dpframe.run.runner:run",
    "dpframe.ledger.account:Account.open",
    "dpframe.sources.source:open_source",
    "dpframe.ledger.account:Account.calibrated",
    "dpframe.plan.pricing:priced",
    "dpframe.plan.plan:Plan.bind",
    "dpframe.run.statement:statement",
    "dpframe.run.memory:check_memory",
    "dpframe.run.derivations:rehearse",
    "dpframe.ledger.account:Account.reserve",
    "dpframe.run.runner:draw_and_derive",
    "dpframe.run.runner:read",
    "dpframe.reading.totals:accumulate",
    "dpframe.reading.mapper:mapper",
    "dpframe.reading.column_map:ColumnMap.coordinates",
    "dpframe.statistics:Moment.add_to",
    "dpframe.run.runner:act",
    "dpframe_gaussian.mechanism:SymmetricGaussian.release",
    "dpframe.noise.gaussian:rounded_gaussian",
    "dpframe.postprocess.center:MeanOf.apply",
    "dpframe.ledger.account:Account.released",
)
"""The functions that a run of a small plan against a ledger calls, in the order of their first calls; what is called on
made-up values does not count."""


def walk() -> str:
    """The functions of the walk with the first sentences of their docstrings, as a list."""
    lines = []
    for number, station in enumerate(WALK, start=1):
        module, _, name = station.partition(":")
        subject: Any = import_module(module)
        for part in name.split("."):
            subject = getattr(subject, part)
        lines.append(f"{number}. `{module}.{name}`: {first_sentence(getdoc(subject) or '')}")
    return "\n".join(lines)


def calls() -> list[str]:
    """The functions of the walk in the order in which a run calls them first."""
    seen: dict[str, None] = {}
    rehearsing = False

    def trace(frame: FrameType, event: str, _: Any) -> None:
        nonlocal rehearsing
        if event not in ("call", "return"):
            return
        name = f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"
        if event == "call" and name in WALK and not rehearsing:
            seen.setdefault(name)
        if name == "dpframe.run.derivations:rehearse":
            rehearsing = event == "call"

    plan = dp.Plan(
        rows=dp.Rows(
            columns=[dp.Column("age", 0, 100), dp.Column("hours", 0, 99)], neighbors="add-remove", center=True
        ),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian"), dp.derive("mean", "mean", of="moment")],
    )
    table = {"age": np.arange(50.0), "hours": np.arange(50.0)}
    with tempfile.TemporaryDirectory() as folder:
        ledger = dp.Ledger.create(Path(folder) / "budget.db")
        ledger.add("clinic", budget=dp.Budget(epsilon=3.0, delta=1e-6), neighbors="add-remove")
        before = sys.getprofile()
        threading.setprofile(trace)
        sys.setprofile(trace)
        try:
            plan.run(table, ledger=ledger, dataset="clinic")
        finally:
            sys.setprofile(before)
            threading.setprofile(None)
    return list(seen)


def page(text: str) -> str:
    """The page with the walk as it is now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{walk()}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
