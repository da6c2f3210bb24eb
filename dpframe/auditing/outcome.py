"""What an audit found, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType


@attrs.frozen(kw_only=True, repr=False)
class Audit(Printable, Exportable):
    """The outcome of one audit.

    Args:
        subject: what was audited.
        neighbors: the neighbouring relation.
        claim: the epsilon claimed at ``delta``, as the accountant computes it.
        delta: the delta of the audit.
        bound: the audited bound: epsilon is larger than this, except with probability ``false_alarm``.
        visible: the bound expected of a mechanism that spends its claim in full: what the audit can see.
        trials: releases on either data set.
        false_alarm: the largest probability that the bound is above the truth.
        pair: the neighbours that were tested.
        statistic: how their releases were told apart.
        hits: how often the event happened on the data set it speaks for.
        misses: how often it happened on the other one.
        pilot: what the pilot expected of each pair of neighbours.
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
        """The share of its claim that the audit sees of a mechanism that spends it in full."""
        return self.visible / self.claim if self.claim > 0 else 0.0

    @property
    def violated(self) -> bool:
        """Whether more is lost than claimed, except with probability ``false_alarm``."""
        return self.bound > self.claim

    @property
    def verdict(self) -> str:
        return "VIOLATED" if self.violated else "no violation found"

    def to_dict(self) -> dict[str, Any]:
        """Everything here, with ``power`` and ``verdict``."""
        return attrs.asdict(self) | {"power": self.power, "verdict": self.verdict}

    def __rich__(self) -> RenderableType:
        return rendered([self])


def rendered(audits: Iterable[Audit]) -> RenderableType:
    """A table of audits, with what its words mean."""
    from rich.console import Group
    from rich.text import Text

    audits = list(audits)
    rows = [
        {
            "audited": f"{audit.subject}, {audit.neighbors}",
            "claim": f"ε = {audit.claim:.4g} at δ = {audit.delta:g}",
            "bound": f"ε > {audit.bound:.4g}",
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
        "rows together. Power: the share of its claim that such an audit shows of a mechanism that spends it in full. "
        "No audit proves that a claim holds."
    )
    return Group(table(rows), Text(note))
