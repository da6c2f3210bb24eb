"""The result of a run: read-only values, each with its record, and the statement of the guarantee."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from numpy.typing import NDArray

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.display.visible import Visible
from dpframe.kinds import Kind
from dpframe.run.statement import Line, Statement
from dpframe.spec.budget import Budget

if TYPE_CHECKING:
    from rich.console import RenderableType

FORMAT = 1


@attrs.frozen(kw_only=True)
class Record:
    """One value of a result and its provenance.

    Args:
        name: the name of the step.
        value: the value, of its kind.
        line: the step as reports show it: mechanism, level, loss, guarantee, numerics.
    """

    name: str
    value: Kind
    line: Line

    @property
    def kind(self) -> type[Kind]:
        """The kind of the value."""
        return type(self.value)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the coordinates; None where the plan has no columns."""
        return None if self.value.axes is None else self.value.axes.labels

    @property
    def guarantee(self) -> str:
        """The guarantee of the step in words."""
        return self.line.guarantee

    @property
    def numerics(self) -> str:
        """The grade of the numerics: "exact", "certified" or "floating"."""
        return self.line.numerics


@attrs.frozen(kw_only=True)
class Charge(Exportable):
    """The charge of a run to a data set of a ledger.

    Args:
        dataset: the name of the data set in the ledger.
        run: the random identifier of the run.
        entry: the number of the entry that reserved its loss.
        head: the hash of the last entry that this run added. Note it: ``ledger.verify(head=...)`` detects later whether
            anything up to it was changed or is missing.
        budget: what all runs of the data set may spend.
        spent: what all runs so far have spent, this one included.
        remaining: the largest budget, at the same delta, of a plan that would still fit.
        caveat: a warning where some runs rest on a model of the data, which none of these figures includes; else empty.
        slack: the numerical slack of all runs in delta, which none of these figures includes either.
        signature: of an outcome that was not recorded: with it, ``ledger.record(result)`` can do so later. Else empty.
        notices: what else is to be known: that the same plan was run before, or that the outcome was not recorded.
    """

    dataset: str
    run: str
    entry: int
    head: str
    budget: Budget
    spent: Budget
    remaining: Budget
    caveat: str = ""
    slack: float = 0.0
    signature: str = ""
    notices: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The charge as plain data."""
        rare = ("signature", "notices")
        return {field: value for field, value in attrs.asdict(self).items() if value or field not in rare}


@attrs.frozen(kw_only=True, repr=False)
class Result(Printable, Exportable, Mapping[str, NDArray[Any]]):
    """The released values of one run.

    ``result[name]`` is a read-only array, ``result.record(name)`` its provenance, ``result.spent`` the cost of the run,
    ``result.charge`` the entry of the ledger that it was charged to, and ``result.warnings`` what to look at first.

    Args:
        statement: what was promised and spent.
        records: the values with their provenance, by step.
        private: False where the run had a fixed seed.
        versions: the versions of dpframe and of the plugins.
        charge: the charge to a ledger; None without one.
        warnings: what in the released values cannot be told from zero, in sentences; see
            :mod:`dpframe.run.within_noise`. They depend on released values only.
        failed: why steps have no value, in words, by step; empty for a complete run.
        choices: what steps chose from released values, and why, in sentences, by step.
    """

    statement: Statement
    records: dict[str, Record]
    private: bool = True
    versions: dict[str, str] = attrs.field(factory=dict)
    charge: Charge | None = None
    warnings: tuple[str, ...] = ()
    failed: dict[str, str] = attrs.field(factory=dict)
    choices: dict[str, str] = attrs.field(factory=dict)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.record(name).value.array

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def record(self, name: str) -> Record:
        """The value of a step with its kind, guarantee, numerics and column names.

        Args:
            name: the name of the step.
        """
        if name in self.failed:
            raise KeyError(f"step {name!r} has no result: {self.failed[name]}")
        if name not in self.records:
            raise KeyError(f"there is no result {name!r}; there is: {', '.join(self.records)}")
        return self.records[name]

    @property
    def spent(self) -> Budget:
        """The guarantee of this run, as the accountant computed it."""
        return self.statement.spent

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the plan's hash, the run and every value of the result, as recorded in a ledger."""
        content = {
            "plan": self.statement.plan,
            "run": None if self.charge is None else self.charge.run,
            "results": self._values(),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def _values(self) -> dict[str, Any]:
        return {name: _dump(record.value) for name, record in self.records.items()}

    def __rich__(self) -> RenderableType:
        from dpframe.run.render import render_result

        return Visible(render_result(self))  # a loaded result may hold any text

    @property
    def _may_be_shown(self) -> bool:
        return self.private

    def to_dict(self) -> dict[str, Any]:
        """The statement, all values and the charge, as plain data."""
        return {
            "format": FORMAT,
            "private": self.private,
            **({"caveat": self.statement.caveat} if self.statement.caveat else {}),
            "warnings": list(self.warnings),
            "statement": self.statement.to_dict(),
            "versions": self.versions,
            "charge": None if self.charge is None else self.charge.to_dict(),
            **({"failed": self.failed} if self.failed else {}),
            **({"choices": self.choices} if self.choices else {}),
            "results": self._values(),
        }

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that :meth:`to_json` wrote; every field is checked, and DataError says which one is wrong.

        Args:
            path: the path of the file.
        """
        from dpframe.run.result_file import load

        return load(path)


def _dump(value: Kind) -> dict[str, Any]:
    array = value.array
    numbers = {"real": array.real.tolist(), "imaginary": array.imag.tolist()} if array.dtype.kind == "c" else None
    others = {
        field.name: getattr(value, field.name)
        for field in attrs.fields(type(value))
        if field.name not in ("array", "axes")
    }
    extra = {name: _dump(part) if isinstance(part, Kind) else part for name, part in others.items()}
    return {
        "kind": type(value).__name__,
        "array": numbers or array.tolist(),
        "axes": None if value.axes is None else attrs.asdict(value.axes),
        **extra,
    }
