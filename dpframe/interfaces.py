"""What a statistic, a mechanism, a post-processor, an accountant and a bound oracle are.

Implementations are frozen attrs classes with a ``name``; plugins return them from the hooks in
:mod:`dpframe.hookspecs`. Data flows one way: rows → statistic → mechanism → post-processors. Only a mechanism is handed
private data, only after the charge, together with its own random stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import attrs

from dpframe.errors import PlanError
from dpframe.kinds import Kind, titles
from dpframe.lattice import IntArray
from dpframe.losses import PrivacyLoss

if TYPE_CHECKING:
    from dpframe.bounds import Bound, Scenario
    from dpframe.noise import Random
    from dpframe.plan import Plan
    from dpframe.private import Chunk, PrivateData
    from dpframe.rows import Rows
    from dpframe.sensitivity import Sensitivity
    from dpframe.steps import Step

API_VERSION = 1
"""Raised when an interface changes in a way that plugins must follow."""

Numerics = Literal["exact", "floating"]

_INPUT = "dpframe.input"
T = TypeVar("T")


@attrs.frozen
class Ref:
    """The result of an earlier step, by name."""

    name: str


def ref(name: str) -> Ref:
    """Refer to the result of an earlier step.

    >>> ref("spectrum")
    Ref(name='spectrum')
    """
    if not isinstance(name, str):
        raise PlanError(f"dp.ref takes the name of an earlier step; got {name!r}.")
    return Ref(name)


def input(*kinds: type[Kind], **field: Any) -> Any:
    """Declare a field that takes an earlier result of one of these kinds, or such a value written in the plan."""

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return Ref(value)
        if value is None or isinstance(value, Ref | Kind):
            return value
        return kinds[0].of(value)

    return attrs.field(converter=convert, metadata={_INPUT: kinds}, **field)


def inputs(owner: Any) -> Iterator[tuple[str, tuple[type[Kind], ...], Any]]:
    """The declared inputs of a mechanism, statistic or post-processor: (field, kinds, value)."""
    for field in attrs.fields(type(owner)):
        if _INPUT in field.metadata:
            yield field.name, field.metadata[_INPUT], getattr(owner, field.name)


def references(owner: Any) -> tuple[str, ...]:
    """The names of the steps that an object refers to."""
    return tuple(value.name for _, _, value in inputs(owner) if isinstance(value, Ref))


def resolve(owner: T, values: Mapping[str, Kind]) -> T:
    """The same object with its references replaced by values."""
    found = {name: values[value.name] for name, _, value in inputs(owner) if isinstance(value, Ref)}
    return attrs.evolve(owner, **found) if found else owner  # type: ignore[misc]


class Statistic(ABC):
    """What is asked of the rows: exact integers that add up over any split of the data."""

    name: ClassVar[str]

    @abstractmethod
    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """How far one person can move each part, in exact integers, from the public promise alone."""

    @abstractmethod
    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The parts for these rows alone. Each row's share must depend on that row only."""

    def check(self, rows: Rows) -> None:
        """Raise PlanError where the promise does not suit this statistic; the dimension may still be unknown."""


class Mechanism(ABC):
    """One round of reading and drawing, with a stated loss."""

    name: ClassVar[str]
    unit: ClassVar[Literal["mu", "epsilon", "rho"]]
    gives: ClassVar[type[Kind]]
    numerics: ClassVar[Numerics] = "floating"

    def reads(self) -> tuple[Statistic, ...]:
        """The statistics this mechanism needs; the second moment unless said otherwise."""
        from dpframe.statistics import Moment

        return (Moment(),)

    @abstractmethod
    def loss(self, rows: Rows, level: float) -> PrivacyLoss | tuple[PrivacyLoss, ...]:
        """What a release at this level costs. Neither data nor released values are at hand."""

    @abstractmethod
    def release(self, data: PrivateData, level: float, random: Random) -> Kind:
        """Draw the released value: the only call that is handed private data, made after the charge."""

    def output(self, rows: Rows) -> type[Kind]:
        """The kind released under this promise."""
        return self.gives

    def check(self, rows: Rows) -> None:
        """Raise PlanError where the promise does not suit this mechanism; the dimension may still be unknown."""

    def check_level(self, rows: Rows, level: float) -> None:
        """Raise PlanError where this mechanism cannot serve the level that the plan solved for it."""

    def noise(self, rows: Rows, level: float) -> Mapping[str, float]:
        """Standard deviations of the noise by name, in the units of the release; for reports and forecasts."""
        return {}

    def recipe(self, task: str, **public: Any) -> list[Step] | None:
        """Steps that do a task with this mechanism, or None where it cannot; used to compare mechanisms."""
        return None


class Recipe(ABC):
    """A method of several rounds: it stands for steps, which the plan shows and prices one by one."""

    name: ClassVar[str]

    @abstractmethod
    def steps(self, name: str, weight: float) -> list[Step]:
        """The steps in place of ``dp.release(name, ...)``: '<name>.<part>' each, the last one '<name>' itself."""


class PostProcessor(ABC):
    """A pure function of released values: free, and never handed private data."""

    name: ClassVar[str]
    gives: ClassVar[type[Kind]]

    @abstractmethod
    def apply(self) -> Kind:
        """The result; the declared inputs hold values by now."""

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        """The kind of the result, given the kind of each input."""
        return self.gives

    def check(self, rows: Rows) -> None:
        """Raise PlanError where the promise does not suit this step; the dimension may still be unknown."""


class Accountant(ABC):
    """Composes losses into one guarantee; never below the truth."""

    name: ClassVar[str]

    @abstractmethod
    def supports(self, loss: PrivacyLoss) -> bool:
        """Whether this loss can be composed here."""

    @abstractmethod
    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        """An epsilon for which the composition is (epsilon, delta)-private; infinite where there is none."""

    @abstractmethod
    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """A delta for which the composition is (epsilon, delta)-private."""


class BoundOracle(ABC):
    """Knows before any data is touched how large an error to expect."""

    name: ClassVar[str]

    @abstractmethod
    def bounds(self, plan: Plan, step: str, scenario: Scenario) -> list[Bound]:
        """Forecasts and bounds for the result of a step; empty where this oracle has nothing to say."""


def check_kinds(owner: object, described: str, known: Mapping[str, type[Kind]]) -> dict[str, type[Kind]]:
    """The kinds of an object's inputs; raises PlanError for a reference that is missing or does not fit."""
    found: dict[str, type[Kind]] = {}
    for field, kinds, value in inputs(owner):
        if value is None:
            continue
        if isinstance(value, Ref):
            if value.name not in known:
                earlier = ", ".join(map(repr, known)) or "none"
                raise PlanError(
                    f"{described} refers to {value.name!r} in {field}=, but no earlier step has that name "
                    f"(earlier steps: {earlier}). Steps can only refer to steps above them."
                )
            kind, source = known[value.name], f"{value.name!r} gives"
        else:
            kind, source = type(value), f"{field}= holds"
        if not issubclass(kind, kinds):
            raise PlanError(f"{described} needs {titles(kinds)} in {field}=, but {source} {kind.title}.{_hint(kind)}")
        found[field] = kind
    return found


def _hint(kind: type[Kind]) -> str:
    from dpframe.kinds import AugmentedMoment

    if issubclass(kind, AugmentedMoment):
        return ' Centre it first: dp.derive("covariance", "covariance", of=...).'
    return ""
