"""The interfaces of statistics, mechanisms, recipes, post-processors, accountants and bound oracles.

Implementations are frozen attrs classes with a ``name``; plugins return them from the hooks in
:mod:`dpframe.hookspecs`. Data flows one way: rows → statistic → mechanism → post-processors. In a run, only a mechanism
receives a :class:`PrivateData`, only after the charge, together with its own random stream.
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
from dpframe.rounding import format_down, format_up

if TYPE_CHECKING:
    from dpframe.intervals import Law
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
"""Incremented when an interface changes in a way that plugins must follow."""

Numerics = Literal["exact", "certified", "floating"]
"""How a release is computed: "exact" (integers from the rows to the draw, or decided in balls), "certified" (a
floating-point computation, whose error is bounded afterwards and covered by noise) or "floating" (the loss holds in
exact arithmetic)."""


class Statistic(ABC):
    """A function of the rows: exact integers that add up over any partition of the data."""

    name: ClassVar[str]
    sees: ClassVar[Literal["mapped", "placed", "clipped"]] = "clipped"
    """Which rows it is computed from: "mapped" (columns on [-1, 1]), "placed" (then taken about ``Rows.about`` and
    divided by ``Rows.scale``) or "clipped" (then scaled down to ``Rows.norm``). Released parts of the promise that it
    depends on must be known before it is read."""
    takes_complex: ClassVar[bool] = False
    """Whether it is defined for complex rows; other statistics of such rows are refused."""

    @abstractmethod
    def sensitivity(self, rows: Rows) -> Mapping[str, Sensitivity]:
        """The sensitivity of each part, in exact integers, from the public promise alone."""

    @abstractmethod
    def partial(self, chunk: Chunk) -> Mapping[str, IntArray]:
        """Compute the parts for these rows alone. The contribution of a row must depend on that row only.

        The chunk is valid only during the call: its memory is reused for the next rows.
        """

    def add_to(self, chunk: Chunk, sums: Mapping[str, ExactSum]) -> None:
        """Add the parts for these rows to the sums; override it if that is possible without storing the parts."""
        for name, part in self.partial(chunk).items():
            sums[name].add(np.asarray(part))

    def part_shapes(self, rows: Rows) -> Mapping[str, Shape]:
        """The shapes of the parts, as far as they are known before the run: one that needs too much memory is refused.

        The dimension of the rows is known.
        """
        return {}

    def check(self, rows: Rows) -> None:
        """Raise PlanError if the promise does not suit this statistic; the dimension may still be unknown."""


class Mechanism(ABC):
    """One round of reading and sampling, with a stated privacy loss.

    A subclass states the ``unit`` of its level, the kind that it ``gives`` and its ``numerics``.
    """

    name: ClassVar[str]
    unit: ClassVar[Literal["mu", "epsilon", "rho"]]
    gives: ClassVar[type[Kind]]
    numerics: ClassVar[Numerics] = "floating"
    smallest_level: ClassVar[float] = 0.0
    """The smallest level for one row per person; below it, the noise would exceed the range of the exact sampler."""
    draws_depend_on_data: ClassVar[bool] = False
    """Whether the number of draws or the control flow may depend on the data, as in rejection sampling."""
    drawn_by: ClassVar[str] = ""
    """The library that draws its noise, such as "OpenDP"; empty where all of it comes from the stream it is handed.

    Noise of another library cannot be seeded or replayed: reports name the library, a run with a seed is refused, and
    the conformance kit exempts it from the check that the stream decides its values."""
    matrix_norm: ClassVar[Literal["", "frobenius", "trace_norm"]] = ""
    """The norm in which it needs the bound of a `dp.Matrix`, a matrix that was computed elsewhere; empty where it needs
    rows. One that takes a matrix reads the second moment alone, has all of its sensitivity from
    :mod:`dpframe.sensitivity`, and serves any symmetric matrix, also with negative eigenvalues."""
    law_unknown: ClassVar[str] = ""
    """Why `law` may be None, in a sentence for reports, such as what the error depends on that is not released."""
    takes_complex: ClassVar[bool] = False
    """Whether it releases from complex rows (``Rows.complex``), whose moment is Hermitian; otherwise it is refused."""

    def reads(self) -> tuple[Statistic, ...]:
        """The statistics this mechanism needs; the second moment by default.

        Called before inputs are known: a statistic that depends on one declares it as its own input.
        """
        from dpframe.statistics import Moment

        return (Moment(),)

    @abstractmethod
    def loss(self, rows: Rows, level: float) -> PrivacyLoss | tuple[PrivacyLoss, ...]:
        """The privacy loss of a release at this level. Neither data nor released values are available here."""

    @abstractmethod
    def release(self, data: PrivateData, level: float, random: Random) -> Kind:
        """Draw the released value. In a run, the only call that receives private data; it comes after the charge."""

    def output(self, rows: Rows) -> type[Kind]:
        """The kind released under this promise."""
        return self.gives

    def output_shape(self, rows: Rows) -> Shape | None:
        """The shape of the released value, as far as it is known before the run; later steps are checked against it.

        Derivations are tried on made-up values of this shape before a run is charged.
        """
        return None

    def working_bytes(self, rows: Rows) -> int:
        """Bytes that `release` certainly takes besides its statistics and its result: a run that cannot fit is refused.

        The dimension of the rows is known.
        """
        return 0

    def check(self, rows: Rows) -> None:
        """Raise PlanError if the promise does not suit this mechanism; the dimension may still be unknown."""

    def check_level(self, rows: Rows, level: float) -> None:
        """Raise PlanError if this mechanism cannot run at the level that the plan solved for."""
        smallest = self.smallest_level * rows.contributions
        if level < smallest:
            raise PlanError(
                f"{self.name!r} needs a level of at least {format_up(smallest)}; got {format_down(level)}. "
                "Raise the budget or this step's share."
            )

    def noise(self, rows: Rows, level: float) -> Mapping[str, float]:
        """Standard deviations of the noise, by name, in the units of the release; for reports and forecasts.

        With the names "diagonal" and "off-diagonal", of the entries of a second moment, a result also has warnings
        about what is within noise of zero.
        """
        return {}

    def law(self, value: Kind, rows: Rows, level: float, laws: Mapping[str, Law]) -> Law | None:
        """What a released value says about the one without noise, for error bars; None if that is not known.

        By default it follows from `noise`, taken as normal: of the names "diagonal" and "off-diagonal" for a symmetric
        matrix, and of "each" for independent noise on every number. Inputs hold values here.

        Args:
            value: the released value.
            rows: the promise, with its dimension and released parts.
            level: the level of the release.
            laws: those of the inputs, by field, as far as they are known.
        """
        from dpframe.intervals.additive import law_of

        return law_of(value, self.noise(rows, level), semidefinite=rows.semidefinite)

    def redraw(self, value: Kind, rows: Rows, level: float, random: np.random.Generator) -> Kind | None:
        """A release as it would be drawn again if the released value were the truth; None if that is not known.

        Error bars of derivations that state no law are found by redrawing. It is post-processing: the generator need
        not be secure. By default noise of `law` is added to the value. Inputs hold values here.
        """
        from dpframe.intervals.additive import redrawn

        return redrawn(value, self.law(value, rows, level, {}), random)

    def law_error(self, rows: Rows, level: float) -> float:
        """How far the law of a release, as computed, may be from that in exact arithmetic, in total variation.

        For the whole release at this level, whatever the data and the inputs are; 0 by default. Plans state
        (1 + e^epsilon) times the sum over all releases as their slack in delta (:mod:`dpframe.plan.slack`).
        """
        return 0.0

    def log_density(self, value: Kind, data: PrivateData, level: float) -> float | None:
        """The log-density of a released value, up to a term that is the same for all values; None if unknown.

        Audits use the log-likelihood ratio of neighboring data sets; without it they learn a test from the values.
        """
        return None

    def noiseless(self, data: PrivateData) -> Kind | None:
        """The release without noise, for forecasts, which pass simulated data only; None if unknown.

        If it is unknown, a subspace or a spectrum is compared with the leading eigenvectors or eigenvalues.
        """
        return None

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[Step] | None:
        """The steps of a task with this mechanism, ending with its result, or None; see :func:`dpframe.compare`."""
        return None


class Recipe(ABC):
    """A method of several rounds: it expands to steps, which the plan shows and prices one by one."""

    name: ClassVar[str]

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[Step] | None:
        """The steps of a task with this recipe, ending with its result, or None; see :func:`dpframe.compare`."""
        return None

    def settled(self, rows: Rows, budget: Budget, scenario: Scenario | None, accountant: str) -> Recipe:
        """The recipe with its open parameters chosen from the plan, all of which is public; unchanged by default.

        The dimension may still be unknown. Raises PlanError if the promise does not suit the recipe.
        """
        return self

    @abstractmethod
    def steps(self, name: str, weight: float) -> list[Step]:
        """The steps that replace ``dp.release(name, ...)``, each named '<name>.<part>' but the last, '<name>'."""


class PostProcessor(ABC):
    """A pure function of released values: it costs nothing and never receives private data."""

    name: ClassVar[str]
    gives: ClassVar[type[Kind]]

    @abstractmethod
    def apply(self) -> Kind:
        """Compute the result; every declared input holds a value here, not a reference."""

    def output(self, kinds: Mapping[str, type[Kind]]) -> type[Kind]:
        """The kind of the result, given the kind of each input."""
        return self.gives

    def output_shape(self, rows: Rows) -> Shape | None:
        """The shape of the result, as far as it is known before the run; later steps are checked against it.

        :func:`dpframe.plugin.shape_of` returns the known shape of an input.
        """
        return None

    def result_noise(self) -> Mapping[str, float]:
        """Standard deviations of the noise in the result, by name; empty if they are not known.

        Every declared input holds a value here, and fields declared by :func:`dpframe.plugin.noise_of` their noise.
        """
        return {}

    def result_law(self, laws: Mapping[str, Law]) -> Law | None:
        """What the result says about the one without noise, for error bars; None if no law is stated.

        Then releases are redrawn (`Mechanism.redraw`) and the derivation is applied to each. Every declared input holds
        a value here.

        Args:
            laws: those of the inputs, by field, as far as they are known.
        """
        return None

    def choice(self) -> str:
        """What was chosen from released values, and why, in a sentence for the report; "" where nothing was chosen.

        Every declared input holds a value here.
        """
        return ""

    def check(self, rows: Rows) -> None:
        """Raise PlanError if the promise does not suit this step; the dimension may still be unknown."""

    def check_forecast(self, dim: int) -> None:
        """Raise PlanError if the error of the result cannot be forecast for rows of this dimension."""


class Accountant(ABC):
    """Composes losses into one guarantee, which never understates the true epsilon or delta."""

    name: ClassVar[str]

    @abstractmethod
    def supports(self, loss: PrivacyLoss) -> bool:
        """Whether this accountant can compose the loss."""

    @abstractmethod
    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        """An epsilon for which the composition is (epsilon, delta)-private; infinite if there is none."""

    @abstractmethod
    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """A delta for which the composition is (epsilon, delta)-private."""


class BoundOracle(ABC):
    """Forecasts and bounds the error of a result before any data is read."""

    name: ClassVar[str]
    simulates: ClassVar[bool] = False
    """Whether it simulates releases, which takes time; such an oracle is used only if simulations are requested."""

    @abstractmethod
    def bounds(self, plan: Plan, step: str, scenario: Scenario) -> list[Bound]:
        """Forecasts and bounds for the result of a step; empty if this oracle has none."""
