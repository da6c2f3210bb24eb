"""What a search over parameters costs, before its first fit, and a score that it may choose by."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline

import dpframe as dp
from dpframe_sklearn.base import PrivateEstimator
from dpframe_sklearn.splits import check_splitter


def released_r_squared(estimator: Any, X: Any = None, y: Any = None) -> float:
    """The R² that a fitted estimator has released, for ``scoring=``: no row and no target is looked at.

    A search that chooses by it chooses by released values, so its charges cover the choice as well. With the score of
    scikit-learn it chooses by private targets.

    Args:
        estimator: a fitted private regression, or a pipeline that ends in one; of several targets the mean counts.
        X: ignored.
        y: ignored.
    """
    last = estimator[-1] if type(estimator) is Pipeline else estimator
    return float(np.mean(last.r_squared_))


def search_price(search: GridSearchCV, X: Any = None, y: Any = None) -> dp.Budget:
    """What all fits of a grid search spend together, by adding up: every fit of every private step charges.

    A search of scikit-learn fits each candidate once for every split, and the best one again. This is the most that
    they come to, for splits that the charges cover: `RowHashFold` under "add-remove", and under "replace" splits by
    place. All others are refused, and so are estimators other than private ones and pipelines of them: an ensemble fits
    more often than once, and on rows that are drawn again, so that a person has more of them than was promised. A
    ledger composes the charges more tightly.

    A search with ``refit`` chooses a candidate. Scores of scikit-learn compare predictions with private targets, so a
    choice by them is not covered by any charge; it is refused. ``scoring=released_r_squared`` is covered. With
    ``refit=False`` nothing is chosen, but ``cv_results_`` has the scores, and ``best_params_`` says which is highest:
    both are private.

    To stop at a budget, give the estimators a ledger and say ``error_score="raise"``: otherwise scikit-learn turns
    `dp.BudgetExceeded` into scores of nan.

    Args:
        search: a GridSearchCV, before it is fitted.
        X: rows, for splitters that need them to say how many splits they make.
        y: targets, for the same.
    """
    if type(search) is not GridSearchCV:
        raise dp.PlanError(f"a GridSearchCV has a price, {type(search).__name__} has none: it may fit more often.")
    if search.refit and search.scoring is not released_r_squared:
        raise dp.PlanError(
            "this search chooses by a score that is computed from private targets, which no charge covers. Say "
            "scoring=released_r_squared, or refit=False, and choose by what was released."
        )
    splitter = check_cv(search.cv, y)
    candidates = [
        _private_steps(clone(search.estimator).set_params(**each)) for each in ParameterGrid(search.param_grid)
    ]
    for step in [step for steps in candidates for step in steps]:
        check_splitter(splitter, step.relation)
    prices = [(sum(step.epsilon or 0.0 for step in steps), sum(step.delta for step in steps)) for steps in candidates]
    splits = splitter.get_n_splits(X, y)
    epsilon, delta = (splits * sum(each) for each in zip(*prices, strict=True))
    if search.refit:
        epsilon, delta = epsilon + max(each[0] for each in prices), delta + max(each[1] for each in prices)
    return dp.Budget(epsilon=epsilon, delta=delta)


def _private_steps(estimator: Any) -> list[PrivateEstimator]:
    """The private estimators that one fit fits, each once."""
    if type(estimator) is Pipeline:
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
        return [found for step in steps for found in _private_steps(step)]
    if not isinstance(estimator, PrivateEstimator):
        raise dp.PlanError(
            f"{type(estimator).__name__} in a search has no price: only private estimators and pipelines of them have. "
            "Another step may fit more often, draw rows again, or compute from them without noise."
        )
    if estimator.epsilon is None:
        raise dp.PlanError(f"epsilon of {type(estimator).__name__} is missing, so the search has no price.")
    return [estimator]
