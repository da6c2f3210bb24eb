"""Splits of the rows for fits that are charged one by one, and which splitter keeps the promise of which relation.

The charge of a fit covers a training set if removing (or replacing) one row of all data removes (or replaces) at most
one row of it. Under "add-remove", places change: where one row is removed, all rows after it move up, and a splitter
that goes by place and by the number of rows exchanges many rows of a training set. So a fold must be a function of the
row itself. Under "replace" it must not: a row that is replaced may then change its fold, and the number of rows of a
training set with it, while places stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    BaseCrossValidator,
    KFold,
    LeaveOneOut,
    LeavePOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

import dpframe.plugin as dp
from dpframe_sklearn.inputs import check_lengths, ids, matrix, target

Places = NDArray[np.intp]
BY_PLACE = (KFold, LeaveOneOut, LeavePOut, RepeatedKFold, ShuffleSplit, TimeSeriesSplit)
"""Splitters that go by place and by the number of rows, and look at no cell."""


class RowHashFold(BaseCrossValidator):  # type: ignore[misc]
    """Folds for "add-remove": the fold of a row is a hash of the row itself, or of the id of its person.

    A row's fold depends on that row alone. So where one row is removed, all others stay in their folds, each training
    set loses one row at most, and the charge of a fit covers it. With a splitter that goes by place, such as KFold, it
    does not. Folds have about the same size. Equal rows share a fold.

    Args:
        n_splits: the number of folds, from 2 to 100.
        key: a public number; another one gives other folds.
    """

    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(self, n_splits: int = 5, *, key: int = 0) -> None:
        self.n_splits = n_splits
        self.key = key
        self._places(np.empty((0, 1), dtype=np.int64))  # refuses what is out of range

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Places, Places]]:
        """The places of the training rows and of the held-out rows, for each fold.

        Args:
            X: rows of features.
            y: the target of each row, which is part of it.
            groups: the id of the person of each row, which then decides instead of the row.
        """
        folds = self._folds(X, y, groups)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def _folds(self, X: Any, y: Any, groups: Any) -> NDArray[np.int64]:
        if groups is not None:
            words = [str(each).encode("utf-8", "surrogatepass") for each in ids(groups).tolist()]
            digests = [hashlib.blake2b(word, digest_size=8).digest() for word in words]
            return self._places(np.frombuffer(b"".join(digests), dtype="<i8")[:, None])
        rows = matrix(X)
        if y is not None:
            found = target(y)
            check_lengths(rows, found, "X and y")
            rows = np.column_stack([rows, found])
        rows = np.where(np.isnan(rows), np.nan, rows + 0.0).view(
            np.int64
        )  # one bit pattern of 0 and of what is missing
        return self._places(rows.view(np.int64))

    def _places(self, words: NDArray[Any]) -> NDArray[np.int64]:
        return dp.FoldMoments(folds=self.n_splits, key=self.key).places(words)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds.

        Args:
            X: ignored.
            y: ignored.
            groups: ignored.
        """
        return self.n_splits


def check_splitter(splitter: Any, neighbors: str | None) -> None:
    """Refuse a splitter whose training sets the charge of a fit does not cover.

    Args:
        splitter: the splitter, by its exact type.
        neighbors: the relation of the estimators.
    """
    name = type(splitter).__name__
    if neighbors == "replace" and type(splitter) not in BY_PLACE:
        allowed = ", ".join(each.__name__ for each in BY_PLACE)
        raise dp.PlanError(
            f'cv is {name}. Under "replace" a split must go by place and look at no cell, or replacing one row would '
            f"change the number of rows of a training set, which is not charged. Use one of {allowed}."
        )
    if neighbors != "replace" and type(splitter) is not RowHashFold:
        raise dp.PlanError(
            f'cv is {name}. Under "add-remove" removing one row moves the places of others, so a split by place, or '
            "one that looks at other rows, changes many rows of a training set, which the charge of a fit does not "
            "cover. Use cv=RowHashFold(5)."
        )
