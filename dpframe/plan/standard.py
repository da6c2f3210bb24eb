"""Plans for common tasks on tables of named columns: covariance, principal components, correlations, regression.

Each is one release, by the recipe "adaptive", and what is derived from it. They are plans like any other: they can be
explained, changed, saved and run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpframe import registry, validators
from dpframe.errors import PlanError, PluginError
from dpframe.plan.plan import Plan
from dpframe.plan.steps import Step, derive, release
from dpframe.spec.budget import Budget
from dpframe.spec.columns import Category, Column
from dpframe.spec.rows import Rows
from dpframe.validators import shown

Columns = Sequence[Any] | Mapping[str, Any]
"""A list of `Column` and `Category`, or ranges (low, high) and lists of levels by name."""

RECIPE, PACKAGE = "adaptive", "dpframe-adaptive"
"""The recipe of all these plans, and the package that provides it."""


def covariance_plan(
    *,
    columns: Columns,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    person: str | None = None,
    contributions: int = 1,
) -> Plan:
    """The plan of `covariance`: the recipe "adaptive", and its results in the units of the columns.

    Args:
        columns: public ranges and levels; see `covariance`.
        epsilon: the most that a run may spend.
        delta: the same.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
    """
    rows = Rows(columns=_columns(columns), neighbors=neighbors, person=person, contributions=contributions)
    steps = [
        _adaptive("covariance"),
        derive("covariance_in_units", "to-units", of="covariance"),
        derive("mean_in_units", "to-units", of="covariance.mean"),
    ]
    return Plan(rows=rows, budget=Budget(epsilon=epsilon, delta=delta), steps=steps)


def pca_plan(
    *,
    columns: Columns,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    k: int = 3,
    person: str | None = None,
    contributions: int = 1,
) -> Plan:
    """The plan of `pca`: the recipe "adaptive" for components, and what is derived from its covariance.

    Args:
        columns: public ranges and levels; see `covariance`.
        epsilon: the most that a run may spend.
        delta: the same.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        k: the number of components.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
    """
    rows = Rows(columns=_columns(columns), neighbors=neighbors, person=person, contributions=contributions)
    steps = [
        _adaptive("components"),
        derive("components", "top-subspace", of="covariance", k=k),
        derive("explained_variance", "explained-variance", of="covariance", components="components"),
        derive("loadings", "to-units", of="components"),
    ]
    return Plan(rows=rows, budget=Budget(epsilon=epsilon, delta=delta), steps=steps)


def correlation_plan(
    *,
    columns: Columns,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    person: str | None = None,
    contributions: int = 1,
) -> Plan:
    """The plan of `correlation`: the recipe "adaptive" for correlations, which are derived from its covariance.

    Args:
        columns: public ranges and levels; see `covariance`.
        epsilon: the most that a run may spend.
        delta: the same.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
    """
    rows = Rows(columns=_columns(columns), neighbors=neighbors, person=person, contributions=contributions)
    steps = [_adaptive("correlation"), derive("correlation", "correlation", of="covariance")]
    return Plan(rows=rows, budget=Budget(epsilon=epsilon, delta=delta), steps=steps)


def regression_plan(
    *,
    columns: Columns,
    target: str,
    epsilon: float,
    delta: float = 0.0,
    neighbors: str | None = None,
    features: Sequence[str] | None = None,
    person: str | None = None,
    contributions: int = 1,
) -> Plan:
    """The plan of `regression`: the recipe "adaptive" for regression, and the model derived from its covariance.

    Args:
        columns: public ranges and levels; see `covariance`.
        target: the column that is predicted.
        epsilon: the most that a run may spend.
        delta: the same.
        neighbors: "add-remove" or "replace"; mandatory, see `dp.Rows`.
        features: the columns that it is predicted from; all others by default. Only these columns are read.
        person: the name of a column of ids; see `dp.Rows`.
        contributions: the largest number of rows of any one person; see `dp.Rows`.
    """
    found = _columns(columns)
    if features is not None:
        found = _chosen(found, [*validators.as_tuple(features), target])
    rows = Rows(columns=found, neighbors=neighbors, person=person, contributions=contributions)
    steps = [_adaptive("regression", target=target), derive("model", "regression", of="covariance", target=target)]
    return Plan(rows=rows, budget=Budget(epsilon=epsilon, delta=delta), steps=steps)


def _chosen(columns: Any, names: list[Any]) -> Any:
    """The columns of these names; anything that is no list of columns unchanged, for `Rows` to check."""
    known = [getattr(column, "name", None) for column in columns] if isinstance(columns, list | tuple) else []
    if unknown := [name for name in names if name not in known]:
        raise PlanError(f"features and target must be among the columns; {shown(unknown[0])} is not.")
    return [column for column in columns if column.name in names]


def _adaptive(goal: str, **more: Any) -> Step:
    """The release of a covariance for this goal; raises PluginError with the package to install."""
    try:
        registry.mechanism(RECIPE)
    except PluginError as error:
        raise PluginError(
            f"this plan needs the recipe {RECIPE!r}: install {PACKAGE}. Nothing was charged, read or drawn. ({error})"
        ) from None
    return release("covariance", RECIPE, goal=goal, **more)


def _columns(given: Any) -> Any:
    """Columns from ranges and levels by name; anything else unchanged, for `Rows` to check."""
    return [_column(name, each) for name, each in given.items()] if isinstance(given, Mapping) else given


def _column(name: Any, given: Any) -> Column | Category:
    """A column from its range, a tuple of two numbers, or from its levels, a list of words.

    A list of two numbers is refused: rows of all other values would count for nothing if a range was meant.
    """
    if isinstance(given, tuple) and len(given) == 2:
        return Column(name, *given)
    if isinstance(given, list) and all(isinstance(level, str) for level in given):
        return Category(name, given)
    raise PlanError(
        f"columns[{shown(name)}] must be a range, (low, high), or a list of levels that are words; got {shown(given)}. "
        "For levels that are numbers, and for public values of missing cells, pass a list of dp.Column and dp.Category."
    )
