"""The figures of "Which mechanism?", from the benchmark results: ``python -m docs.building.measured`` writes them."""

from __future__ import annotations

import re

from docs.building.stage import DOCS, ROOT

PAGE = DOCS / "how-to" / "which-mechanism.md"
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
PART = re.compile(r"(<!-- measured: written by python -m docs\.building\.measured -->\n).*?(<!-- end -->\n)", re.S)
TASKS = (
    "covariance",
    "correlation",
    "eigenvalues",
    "subspace, k = 1",
    "subspace, k = 3",
    "subspace, k = 5",
    "regression",
)
PLANS = {
    "plain": "`gaussian` over the ranges",
    "centered by hand": "center by hand",
    "adaptive": "`adaptive`",
    "best rival of each cell": "best published method",
}


def section(title: str) -> list[dict[str, str]]:
    """The rows of a table of the results.

    Args:
        title: the heading above it.
    """
    text = RESULTS.read_text(encoding="utf-8").split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return [dict(zip(lines[0], cells, strict=True)) for cells in lines[2:]]


def table() -> str:
    """Errors on real tables, each as a share of the error of the plain plan."""
    found = {row["what"]: row for row in section("Errors on real tables")}

    def figure(task: str, plan: str, column: str = "ratio") -> str:
        return f"{float(found[f'{task}: {plan}'][column]):.2f}"

    head = ["task", *PLANS.values(), "worst case of `adaptive`"]
    rows = [[task, *(figure(task, plan) for plan in PLANS), figure(task, "adaptive", "worst")] for task in TASKS]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def written(text: str) -> str:
    """The page with the figures as they are now.

    Args:
        text: the page.
    """
    made, count = PART.subn(lambda found: f"{found[1]}\n{table()}\n{found[2]}", text)
    if count != 1:
        raise ValueError(f"{PAGE.name} must have one place for the figures; it has {count}")
    return made


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
