"""What all private estimators have in common: their promise, and a fit that is one run of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

import dpframe as dp
from dpframe_sklearn.bounds import columns
from dpframe_sklearn.inputs import NOTHING, Matrix, Vector, check_lengths, features, ids, width

Steps = list[dp.Step]


class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A base for estimators whose fit is a run of a plan.

    Subclasses declare their arguments in ``__init__``, store them untouched, and say which steps they run.
    """

    epsilon: float | None
    delta: float
    bounds: Any
    rows: dp.Rows | None
    neighbors: str | None
    contributions: int
    ledger: str | Path | None
    dataset: str | None
    insecure_seed: int | None

    @abstractmethod
    def _steps(self, features: list[str], targets: list[str]) -> Steps:
        """The steps of the plan, for columns of these names."""

    def make_plan(self, features: int | Sequence[str]) -> dp.Plan:
        """The plan that `fit` runs: to be explained, priced or saved, without any data.

        Args:
            features: the number of features, or their names.
        """
        return self._plan(feature_names(features))

    def _plan(self, names: Sequence[str], *, targets: int = 1, person: str | None = None) -> dp.Plan:
        """The plan for features of these names.

        Args:
            names: the names of the features.
            targets: the number of targets, for estimators that have one.
            person: the name of the column of ids, if there is one.
        """
        if self.epsilon is None:
            raise dp.PlanError(
                "epsilon is missing: the most that one fit may spend has no default. Nothing was charged, read or "
                "drawn."
            )
        rows = self._rows(names, targets)
        if person is not None:
            rows = attrs.evolve(rows, person=person)
        budget = dp.Budget(epsilon=self.epsilon, delta=self.delta)
        columns = [column.name for column in rows.columns or ()]
        return dp.Plan(rows=rows, budget=budget, steps=self._steps(columns[: len(names)], columns[len(names) :]))

    def _rows(self, names: Sequence[str], targets: int) -> dp.Rows:
        """The promise: that given as rows=, or one made of bounds= and neighbors=."""
        if self.rows is None:
            made = [*columns(self.bounds, names), *self._target_columns(names, targets)]
            return dp.Rows(columns=made, neighbors=self.neighbors, contributions=self.contributions)
        others = (self.bounds, self.neighbors, getattr(self, "target_bounds", None))
        if not isinstance(self.rows, dp.Rows) or self.contributions != 1 or any(each is not None for each in others):
            raise dp.PlanError(
                "rows= takes a dp.Rows, and replaces bounds=, target_bounds=, neighbors= and contributions=, which "
                f"must be left out. {NOTHING}"
            )
        given = self.rows.columns or ()
        wanted = len(names) + len(self._target_columns(names, targets))
        if len(given) != wanted or not all(isinstance(each, dp.Column) for each in given):
            raise dp.PlanError(
                f"rows= must have {wanted} numeric columns, in the order of the features"
                f"{' and then the target' if wanted > len(names) else ''}; it has {len(given)}."
            )
        return self.rows

    def _target_columns(self, names: Sequence[str], targets: int) -> list[dp.Column]:
        """The columns of the targets, for estimators that have some."""
        return []

    def _checked(self, X: Any, y: Any = None) -> tuple[Matrix, Matrix | Vector | None]:
        """Features and target as arrays of floats. No cell decides anything: what is missing or infinite stays.

        Under "replace" the number of rows is public, and none is an error; under "add-remove" it is not.
        """
        return features(self, X, fitting=True, least=int(self.relation == "replace")), None

    @property
    def relation(self) -> str | None:
        """The neighboring relation: that of rows=, or neighbors=."""
        return self.neighbors if self.rows is None else getattr(self.rows, "neighbors", None)

    def _names(self, features: int) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        return feature_names(features) if given is None else [str(name) for name in given]

    def _released(self, X: Any, y: Any = None, *, person: Any) -> tuple[dp.Result, Matrix | Vector | None]:
        """What one run of the plan releases, and the target; where it is refused, the estimator stays as it was."""
        before = dict(vars(self))
        try:
            rows, found = self._checked(X, y)
            return self._run(rows, found, person), found
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _run(self, X: Matrix, y: Matrix | Vector | None, person: Any) -> dp.Result:
        """One run of the plan: charge, read, draw, derive."""
        names = self._names(X.shape[1])
        targets = width(y)
        plan = self._plan(names, targets=targets)
        labels = [column.name for column in plan.rows.columns or ()]
        cells = [*X.T, *([] if y is None else np.atleast_2d(y.T))]
        table: dict[str, NDArray[Any]] = dict(zip(labels, cells, strict=True))
        if person is not None:
            label = unused("person", labels)
            table[label], plan = ids(person), self._plan(names, targets=targets, person=label)
            check_lengths(X, table[label], "X and person")
        result = plan.run(table, ledger=self.ledger, dataset=self.dataset, insecure_seed=self.insecure_seed)
        self.result_ = result
        self.spent_ = result.spent
        return result

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.insecure_seed is None
        tags.input_tags.allow_nan = True  # an error about missing cells would depend on the data
        tags.input_tags.string = True  # so would one about a cell that is no number: it is missing
        return tags


def feature_names(features: int | Sequence[str]) -> list[str]:
    """The names of features, of which there are some or so many."""
    return [f"x{index}" for index in range(features)] if isinstance(features, int) else list(features)


def unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
