"""The outcome of an audit, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.tables import table
from dpframe.rounding import format_down, format_given, format_up

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType


@attrs.frozen(kw_only=True, repr=False)
class Audit(Printable, Exportable):
    """The outcome of one audit.

    Args:
        subject: what was audited.
        neighbors: the neighboring relation.
        claim: the epsilon claimed at ``delta``, as the accountant computes it.
        delta: the delta of the audit.
        bound: the audited bound: epsilon is at least this, except with probability ``false_alarm``.
        visible: the bound to expect for a mechanism that spends its claim in full.
        trials: the number of releases on each data set.
        false_alarm: the largest probability that the bound is above the truth.
        pair: the pair of neighbors that was tested.
        statistic: the statistic that distinguished their releases.
        hits: how often the event happened on the data set where it is more frequent.
        misses: how often it happened on the other one.
        pilot: the bound that the pilot expected, for each pair of neighbors.
    """

    subject: str
    neighbors: str
    claim: float
    delta: float
    bound: float
    visible: float
    trials: int
    false_alarm: float
    pair: str
    statistic: str
    hits: int
    misses: int
    pilot: dict[str, float]

    @property
    def power(self) -> float:
        """The share of the claim that the audit would be expected to prove if the claim were spent in full."""
        return self.visible / self.claim if self.claim > 0 else 0.0

    @property
    def violated(self) -> bool:
        """Whether more is lost than claimed, except with probability ``false_alarm``."""
        return self.bound > self.claim

    @property
    def verdict(self) -> str:
        """The outcome in words; "no violation found" is not a proof of the claim."""
        return "VIOLATED" if self.violated else "no violation found"

    def to_dict(self) -> dict[str, Any]:
        """All fields, with ``power`` and ``verdict``, as plain data."""
        return attrs.asdict(self) | {"power": self.power, "verdict": self.verdict}

    def __rich__(self) -> RenderableType:
        return rendered([self])


def rendered(audits: Iterable[Audit]) -> RenderableType:
    """A table of audits, with a note on how to read it.

    Args:
        audits: the audits to show.
    """
    from rich.console import Group
    from rich.text import Text

    audits = list(audits)
    rows = [
        {
            "audited": f"{audit.subject}, {audit.neighbors}",
            "claim": f"ε = {format_up(audit.claim)} at δ = {format_given(audit.delta)}",
            "bound": f"ε ≥ {format_down(audit.bound)}",
            "power": f"{audit.power:.0%}",
            "told apart by": f"{audit.statistic}, {audit.pair}",
            "verdict": audit.verdict,
        }
        for audit in audits
    ]
    trials = ", ".join(sorted({f"{audit.trials:,}" for audit in audits}))
    alarm = sum(audit.false_alarm for audit in audits)
    note = (
        f"{trials} releases on either data set. A bound is above the truth with probability at most {alarm:.3g}, all "
        "rows together. Power: the share of a claim that such an audit is expected to show if it is spent in full. "
        "No audit proves that a claim holds."
    )
    return Group(table(rows), Text(note))
