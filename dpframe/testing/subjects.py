"""Promises and data that subjects are checked on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from dpframe.auditing.neighbor_pairs import built_in, cells
from dpframe.auditing.pair import Pair
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, Statistic
from dpframe.kinds import Kind
from dpframe.lattice import FloatArray
from dpframe.losses import ZCDP, Gaussian, Laplace, ModelBased, PrivacyLoss
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.plan.checks import check_complex
from dpframe.plan.schedule import Pass
from dpframe.plan.steps import Step
from dpframe.reading.chunk import Chunk
from dpframe.reading.mapper import coordinates
from dpframe.reading.private_data import Parts, PrivateData
from dpframe.run import runner
from dpframe.sources import open_source
from dpframe.spec.budget import Budget
from dpframe.spec.columns import Category, Column
from dpframe.spec.matrix import Matrix
from dpframe.spec.models import model
from dpframe.spec.refs import Shape
from dpframe.spec.rows import NEIGHBORS, Rows
from dpframe.testing.checks import Failed, NotRun

DELTA = 1e-2
SHIFTS, FOR_SHIFTS, FOR_RATIOS = (Gaussian, Laplace, ZCDP), 4.0, 1.5
"""Claims at which audits detect a noise scale that is 20 % too small, or a ratio that is too large, in the fewest
releases."""

NORM, DIM, CONTRIBUTIONS = 1.7, 3, 3  # the three numbers and their squares all differ
LINEAR = ((0.5, 0.25, 0.0), (0.25, 1.0, -0.5), (0.0, -0.5, 2.0))


def promises(subject: Mechanism | Statistic, rows: Rows | None) -> list[Rows]:
    """The promises to check a subject under, for both relations: the one given or the defaults, if it accepts them.

    The defaults are plain rows, rows with a constant coordinate, rows of one coordinate, complex rows, and columns with
    a category, about the middle of their ranges, and about another point, divided by scales or multiplied by a matrix;
    and a symmetric and a Hermitian matrix that were computed elsewhere, for a mechanism that takes one.
    """
    columns = [Column("a", -3.0, 5.0), Category("b", ["x", "y"])]
    ours: list[dict[str, Any]] = [
        {"norm": NORM, "dim": DIM},
        {"norm": NORM, "dim": DIM, "center": True},
        {"norm": NORM, "dim": 1},
        {"norm": NORM, "dim": DIM, "complex": True},
        {"columns": columns},
        {"columns": columns, "about": (0.5, 0.0, 1.0), "scale": (0.5, 1.0, 2.0), "norm": 0.9},
        {"columns": columns, "about": (0.5, 0.0, 1.0), "linear": LINEAR, "norm": 0.9},
    ]
    bases = [Rows(neighbors="replace", contributions=CONTRIBUTIONS, **each) for each in ours]
    if isinstance(subject, Mechanism) and subject.matrix_norm:
        bound = {subject.matrix_norm: NORM}
        bases += [Matrix(neighbors="replace", dim=DIM, complex=each, **bound) for each in (False, True)]
    if rows is not None:
        bases = [rows.bind(rows.dim or DIM)]
    accepted, refusal = [], None
    for candidate in (attrs.evolve(base, neighbors=relation) for base in bases for relation in NEIGHBORS):
        try:
            for part in (subject, *(subject.reads() if isinstance(subject, Mechanism) else ())):
                check_complex(part, candidate)
                part.check(candidate)
        except PlanError as error:
            refusal = error
        else:
            accepted.append(candidate)
    if not accepted:
        raise PlanError(
            f"{subject.name!r} accepts none of the promises to check it under; pass rows=. Its reason: {refusal}"
        )
    return accepted


@attrs.frozen(eq=False, slots=False)
class MechanismStage:
    """A mechanism under test, with its promises for both relations and its level solved from a budget."""

    subject: Mechanism
    rows: list[Rows]
    epsilon: float | None
    trials: int
    pairs: tuple[Any, ...]

    @cached_property
    def plans(self) -> list[Plan]:
        """One plan for each promise."""
        return [self.plan(rows) for rows in self.rows]

    def plan(self, rows: Rows) -> Plan:
        """A plan with one release of the mechanism."""
        losses = self.losses(rows, 1.0)
        scales = all(isinstance(part, SHIFTS) for part in losses)
        epsilon = self.epsilon or (FOR_SHIFTS if scales else FOR_RATIOS)
        budget = Budget(epsilon=epsilon, delta=DELTA)
        models = [model(loss.model) for loss in losses if isinstance(loss, ModelBased)]
        return Plan(rows=rows, budget=budget, steps=[Step(name="release", action=self.subject)], accept=models)

    def losses(self, rows: Rows, level: float) -> tuple[PrivacyLoss, ...]:
        """Its losses, as a tuple."""
        loss = self.subject.loss(rows, level)
        return loss if isinstance(loss, tuple) else (loss,)

    @property
    def statistics(self) -> list[StatisticStage]:
        """The statistics that it reads, under the same promises."""
        rows = [each for each in self.rows if not isinstance(each, Matrix)]
        return [StatisticStage(statistic, rows) for statistic in self.subject.reads()]

    def faint(self, plan: Plan) -> Plan:
        """The plan at a level so small that rounded noise does not repeat by chance, if the mechanism allows it."""
        (step,) = plan.steps
        with suppress(PlanError):
            return attrs.evolve(plan, steps=[attrs.evolve(step, level=plan.pricing.levels[step.name] / 1024)])
        return plan

    @property
    def audited(self) -> list[Plan]:
        """The plans to audit: the first promise for both relations, replaced rows with a constant, and matrices."""
        others = self.plans[2:]
        centered = [plan for plan in others if plan.rows.center][1:2]
        matrices = [plan for plan in others if isinstance(plan.rows, Matrix)]
        return [*self.plans[:2], *centered, *matrices[:1], *[plan for plan in matrices if plan.rows.complex][:1]]

    @cached_property
    def served(self) -> bool:
        """Whether it can release from every data set of `outputs`; if not, checks that need a release are not run."""
        try:
            outputs(self)
        except Exception:  # of any type
            return False
        return True

    @contextmanager
    def releasing(self) -> Iterator[None]:
        """Count a failing release as a failure of this check, unless serves-any-data reports it."""
        try:
            yield
        except (Failed, NotRun):
            raise
        except Exception as error:
            if not self.served:
                raise NotRun("a release fails, as serves-any-data reports") from error
            raise Failed(f"some releases fail: {type(error).__name__}: {error}") from error

    def released(self, plan: Plan, data: PrivateData, random: Random) -> Kind:
        """One release, with the given randomness."""
        return runner.act(plan, plan.steps[0], data, {}, random)


@attrs.frozen(eq=False)
class StatisticStage:
    """A statistic under test, with its promises for both relations."""

    subject: Statistic
    rows: list[Rows]

    def parts(self, rows: Rows, values: FloatArray) -> Parts:
        """The parts of these rows, as one chunk."""
        seen = rows.unplaced if self.subject.sees == "mapped" else rows
        with np.errstate(all="ignore"):
            return self.subject.partial(Chunk(seen, coordinates(seen, cells(seen, values))))


def read(plan: Plan, data: Any) -> PrivateData:
    """The private data that a run would pass to the mechanism."""
    return runner.read(plan, open_source(data, plan.rows), Pass(1, plan.steps), {})


def outputs(stage: MechanismStage) -> list[Kind]:
    """Releases from no rows, one row, huge rows and rows of NaN, under every promise."""
    released: list[Kind] = []
    for plan in stage.plans:
        dim, coordinates = plan.rows.known_dim, some_rows(plan.rows)
        nothing, lost = coordinates[:0], np.full((3, dim), np.nan, dtype=plan.rows.dtype)
        made = [
            nothing,
            np.zeros((1, dim), dtype=plan.rows.dtype),
            coordinates[:1],
            coordinates,
            lost,
            np.vstack([coordinates, lost]),
        ]
        for number, data in enumerate(made):
            private = read(plan, cells(plan.rows, data))
            released.append(stage.released(plan, private, Random(Keystream.insecure(number))))
        forms = {(type(value).__name__, value.array.shape, repr(value.beside)) for value in released[-len(made) :]}
        if len(forms) > 1:
            raise Failed(f"the kind, shape, names or units of its result depend on the data: {sorted(map(str, forms))}")
        check_shape(released[-1], stage.subject.output_shape(plan.rows))
    return released


def check_shape(value: Kind, declared: Shape | None) -> None:
    """Check that a result has the shape that its step declared; None stands for any length."""
    actual = value.array.shape
    if declared is None:
        return
    if len(actual) != len(declared) or any(
        length not in (None, true) for length, true in zip(declared, actual, strict=True)
    ):
        raise Failed(f"its result has shape {actual}, but it declared {declared}")


def pairs(rows: Rows) -> list[Pair]:
    """The built-in neighbors, except pairs of equal data sets under this promise."""
    return [pair for pair in built_in(rows) if repr(pair.one) != repr(pair.other)]


def some_rows(rows: Rows) -> FloatArray:
    """Rows of all lengths and directions, from none to far beyond the norm, and on the edge of the lattice."""
    dim, length = rows.known_dim, 1.0 if rows.awaited else rows.length
    random = np.random.default_rng(20)  # synthetic data: the seed need not be secret
    directions = [
        *np.eye(dim),
        *(np.array(signs) / np.sqrt(dim) for signs in itertools.product((1.0, -1.0), repeat=min(dim, 4)) if dim <= 4),
        *(row / np.linalg.norm(row) for row in random.standard_normal((12, dim))),
    ]
    edge = 1.0 + np.array([-1e-5, -1e-9, 0.0, 1e-9, 1e-5])
    lengths = [*edge, 1e-300, 1e-6, 0.5, 2.0, 1e3, 1e151, 1e300]
    if rows.complex:  # a phase for each coordinate: 1, i, −1 and so on
        directions = [direction * 1j ** np.arange(dim) for direction in directions]
    made = [length * size * direction for direction in directions for size in lengths]
    return np.array([0.0 * made[0], *made, *(-row for row in made[: len(lengths) * dim])])
