"""The plans with which a mechanism does a task: for a table, about its mean, in each way that the mechanism has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import attrs

from dpframe.accounting import GaussianAccountant
from dpframe.accounting.calibrate import largest_scale
from dpframe.errors import PlanError
from dpframe.forecast.task_truth import per_row
from dpframe.interfaces import Mechanism, Recipe
from dpframe.losses import Gaussian
from dpframe.plan import Plan
from dpframe.plan.steps import Step, derive, release
from dpframe.spec.budget import Budget
from dpframe.spec.models import Model
from dpframe.spec.refs import ref
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario

CENTERED = "{} about a released center"
"""The name of a candidate that takes rows about a released center."""

CENTER_SHARE = 0.08  # of mu², for a released center
ANY_DELTA = 1e-6
RADIUS_SHARE = 0.1  # of epsilon, for a released radius about it, and for the center where all is pure


@attrs.frozen(kw_only=True)
class Question:
    """What is asked of every mechanism.

    Args:
        task: the task.
        k: the number of directions or eigenvalues; None for the whole matrix.
        rows: the promise, with its dimension known.
        budget: what a plan may spend.
        scenario: assumed data.
        accept: models of the data that a guarantee may rest on.
    """

    task: str
    k: int | None
    rows: Rows
    budget: Budget
    scenario: Scenario
    accept: Sequence[Model]

    @property
    def of_table(self) -> bool:
        """Whether results are about the covariance of a table, however a plan centers it."""
        return self.scenario.model == "table" and not self.rows.is_moved

    def plans(self, cls: type[Mechanism] | type[Recipe]) -> Iterator[tuple[str, Callable[[], Plan]]]:
        """The plans of a mechanism, by name, each as a function that makes it or raises PlanError.

        Rows of a table without ``center=`` or ``about=`` may be centered in three ways: by the steps themselves, if
        they derive a covariance; by a constant coordinate; or about a released center.

        Args:
            cls: the mechanism or recipe.
        """
        rows = self.rows
        if self._steps(cls, rows) is None:
            raise PlanError("it has no steps for this task in this scenario.")
        if not self.of_table or rows.center or self._centers_itself(cls):
            yield cls.name, lambda: self._plan(cls, rows)
            return
        yield cls.name, lambda: self._plan(cls, attrs.evolve(rows, center=True))
        yield CENTERED.format(cls.name), lambda: self._about_center(cls)

    def _about_center(self, cls: type[Mechanism] | type[Recipe]) -> Plan:
        _ = self._plan(cls, self.rows)  # what it refuses without a center is the reason to leave it out
        norm = ref("radius") if self.rows.norm is None else self.rows.norm
        return self._plan(cls, attrs.evolve(self.rows, about=ref("center"), norm=norm), self._center())

    def _centers_itself(self, cls: type[Mechanism] | type[Recipe]) -> bool:
        budget = attrs.evolve(self.budget, delta=self.budget.delta or ANY_DELTA)  # kinds do not depend on it
        try:
            return per_row(attrs.evolve(self, budget=budget)._plan(cls, self.rows))
        except PlanError:
            return False

    def _steps(self, cls: type[Mechanism] | type[Recipe], rows: Rows) -> list[Step] | None:
        return cls.recipe(self.task, k=self.k, rows=rows, budget=self.budget, scenario=self.scenario)

    def _plan(self, cls: type[Mechanism] | type[Recipe], rows: Rows, before: Sequence[Step] = ()) -> Plan:
        steps = [*before, *(self._steps(cls, rows) or ())]
        return Plan(rows=rows, budget=self.budget, steps=steps, scenario=self.scenario, accept=self.accept)

    def _center(self) -> list[Step]:
        """Steps that release a center, and a radius about it: small shares of the budget, and a public quantile.

        The noise of a moment grows with the square of the radius by √(d(d+1)/2)/mu, so that about that many rows should
        be beyond it.
        """
        epsilon, delta = self.budget.epsilon, self.budget.delta
        assert self.scenario.n is not None  # a table has it
        dim, of_radius = self.rows.known_dim, RADIUS_SHARE * epsilon
        level = epsilon / math.sqrt(dim)  # of a pure release of the moment, whose noise is larger by about that
        total = release("sum", "laplace-sum", level=RADIUS_SHARE * epsilon) if delta == 0.0 else None
        if total is None:
            solved = largest_scale(lambda mu: GaussianAccountant().epsilon([Gaussian(mu=mu)], delta), epsilon)
            if solved is None:
                raise PlanError("the budget is too small for a released center.")
            level, total = solved, release("sum", "gaussian-sum", level=math.sqrt(CENTER_SHARE) * solved)
        beyond = max(3 * math.sqrt(dim * (dim + 1) / 2) / level, 12 / of_radius)
        steps = [total, derive("center", "mean", of="sum")]
        if self.rows.norm is None:
            quantile, farthest = max(0.5, 1.0 - beyond / self.scenario.n), 2 * math.sqrt(dim)
            lengths = release("radius", "private-quantile", quantile=quantile, high=farthest, level=of_radius)
            steps.append(lengths)
        return steps
