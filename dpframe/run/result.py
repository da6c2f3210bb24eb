"""The result of a run: read-only values, each with its record, and the statement of the guarantee."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from numpy.typing import NDArray

from dpframe.display.exportable import Exportable, written
from dpframe.display.printable import Printable
from dpframe.display.visible import Visible
from dpframe.errors import PlanError
from dpframe.intervals.interval import Interval, check_confidence
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray
from dpframe.run.error_bars import CONFIDENCE, NOT_WRITTEN, Bars, dump_interval
from dpframe.run.statement import Line, Statement
from dpframe.spec.budget import Budget

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dpframe.plots import MatrixDisplay, PointsDisplay, ScreeDisplay

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
        time: when it was charged, in UTC; empty in results of earlier versions.
        user: who says to have run it, which nobody checks; not written to files of results, which name nobody.
        note: what it is for, as the run was told; not written to them either.
        others: what the other runs so far have spent; None in results of earlier versions.
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
    time: str = ""
    user: str = attrs.field(default="", eq=False, repr=False)
    note: str = attrs.field(default="", eq=False, repr=False)
    others: Budget | None = None

    def to_dict(self) -> dict[str, Any]:
        """The charge as plain data."""
        rare, left_out = ("signature", "notices", "time", "others"), ("user", "note")
        fields = {field: value for field, value in attrs.asdict(self).items() if field not in left_out}
        return {field: value for field, value in fields.items() if value or field not in rare}


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
        plan_file: the plan as it was run, in the form of a plan file; empty where no file can hold it.
        bars: computes error bars; None where nothing is known about them.
    """

    statement: Statement
    records: dict[str, Record]
    private: bool = True
    versions: dict[str, str] = attrs.field(factory=dict)
    charge: Charge | None = None
    warnings: tuple[str, ...] = ()
    failed: dict[str, str] = attrs.field(factory=dict)
    choices: dict[str, str] = attrs.field(factory=dict)
    plan_file: str = ""
    bars: Bars | None = attrs.field(default=None, eq=False)

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

    def interval(self, name: str, confidence: float = CONFIDENCE, sampling: str | None = None) -> Interval:
        """Where the value of a step would be without noise: free, since it follows from released values alone.

        Raises PlanError where nothing is known about the noise of the value.

        Args:
            name: the name of the step.
            confidence: the share of releases in which an interval covers the value without noise.
            sampling: "normal" to include the sampling error of rows from a normal population, which is an assumption;
                by default the interval is about these rows.
        """
        self.record(name)
        return self._error_bars.interval(name, confidence, sampling)

    def known_interval(self, name: str, confidence: float = CONFIDENCE) -> Interval | None:
        """The interval of the value of a step; None where nothing is known about its noise.

        Args:
            name: the name of the step.
            confidence: the share of releases in which an interval covers the value without noise.
        """
        try:
            return self.interval(name, confidence)
        except PlanError:
            check_confidence(confidence)
            if self.shown_interval(name) is not None:
                raise  # it is known, but not at this confidence
            return None

    def frame(self, name: str, *, wide: bool = False, confidence: float = CONFIDENCE) -> Any:
        """The value of a step as a data frame with labels: of pandas if it is installed, else of polars or pyarrow.

        Each number has a row: its labels, the value, and the ends of its interval, `low` and `high`, where its noise is
        known. Components and coordinates without names are numbered from 1.

        Args:
            name: the name of the step.
            wide: a matrix as it is instead, without intervals.
            confidence: of the intervals.
        """
        return self._framed(name, None, wide, confidence)

    def to_pandas(self, name: str, *, wide: bool = False, confidence: float = CONFIDENCE) -> Any:
        """The value of a step as a frame of pandas; see :meth:`frame`."""
        return self._framed(name, "pandas", wide, confidence)

    def to_polars(self, name: str, *, wide: bool = False, confidence: float = CONFIDENCE) -> Any:
        """The value of a step as a frame of polars; see :meth:`frame`."""
        return self._framed(name, "polars", wide, confidence)

    def _framed(self, name: str, library: str | None, wide: bool, confidence: float) -> Any:
        from dpframe.run.frames import framed

        value = self.record(name).value
        interval = None if wide else self.known_interval(name, confidence)
        return framed(name, value, interval, library, matrix=wide)

    def plot(
        self, name: str, *, ax: Any = None, confidence: float = CONFIDENCE
    ) -> MatrixDisplay | PointsDisplay | ScreeDisplay:
        """Draw the value of a step with matplotlib, with its error bars; cells within noise of zero are hatched.

        A matrix is a field of shaded cells, eigenvalues a scree plot, means, slopes and loadings are points. The figure
        is `figure_` of the display that is returned. Needs ``pip install 'dpframe[plots]'``.

        Args:
            name: the name of the step.
            ax: the axes to draw on; None for a new figure.
            confidence: of the error bars.
        """
        from dpframe.plots.of_result import display_of

        return display_of(self, name, confidence).plot(ax)

    def save(self, directory: str | Path) -> None:
        """Write the report as a page and as text, the result, its arrays, the plan, and a CSV file for each value.

        Every file is new: where one of them exists, DataError is raised. All of them are written, or none. A value of
        more than a million numbers has no CSV file; the arrays hold it.

        Args:
            directory: the directory, created where it does not exist.
        """
        from dpframe.run.files import save

        save(self, Path(directory))

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one HTML page with everything in it, also written to a file where a path is given.

        Args:
            path: the path of the file.
        """
        from dpframe.run.page.report import page

        return written(page(self), path)

    def standard_error(self, name: str) -> FloatArray:
        """The standard deviation of the error that noise makes in the value of a step, for each number of it.

        It is inf where it is not determined; raises PlanError where nothing is known about the noise of the value.

        Args:
            name: the name of the step.
        """
        self.record(name)
        return self._error_bars.standard_error(name)

    @property
    def _error_bars(self) -> Bars:
        if self.bars is None:
            raise PlanError("this result was written without error bars; results of a run have them.")
        return self.bars

    def shown_interval(self, name: str) -> Interval | None:
        """The interval of a value that reports and files show; None where there is none, or where it would take long.

        Args:
            name: the name of the step.
        """
        return None if self.bars is None else self.bars.shown(name)

    def why_no_interval(self, name: str) -> str:
        """Why reports and files show no interval of a value, in words; "" where they show one.

        Args:
            name: the name of the step.
        """
        return f"its error is not known: {NOT_WRITTEN}." if self.bars is None else self.bars.why_not_shown(name)

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
            **({"plan_file": self.plan_file} if self.plan_file else {}),
            "results": self._values(),
            **({"intervals": intervals} if (intervals := self._intervals()) else {}),
            **({"without_interval": reasons} if (reasons := self._reasons()) else {}),
        }

    def _reasons(self) -> dict[str, str]:
        if self.bars is None:
            return {}
        return {name: why for name in self.records if (why := self.why_no_interval(name))}

    def _intervals(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self.records:
            with suppress(Exception):  # a value is written without its interval rather than not at all
                if (interval := self.shown_interval(name)) is not None:
                    found[name] = dump_interval(interval, self._error_bars.standard_error(name))
        return found

    def to_registry(self, path: str | Path | None = None) -> str:
        """An entry for the public registry of differential-privacy deployments, as YAML, also written to a new file.

        What the plan, the accountant and the ledger know is filled in; search the text for ``TO BE FILLED IN`` for what
        a person has to say. The registry names files by lowercase letters, digits and underscores: ``my_release.yaml``.

        Args:
            path: the path of a file that does not exist yet; by default none is written.
        """
        from dpframe.run.registry_entry import as_yaml, entry

        text = as_yaml(entry(self)) + "\n"
        if path is not None:
            with Path(path).open("x", encoding="utf-8") as file:
                file.write(text)
        return text

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
