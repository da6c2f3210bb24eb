"""Covariance, principal components, correlations and regression of a table in one call.

``dp.covariance(data, ...)`` is ``dp.covariance_plan(...).run(data)``, and the others likewise: the plan is built,
checked and priced before the data is looked at (:mod:`dpframe.plan.standard`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpframe.plan.standard import Columns, correlation_plan, covariance_plan, pca_plan, regression_plan
from dpframe.run.progress import Progress
from dpframe.run.result import Result

if TYPE_CHECKING:
    from dpframe.ledger import Ledger


def covariance(
    data: Any,
    *,
    columns: Columns,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    person: str | None = None,
    contributions: int = 1,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    note: str | None = None,
    insecure_seed: int | None = None,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Result:
    """The covariance, the mean and the number of rows of a table: `covariance_plan`, run once.

    The result has "covariance" and "covariance.mean" in coordinates from -1 to 1, "covariance_in_units" and
    "mean_in_units" in the units of the columns, "covariance.count", and all that was released on the way.

    Args:
        data: a table; see `Plan.run`.
        columns: public ranges and levels, as a list of `dp.Column` and `dp.Category` or by name:
            ``{"age": (17, 90), "sex": ["F", "M"]}``. They are never read off the data.
        epsilon: the most that the run may spend.
        delta: the same; with 0, the default, the guarantee is pure.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
        ledger: the ledger that is charged before anything is read.
        dataset: the name of the data set in the ledger.
        note: why the run is made; it is recorded with the charge.
        insecure_seed: makes every draw repeatable, for tests. The result is marked NOT PRIVATE.
        progress: True for a bar, or a function of a `dp.Progress`.
    """
    plan = covariance_plan(
        columns=columns,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        person=person,
        contributions=contributions,
    )
    return plan.run(data, ledger=ledger, dataset=dataset, note=note, insecure_seed=insecure_seed, progress=progress)


def pca(
    data: Any,
    *,
    columns: Columns,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    k: int = 3,
    person: str | None = None,
    contributions: int = 1,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    note: str | None = None,
    insecure_seed: int | None = None,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Result:
    """The k leading principal components of a table: `pca_plan`, run once.

    The result has "components", one column each, in coordinates from -1 to 1, the share of the variance that each has
    in the released covariance as "explained_variance", "loadings" in the units of the columns, and all that was
    released on the way.

    Args:
        data: a table; see `Plan.run`.
        columns: public ranges and levels; see `covariance`.
        epsilon: the most that the run may spend.
        delta: the same; with 0, the default, the guarantee is pure.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        k: the number of components.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
        ledger: the ledger that is charged before anything is read.
        dataset: the name of the data set in the ledger.
        note: why the run is made; it is recorded with the charge.
        insecure_seed: makes every draw repeatable, for tests. The result is marked NOT PRIVATE.
        progress: True for a bar, or a function of a `dp.Progress`.
    """
    plan = pca_plan(
        columns=columns,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        k=k,
        person=person,
        contributions=contributions,
    )
    return plan.run(data, ledger=ledger, dataset=dataset, note=note, insecure_seed=insecure_seed, progress=progress)


def correlation(
    data: Any,
    *,
    columns: Columns,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    person: str | None = None,
    contributions: int = 1,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    note: str | None = None,
    insecure_seed: int | None = None,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Result:
    """The correlations of the columns of a table: `correlation_plan`, run once.

    The result has "correlation", with entries from -1 to 1, and all that was released on the way.

    Args:
        data: a table; see `Plan.run`.
        columns: public ranges and levels; see `covariance`.
        epsilon: the most that the run may spend.
        delta: the same; with 0, the default, the guarantee is pure.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
        ledger: the ledger that is charged before anything is read.
        dataset: the name of the data set in the ledger.
        note: why the run is made; it is recorded with the charge.
        insecure_seed: makes every draw repeatable, for tests. The result is marked NOT PRIVATE.
        progress: True for a bar, or a function of a `dp.Progress`.
    """
    plan = correlation_plan(
        columns=columns,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        person=person,
        contributions=contributions,
    )
    return plan.run(data, ledger=ledger, dataset=dataset, note=note, insecure_seed=insecure_seed, progress=progress)


def regression(
    data: Any,
    *,
    columns: Columns,
    target: str,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    features: Sequence[str] | None = None,
    person: str | None = None,
    contributions: int = 1,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    note: str | None = None,
    insecure_seed: int | None = None,
    progress: bool | Callable[[Progress], Any] | None = None,
) -> Result:
    """A linear model of one column of a table: `regression_plan`, run once.

    The result has "model": the slope of each feature and, last, the intercept, all in the units of the columns;
    ``result.record("model").value`` has them as ``slopes`` and ``intercept``, the penalty, and ``r_squared``, the share
    of the variance that the model explains on the rows, estimated from the same release. Models with other penalties
    can be derived from "covariance" at no cost.

    Args:
        data: a table; see `Plan.run`.
        columns: public ranges and levels; see `covariance`.
        target: the column that is predicted.
        epsilon: the most that the run may spend.
        delta: the same; with 0, the default, the guarantee is pure.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        features: the columns that it is predicted from; all others by default. Only these columns are read.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
        ledger: the ledger that is charged before anything is read.
        dataset: the name of the data set in the ledger.
        note: why the run is made; it is recorded with the charge.
        insecure_seed: makes every draw repeatable, for tests. The result is marked NOT PRIVATE.
        progress: True for a bar, or a function of a `dp.Progress`.
    """
    plan = regression_plan(
        columns=columns,
        target=target,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        features=features,
        person=person,
        contributions=contributions,
    )
    return plan.run(data, ledger=ledger, dataset=dataset, note=note, insecure_seed=insecure_seed, progress=progress)
