"""The exact result of a task, computed by the core, so that no mechanism judges itself."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from dpframe.forecast.population import Population, Sample
from dpframe.interfaces import PostProcessor
from dpframe.kinds import AugmentedMoment, Covariance, Kind
from dpframe.plan import Plan
from dpframe.postprocess import CovarianceOf, Eigenvalues, RankK, TopSubspace
from dpframe.spec.refs import references
from dpframe.spec.rows import Rows
from dpframe.statistics import Moment

RESULTS: dict[str, Callable[..., PostProcessor]] = {
    "subspace": TopSubspace,
    "low-rank": RankK,
    "eigenvalues": Eigenvalues,
}


@attrs.frozen
class Ideal:
    """The result of a task without privacy: of the second moment, or of the covariance where rows are centered.

    Args:
        task: a task of `dp.compare`.
        k: the number of directions or eigenvalues; None for the whole matrix.
        of_table: whether the result is about the covariance of a table, however a plan centers it.
    """

    task: str
    k: int | None
    of_table: bool = False

    def of(self, plan: Plan, synthetic: Population) -> Kind:
        """The result for synthetic data, whose rows are not clipped.

        Args:
            plan: the plan, whose promise decides whether rows are centered.
            synthetic: the data.
        """
        exact = self._of_table(plan, synthetic) if self.of_table else self._of_rows(plan.rows, synthetic)
        return exact if self.k is None else RESULTS[self.task](of=exact, k=self.k).apply()

    def _of_rows(self, rows: Rows, synthetic: Population) -> Kind:
        data = synthetic.unclipped(rows, [Moment()])
        exact: Kind = Moment.value(data.moment, data.rows)
        return CovarianceOf(of=exact).apply() if isinstance(exact, AugmentedMoment) else exact

    def _of_table(self, plan: Plan, synthetic: Population) -> Kind:
        """The covariance; times the number of rows for a plan whose result is a sum over rows."""
        assert isinstance(synthetic, Sample)  # a table has rows
        count = 1.0 if per_row(plan) else float(len(synthetic.values))
        return Covariance(synthetic.covariance * count)


def per_row(plan: Plan) -> bool:
    """Whether the last result of a plan follows from a covariance, which is a mean over rows, and not from a sum.

    Args:
        plan: the plan.
    """
    steps = {step.name: step for step in plan.steps}
    found = [plan.steps[-1].name]
    for name in found:  # it grows meanwhile
        found += [other for other in references(steps[name].action) if other not in found]
    return any(issubclass(plan.kinds[name], Covariance) for name in found)
