"""What a run returns: read-only values, each with its record, and the statement they were released under."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.display.exportable import Exportable
from dpframe.display.printable import Printable
from dpframe.errors import DataError
from dpframe.kinds import Axes, Kind
from dpframe.run.statement import Line, Statement
from dpframe.spec.budget import Budget

if TYPE_CHECKING:
    from rich.console import RenderableType

FORMAT = 1


@attrs.frozen(kw_only=True)
class Record:
    """One result and where it came from.

    Args:
        name: the step's name.
        value: the value, of its kind.
        line: the step as reports show it: mechanism, level, loss, guarantee, numerics.
    """

    name: str
    value: Kind
    line: Line

    @property
    def kind(self) -> type[Kind]:
        return type(self.value)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the coordinates, where the plan has columns."""
        return None if self.value.axes is None else self.value.axes.labels

    @property
    def guarantee(self) -> str:
        return self.line.guarantee

    @property
    def numerics(self) -> str:
        return self.line.numerics


@attrs.frozen(kw_only=True)
class Charge(Exportable):
    """Where a run was charged.

    Args:
        dataset: the data set of the ledger.
        run: the run's own number there, at random.
        entry: the number of the entry that reserved its loss.
        head: the hash of the ledger's last entry by this run; note it, and ``ledger.verify(head=...)`` tells later
            whether anything up to it was changed or is missing.
        budget: what all runs of the data set may spend.
        spent: what all runs so far have spent, this one included.
        remaining: the largest budget, at the same delta, of a plan that would still fit.
        caveat: that some runs rest on a model of the data and are in none of these figures; empty where none does.
    """

    dataset: str
    run: str
    entry: int
    head: str
    budget: Budget
    spent: Budget
    remaining: Budget
    caveat: str = ""

    def to_dict(self) -> dict[str, Any]:
        return attrs.asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Charge:
        budgets = {field: Budget(**content[field]) for field in ("budget", "spent", "remaining")}
        return cls(**{**content, **budgets})


@attrs.frozen(kw_only=True, repr=False)
class Result(Printable, Exportable, Mapping[str, NDArray[Any]]):
    """The released values of one run.

    ``result[name]`` is a read-only array, ``result.record(name)`` tells where it came from, ``result.spent`` what the
    run cost, and ``result.charge`` where in a ledger it was charged.
    """

    statement: Statement
    records: dict[str, Record]
    private: bool = True
    versions: dict[str, str] = attrs.field(factory=dict)
    charge: Charge | None = None

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.record(name).value.array

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def record(self, name: str) -> Record:
        """The value with its kind, guarantee, numerics and column names."""
        if name not in self.records:
            raise KeyError(f"there is no result {name!r}; there is: {', '.join(self.records)}")
        return self.records[name]

    @property
    def spent(self) -> Budget:
        """The guarantee of this run, as the accountant computed it."""
        return self.statement.spent

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the plan's hash, the run and every released value: what a ledger records of a result."""
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

        return render_result(self)

    @property
    def _may_be_shown(self) -> bool:
        return self.private

    def to_dict(self) -> dict[str, Any]:
        """The statement, every value and where it was charged, as plain data."""
        return {
            "format": FORMAT,
            "private": self.private,
            **({"caveat": self.statement.caveat} if self.statement.caveat else {}),
            "statement": self.statement.to_dict(),
            "versions": self.versions,
            "charge": None if self.charge is None else self.charge.to_dict(),
            "results": self._values(),
        }

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """A result written by :meth:`to_json`."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise DataError(f"{path} has result format {content['format']!r}; this version reads {FORMAT}.")
            statement = Statement.from_dict(content["statement"])
            records = {
                name: Record(name=name, value=_load(value), line=statement.line(name))
                for name, value in content["results"].items()
            }
            charge = content.get("charge")
            return cls(
                statement=statement,
                records=records,
                private=_boolean(content["private"]),
                versions=content["versions"],
                charge=None if charge is None else Charge.from_dict(charge),
            )
        except DataError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
            raise DataError(f"{path} is not a result written by dpframe ({type(error).__name__}).") from None


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _dump(value: Kind) -> dict[str, Any]:
    array = value.array
    numbers = {"real": array.real.tolist(), "imaginary": array.imag.tolist()} if array.dtype.kind == "c" else None
    beside = {
        field.name: getattr(value, field.name)
        for field in attrs.fields(type(value))
        if field.name not in ("array", "axes")
    }
    extra = {name: _dump(part) if isinstance(part, Kind) else part for name, part in beside.items()}
    return {
        "kind": type(value).__name__,
        "array": numbers or array.tolist(),
        "axes": None if value.axes is None else attrs.asdict(value.axes),
        **extra,
    }


def _load(content: dict[str, Any]) -> Kind:
    content = dict(content)
    kind = _kinds()[content.pop("kind")]
    array, axes = content.pop("array"), content.pop("axes")
    if isinstance(array, dict):
        parts = array
        array = np.asarray(parts["real"], dtype=np.complex128)
        array.imag = parts["imaginary"]
    named = None if axes is None else Axes(**{field: tuple(values) for field, values in axes.items()})
    beside = {name: _load(part) if isinstance(part, dict) else part for name, part in content.items()}
    return kind(np.asarray(array), axes=named, **beside)


def _kinds() -> dict[str, type[Kind]]:
    """Every kind there is, third-party ones included, by name."""
    found, todo = {}, [Kind]
    while todo:
        kind = todo.pop()
        found[kind.__name__] = kind
        todo.extend(kind.__subclasses__())
    return found
