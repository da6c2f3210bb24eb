"""Reports of ledgers, their history and their verification."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.tables import pairs, sentence, table
from dpframe.ledger.chain import Entry
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.details import in_words
from dpframe.ledger.filters import read
from dpframe.losses import ModelBased
from dpframe.rounding import format_down, format_given, format_up
from dpframe.run.wording import slack_of_runs

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.ledger.verify import Verified

WIDTH = 24  # of a bar, in characters


def render_ledger(place: str, head: str, datasets: Sequence[Dataset]) -> RenderableType:
    """The report of a ledger: every data set with what is left of its budget.

    Args:
        place: the path or URL of the ledger.
        head: the hash of its last entry.
        datasets: all data sets.
    """
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"Ledger {place}", style="bold")]
    if not datasets:
        parts.append(Text("  no data sets yet; add one with ledger.add, or dpframe ledger create"))
    for dataset in datasets:
        parts += [Text(), Text(dataset.name, style="bold"), pairs(described(dataset))]
    return Group(*parts, Text(), Text(f"Head: {head}", style="dim"))


def _by(person: str | None) -> str:
    return "" if person is None else f", enforced by {person!r}"


def described(dataset: Dataset) -> dict[str, str]:
    """The labels and texts that describe a data set.

    Args:
        dataset: the data set.
    """
    runs, rows = counted(dataset.runs, "run"), counted(dataset.contributions, "row")
    return {
        "Left": bar(dataset.left),
        "Budget": f"{_limit(attrs.asdict(dataset.budget))} ({dataset.accountant})",
        "Spent": f"epsilon={format_up(dataset.spent.epsilon, dataset.budget.epsilon)} over {runs}",
        **({"Besides": sentence(dataset.caveat)} if dataset.caveat else {}),
        **({"Numerics": slack_of_runs(dataset.slack)} if dataset.slack else {}),
        "Fits": f"a plan of up to epsilon={format_down(dataset.remaining.epsilon)} at the same delta",
        "People": f"{dataset.neighbors}, at most {rows} each" + _by(dataset.person),
    }


def counted(number: int, what: str) -> str:
    """A number with its noun.

    Args:
        number: the number.
        what: the noun in the singular.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number} {what}" + ("" if number == 1 else "s")


def bar(share: float) -> str:
    """A share as a bar and a percentage, rounded down.

    Args:
        share: from 0 to 1.

    >>> bar(0.5)
    '████████████░░░░░░░░░░░░ 50 %'
    """
    full = int(WIDTH * share)
    return "█" * full + "░" * (WIDTH - full) + f" {int(100 * share)} %"


@attrs.frozen(kw_only=True, repr=False)
class History(Printable, Exportable, Sequence[Entry]):
    """Entries of a ledger, in order.

    Args:
        entries: the entries.
    """

    entries: tuple[Entry, ...]

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self.entries[index]

    def __len__(self) -> int:
        return len(self.entries)

    def to_dict(self) -> dict[str, Any]:
        """The entries as plain data."""
        return {"entries": [{**attrs.asdict(entry), "body": entry.stored} for entry in self.entries]}

    def __rich__(self) -> RenderableType:
        return table([_cells(entry) for entry in self.entries])


def _cells(entry: Entry) -> dict[str, str]:
    content = entry.content
    return {
        "entry": str(entry.number),
        "time (UTC)": content["time"][:19].replace("T", " "),
        "data set": entry.dataset,
        "what": entry.kind,
        "run": content.get("run", "")[:8],
        "details": "; ".join(filter(None, (_details(entry.kind, content), in_words(content["details"])))),
        "hash": entry.hash[:12] + "…",
    }


def _limit(budget: dict[str, Any]) -> str:
    return f"epsilon={format_given(budget['epsilon'])}, delta={format_given(budget['delta'])}"


def _details(kind: str, content: dict[str, Any]) -> str:
    match kind:
        case "created":
            return "with a key" if content["keyed"] else "without a key"
        case "dataset":
            return (
                f"{_limit(content['budget'])}, {content['accountant']}, {content['neighbors']}, "
                f"contributions={content['contributions']}"
                + (f", person={content['person']!r}" if "person" in content else "")
            )
        case "reserved":
            losses = [read(loss) for parts in content["losses"].values() for loss in parts]
            summed = ", ".join(str(loss) for loss in losses if not isinstance(loss, ModelBased)) or "nothing"
            apart = "".join(f"; not summed: {loss}" for loss in losses if isinstance(loss, ModelBased))
            error = float(Fraction(content.get("law_error", 0)))
            moved = f"; law error {error:.1e}" if error else ""
            in_all = f"in all epsilon={format_up(content['epsilon'])}"
            return f"{summed}{apart}{moved}; {in_all}; plan {content['plan'][:12]}…"
        case "released":
            return f"values {content['released'][:12]}…"
        case "repaired":
            return f"the clock of entry {content['entry']} was wrong: it said {content['said'][:19]}"
        case _:
            values = f"; values {content['released'][:12]}…" if "released" in content else ""
            return f"failed in step {content['step']!r}; the charge stands{values}"


def render_verified(verified: Verified) -> RenderableType:
    """The report of a verification: what was checked, and what could not be.

    Args:
        verified: the outcome of the verification.
    """
    checked = "found among the entries" if verified.known else "none given: entries missing at the end go unnoticed"
    return pairs(
        {
            "Verified": f"hashes, numbers, sums and limits of {verified.entries} entries about "
            f"{counted(verified.datasets, 'data set')} and {counted(verified.runs, 'run')}",
            "Unfinished": f"{counted(verified.unfinished, 'run')} without a recorded outcome; charges stand anyway",
            "Noted head": checked,
            **({"Result": "charged here, with these values and this statement"} if verified.covered else {}),
            "Head": verified.head,
        }
    )
