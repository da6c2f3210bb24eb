"""The exact result of a task, computed by the core, so that no mechanism judges itself."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from dpframe.forecast.population import Population
from dpframe.interfaces import PostProcessor
from dpframe.kinds import AugmentedMoment, Kind
from dpframe.postprocess import CovarianceOf, Eigenvalues, RankK, TopSubspace
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
    """

    task: str
    k: int | None

    def of(self, synthetic: Population, rows: Rows) -> Kind:
        """The result for synthetic data, whose rows are not clipped.

        Args:
            synthetic: the data.
            rows: the promise, which decides whether rows are centered.
        """
        data = synthetic.unclipped(rows, [Moment()])
        exact: Kind = Moment.value(data.moment, data.rows)
        if isinstance(exact, AugmentedMoment):
            exact = CovarianceOf(of=exact).apply()
        return exact if self.k is None else RESULTS[self.task](of=exact, k=self.k).apply()
