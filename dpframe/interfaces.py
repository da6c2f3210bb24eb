"""What a statistic, a mechanism, a post-processor, an accountant and a bound oracle are.

Implementations are frozen attrs classes with a ``name``; plugins return them from the hooks in
:mod:`dpframe.hookspecs`. Data flows one way: rows → statistic → mechanism → post-processors. Only a mechanism is handed
private data, only after the charge, together with its own random stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpframe.errors import PlanError
from dpframe.kinds import Kind
from dpframe.lattice import IntArray
from dpframe.losses import PrivacyLoss

if TYPE_CHECKING:
    from dpframe.noise import Random
    from dpframe.plan import Plan
    from dpframe.plan.steps import Step
    from dpframe.reading.chunk import Chunk
    from dpframe.reading.exact_sum import ExactSum
    from dpframe.reading.private_data import PrivateData
    from dpframe.sensitivity import Sensitivity
    from dpframe.spec.bounds import Bound
    from dpframe.spec.budget import Budget
    from dpframe.spec.refs import Shape
    from dpframe.spec.rows import Rows
    from dpframe.spec.scenario import Scenario

API_VERSION = 1
"""Raised when an interface changes in a way that plugins must follow."""

Numerics = Literal["exact", "certified", "floating"]


class Statistic(ABC):
    """What is asked of the rows: exact integers that add up over any split of the data."""

    name: ClassVar[str]
    clips: ClassVar[bool] = True
    """Whether rows are scaled down to ``Rows.norm`` first, so that a released norm must be known."""

    @abstractmethod
    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """How far one person can move each part, in exact integers, from the public promise alone."""

    @abstractmethod
    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """The parts for these rows alone. Each row's share must depend on that row only.

        The chunk ends with the call: its memory is used again for the next rows.
        """

    def add_to(self, chunk: Chunk, sums: Mapping[str, ExactSum]) -> None:
        """Add the parts for these rows to sums; for statistics that can do so without making the parts first."""
        for name, part in self.partial(chunk).items():
            sums[name].add(np.asarray(part))

    def check(self, rows: Rows) -> None:
        """Raise PlanError where the promise does not suit this statistic; the dimension may still be unknown."""


class Mechanism(ABC):
    """One round of reading and drawing, with a stated loss."""

    name: ClassVar[str]
    unit: ClassVar[Literal["mu", "epsilon", "rho"]]
    gives: ClassVar[type[Kind]]
    numerics: ClassVar[Numerics] = "floating"
    smallest_level: ClassVar[float] = 0.0
    """For one row per person: at a level below it, noise would leave the range of the exact sampler."""
    draws_depend_on_data: ClassVar[bool] = False
    """Whether the number of draws, or the way through the code, may depend on the data, as in rejection sampling."""

    def reads(self) -> tuple[Statistic, ...]:
        """The statistics this mechanism needs; the second moment unless said otherwise.

        Called before inputs are known: a statistic that depends on one takes it as an input of its own.
        """
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

    def output_shape(self, rows: Rows) -> Shape | None:
        """The shape of what is released, as far as it is known before the run: later steps are checked by it."""
        return None

    def check(self, rows: Rows) -> None:
        """Raise PlanError where the promise does not suit this mechanism; the dimension may still be unknown."""

    def check_level(self, rows: Rows, level: float) -> None:
        """Raise PlanError where this mechanism cannot serve the level that the plan solved for it."""
        smallest = self.smallest_level * rows.contributions
        if level < smallest:
            raise PlanError(
                f"{self.name!r} needs a level of at least {smallest:.3g}; got {level:.3g}. "
                "Raise the budget or this step's share."
            )

    def noise(self, rows: Rows, level: float) -> Mapping[str, float]:
        """Standard deviations of the noise by name, in the units of the release; for reports and forecasts."""
        return {}

    def slack(self, rows: Rows, level: float) -> float:
        """The delta by which floats may fall short of the stated loss, which holds in exact arithmetic; for reports."""
        return 0.0

    def log_density(self, value: Kind, data: PrivateData, level: float) -> float | None:
        """The log-density of a released value, up to a term that is the same for all values; None where unknown.

        Audits compare neighbours by it; without it they learn to tell them apart from the values.
        """
        return None

    def noiseless(self, data: PrivateData) -> Kind | None:
        """What a release would be without noise, for forecasts, which hand it made-up data only; None where unknown.

        A subspace or a spectrum without it is compared with the leading eigenvectors or eigenvalues.
        """
        return None

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[Step] | None:
        """Steps that do a task with this mechanism, the last one its result, or None; see :func:`dpframe.compare`."""
        return None


class Recipe(ABC):
    """A method of several rounds: it stands for steps, which the plan shows and prices one by one."""

    name: ClassVar[str]

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[Step] | None:
        """Steps that do a task in this way, the last one its result, or None; see :func:`dpframe.compare`."""
        return None

    def settled(self, rows: Rows, budget: Budget, scenario: Scenario | None) -> Recipe:
        """The same recipe with what it leaves open chosen from the plan, all of which is public; itself unless said.

        The dimension may still be unknown. Raises PlanError where the promise does not suit it.
        """
        return self

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

    def output_shape(self, rows: Rows) -> Shape | None:
        """The shape of the result, as far as it is known before the run: later steps are checked by it.

        What is known of inputs tells :func:`dpframe.shape_of`.
        """
        return None

    def check(self, rows: Rows) -> None:
        """Raise PlanError where the promise does not suit this step; the dimension may still be unknown."""

    def check_forecast(self, dim: int) -> None:
        """Raise PlanError where no error of the result can be forecast for rows of this many coordinates."""


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
    simulates: ClassVar[bool] = False
    """Whether it draws releases on made-up data, which takes time: it is asked only when simulations are wanted."""

    @abstractmethod
    def bounds(self, plan: Plan, step: str, scenario: Scenario) -> list[Bound]:
        """Forecasts and bounds for the result of a step; empty where this oracle has nothing to say."""
