"""Differentially private matrices about people, from plans that are priced before any data is read.

This is the namespace for users; the one for plugin authors is :mod:`dpframe.plugin`. Importing this package loads
numpy, attrs and pluggy only; scipy, rich, flint and cryptography are imported where they are used, and plugins at the
first look-up.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

from dpframe import losses
from dpframe.accounting import accountant
from dpframe.auditing import Audit, audit
from dpframe.discovery import PluginInfo
from dpframe.errors import (
    BudgetExceeded,
    DataError,
    DerivationFailed,
    DPFrameError,
    LedgerError,
    PlanError,
    PluginError,
    ReleaseFailed,
    SamplingError,
)
from dpframe.forecast import Comparison, Comparisons, compare
from dpframe.hookspecs import hookimpl
from dpframe.interfaces import Accountant, BoundOracle, Mechanism, PostProcessor, Recipe, Statistic
from dpframe.intervals import Interval
from dpframe.ledger import Dataset, Ledger
from dpframe.plan import Plan
from dpframe.plan.standard import correlation_plan, covariance_plan, pca_plan, regression_plan
from dpframe.plan.steps import Step, derive, release
from dpframe.registry import plugins, register, unregister
from dpframe.run.explain import Explanation
from dpframe.run.one_call import correlation, covariance, pca, regression
from dpframe.run.progress import Progress
from dpframe.run.result import Charge, Record, Result
from dpframe.sources.csv_format import csv
from dpframe.sources.queries import query
from dpframe.sources.sql.table import table
from dpframe.spec.budget import Budget, ModelBudget
from dpframe.spec.columns import Category, Column
from dpframe.spec.matrix import Matrix
from dpframe.spec.models import model
from dpframe.spec.refs import ref
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario
from dpframe.steward import check

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "Audit",
    "BoundOracle",
    "Budget",
    "BudgetExceeded",
    "Category",
    "Charge",
    "Column",
    "Comparison",
    "Comparisons",
    "DPFrameError",
    "DataError",
    "Dataset",
    "DerivationFailed",
    "Explanation",
    "Interval",
    "Ledger",
    "LedgerError",
    "Matrix",
    "Mechanism",
    "ModelBudget",
    "Plan",
    "PlanError",
    "PluginError",
    "PluginInfo",
    "PostProcessor",
    "Progress",
    "Recipe",
    "Record",
    "ReleaseFailed",
    "Result",
    "Rows",
    "SamplingError",
    "Scenario",
    "Statistic",
    "Step",
    "accountant",
    "audit",
    "check",
    "compare",
    "correlation",
    "correlation_plan",
    "covariance",
    "covariance_plan",
    "csv",
    "derive",
    "hookimpl",
    "losses",
    "model",
    "pca",
    "pca_plan",
    "plugins",
    "query",
    "ref",
    "register",
    "regression",
    "regression_plan",
    "release",
    "table",
    "unregister",
]


def __dir__() -> list[str]:
    """The names that tab completion offers: no submodules."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Raise AttributeError, with a hint for a name that is in :mod:`dpframe.plugin` only."""
    hint = ""
    submodule = name.startswith("_") or _find_spec(f"dpframe.{name}") is not None  # may be partially imported
    if not submodule and name in _import_module("dpframe.plugin").__all__:
        hint = f"; it is in the namespace for plugin authors: import dpframe.plugin as dp, then dp.{name}"
    raise AttributeError(f"module 'dpframe' has no attribute {name!r}{hint}")
