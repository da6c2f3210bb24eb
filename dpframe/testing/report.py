"""The outcomes of checks, as a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.tables import table

if TYPE_CHECKING:
    from rich.console import RenderableType


@attrs.frozen(kw_only=True)
class Finding:
    """The outcome of one check.

    Args:
        check: its name.
        outcome: "passed", "failed", or "not run".
        detail: what the check measured, why it failed, or why it was not run.
    """

    check: str
    outcome: Literal["passed", "failed", "not run"]
    detail: str = ""


@attrs.frozen(kw_only=True, repr=False)
class Report(Printable, Exportable):
    """The outcome of all checks on one object.

    Args:
        subject: what was checked.
        role: "mechanism", "statistic", "postprocessor", "accountant" or "bound oracle".
        findings: one for each check of the role.
    """

    subject: str
    role: str
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that failed."""
        return tuple(finding.check for finding in self.findings if finding.outcome == "failed")

    @property
    def summary(self) -> str:
        """How many checks passed, failed and were not run, and why those were not run."""
        count = {
            outcome: [finding for finding in self.findings if finding.outcome == outcome]
            for outcome in ("passed", "failed", "not run")
        }
        counts = f"{self.role} {self.subject}: {len(count['passed'])} checks passed, {len(count['failed'])} failed"
        reasons = "; ".join(f"{finding.check}: {finding.detail}" for finding in count["not run"])
        return f"{counts}, {len(count['not run'])} not run" + (f" ({reasons})" if reasons else "")

    def assert_passed(self) -> None:
        """Raise AssertionError with the whole report if a check failed."""
        if self.failed:
            raise AssertionError(f"{self.summary}\n{self}")

    def to_dict(self) -> dict[str, Any]:
        return attrs.asdict(self)

    def __rich__(self) -> RenderableType:
        return table([attrs.asdict(finding) for finding in self.findings])
