"""``dpframe init``: a plan file to fill in, from the names and types of columns alone."""

from __future__ import annotations

from pathlib import Path

from dpframe.errors import DataError
from dpframe.plan.toml import write
from dpframe.sources.names import NUMBER, OTHER, TIME, TRUTH, UNKNOWN, WORDS, Named

HEAD = """\
# A plan to fill in. Lines that begin with "#:" wait for you: remove the mark where you fill one in, and the line where
# you do not need it.
# Only the names and types of the columns were read, and no cell.
#
#   dpframe explain {plan}             what it promises and costs; names what is still missing
#   dpframe run {plan} DATA --dry-run  everything but charge, read and draw
#   dpframe run {plan} DATA            the release

format = 1

[rows]
# What one person may change: "add-remove", a row is there or not, and how many rows there are is protected as well;
# or "replace", a row is exchanged for another, and the number of rows is public.
#: neighbors = "add-remove"
# If a person may have several rows, say how many at most, and which column tells people apart.
#: contributions = 1
#: person = "id"
"""
RANGES = """
# Ranges and levels are promises about what can be in the data, and public. Take them from the questionnaire, the
# definition of the column, or common sense (ages: 0 to 100; hours in a week: 0 to 168), never from the rows: a smallest
# or largest value read off the data tells about one person. Cells beyond a range count as its end. A range much wider
# than needed costs accuracy. A row with a missing cell counts as nothing, unless its column says what such a cell
# counts as, for example missing = 40.0. Levels are words: levels = ["F", "M"]. Remove the columns that you do not need.
"""
REST = """
[budget]
epsilon = 1.0  # the most that a run may spend; smaller is more private
delta = 1e-6   # far below one over the number of rows; 0 for a pure guarantee

# A covariance, with mean and count, by a recipe that first finds where the rows are.
[[steps]]
release = "covariance"
with = "adaptive"
goal = "covariance"

[[steps]]
derive = "mean_in_units"
with = "to-units"
of = {ref = "covariance.mean"}

[[steps]]
derive = "covariance_in_units"
with = "to-units"
of = {ref = "covariance"}

[[steps]]
derive = "correlation"
with = "correlation"
of = {ref = "covariance"}
"""
RANGE = ("#: low =", "#: high =")
LINES = {
    NUMBER: RANGE,
    TRUTH: ("low = 0.0", "high = 1.0"),
    WORDS: ("#: levels = []",),
    UNKNOWN: (*RANGE, "#: levels = []  # of a column of words, instead of low and high"),
}
LEFT_OUT = {
    TIME: "a date or time; turn it into a number first, say days since a public date",
    OTHER: "of a type that cannot be released",
}


def skeleton(columns: list[Named], plan: str) -> str:
    """The text of a plan file to fill in.

    Args:
        columns: the columns of the data.
        plan: the name of the plan file, for the comments in it.
    """
    parts = [HEAD.format(plan=plan), RANGES, *map(_column, columns), REST]
    return "".join(parts)


def _column(column: Named) -> str:
    table = write({"name": column.name}).strip()
    if column.holds in LEFT_OUT:
        return f"\n# Left out, since it is {LEFT_OUT[column.holds]}: {table}\n"
    return "\n".join(["", "[[rows.columns]]", table, *LINES[column.holds], ""])


def write_skeleton(columns: list[Named], path: Path) -> None:
    """Write a plan file to fill in, which must not exist.

    Args:
        columns: the columns of the data.
        path: the path of the plan file.
    """
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(skeleton(columns, path.name))
    except FileExistsError:
        raise DataError(f"{path} exists already; nothing was written. Choose another name with -o PLAN.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
