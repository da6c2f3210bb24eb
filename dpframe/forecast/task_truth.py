"""What a task asks for, by the core itself: no mechanism is its own judge."""

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
    """The result of a task without privacy: of the second moment, or of the covariance where rows are centred.

    Args:
        task: one of those that are compared.
        k: how many directions or eigenvalues; None for the whole matrix.
    """

    task: str
    k: int | None

    def of(self, made_up: Population, rows: Rows) -> Kind:
        exact: Kind = Moment.value(made_up.unclipped(rows, [Moment()]).moment, rows)
        if isinstance(exact, AugmentedMoment):
            exact = CovarianceOf(of=exact).apply()
        return exact if self.k is None else RESULTS[self.task](of=exact, k=self.k).apply()
