"""Results as a table on the terminal, as JSON and as a page."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import attrs
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from benchmarks.table import Row, Table, shown

JSON = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parent / "RESULTS.md"


@attrs.frozen(kw_only=True)
class Measured:
    """A section that was run.

    Args:
        table: its figures.
        machine: what it was measured on, and with which versions.
        date: when, in UTC.
        rounds: how many rounds of timings were counted.
        disturbed: during how many of them other processes were busy.
    """

    table: Table
    machine: dict[str, str]
    date: str
    rounds: int
    disturbed: int

    @property
    def circumstances(self) -> str:
        """When it was measured, and whether the machine was quiet."""
        if not self.rounds:
            return f"Measured {self.date}."
        told = f"Measured {self.date}; other processes were busy during {self.disturbed} of {self.rounds} rounds."
        return f"{told} These timings are not to be used: measure again." if self.disturbed > self.rounds / 4 else told


def show(measured: Measured, console: Console) -> None:
    """Print a section."""
    table = measured.table
    drawn = RichTable(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    drawn.add_column("what", overflow="fold")
    for column in table.columns:
        drawn.add_column(column, justify="left" if isinstance(table.rows[0].figures.get(column), str) else "right")
    drawn.add_column("goal", overflow="fold")
    drawn.add_column("verdict", overflow="fold")
    for row in table.rows:
        verdict = Text(row.verdict, style="green" if row.verdict == "met" else "yellow")
        drawn.add_row(row.what, *_cells(row, table.columns), row.goal, verdict)
    console.print(drawn)
    for note in (*table.notes, measured.circumstances):
        console.print(note, style="dim", highlight=False)
    console.print()


def load() -> dict[str, Measured]:
    """The sections of the last results; empty where there are none."""
    if not JSON.exists():
        return {}
    content = json.loads(JSON.read_text(encoding="utf-8"))
    return {name: _section(found, content["machines"]) for name, found in content["sections"].items()}


def _section(found: dict[str, Any], machines: dict[str, dict[str, str]]) -> Measured:
    table = found["table"]
    rows = tuple(Row(**row) for row in table["rows"])
    return Measured(
        table=Table(
            title=table["title"], notes=tuple(table["notes"]), rows=rows, details=tuple(table.get("details", ()))
        ),
        machine=machines[found["machine"]],
        date=found["date"],
        rounds=found["rounds"],
        disturbed=found["disturbed"],
    )


def save(sections: dict[str, Measured]) -> None:
    """Write results.json and the page made from it."""
    machines = _machines(sections)
    content = {
        "machines": machines,
        "sections": {
            name: {**attrs.asdict(section), "machine": _letter(section, machines)} for name, section in sections.items()
        },
    }
    JSON.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    PAGE.write_text(_page(sections, machines), encoding="utf-8")


def _machines(sections: dict[str, Measured]) -> dict[str, dict[str, str]]:
    """The machines of all sections by letter, in the order of their first section."""
    found: list[dict[str, str]] = []
    for section in sections.values():
        if section.machine not in found:
            found.append(section.machine)
    return dict(zip(ascii_uppercase, found, strict=False))


def _letter(section: Measured, machines: dict[str, dict[str, str]]) -> str:
    return next(letter for letter, machine in machines.items() if machine == section.machine)


def _page(sections: dict[str, Measured], machines: dict[str, dict[str, str]]) -> str:
    facts = dict.fromkeys(fact for machine in machines.values() for fact in machine)
    lines = [
        "# Benchmark results",
        "",
        "Written by `make bench`; not edited by hand. Compare times of one machine only.",
        "",
    ]
    lines += [f"| machine | {' | '.join(machines)} |", "|---|" + "---|" * len(machines)]
    lines += [f"| {fact} | {' | '.join(machine.get(fact, '') for machine in machines.values())} |" for fact in facts]
    lines += [""]
    for section in sections.values():
        table = section.table
        lines += [f"## {table.title}", ""]
        lines += ["| what | " + " | ".join(table.columns) + " | goal | verdict |"]
        lines += ["|---|" + "---:|" * len(table.columns) + "---|---|"]
        for row in table.rows:
            lines.append(f"| {' | '.join([row.what, *_cells(row, table.columns), row.goal, row.verdict])} |")
        circumstances = f"Machine {_letter(section, machines)}. {section.circumstances}"
        lines += ["", *(f"{note}\n" for note in (*table.notes, circumstances))]
    return "\n".join(lines).rstrip() + "\n"


def _cells(row: Row, columns: list[str]) -> list[str]:
    return [shown(row.figures[column]) if column in row.figures else "" for column in columns]
