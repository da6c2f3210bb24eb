"""Differentially private matrices about people: plans that are priced before data is touched.

Importing this package loads numpy, attrs and pluggy only; scipy, rich, flint and cryptography come where they are used,
and plugins at the first look-up.
"""

from __future__ import annotations

from dpframe import lattice, losses, postprocess, rounding, sensitivity, validators
from dpframe.accounting import accountant
from dpframe.auditing import Audit, audit
from dpframe.errors import (
    BudgetExceeded,
    DataError,
    DPFrameError,
    LedgerError,
    PlanError,
    PluginError,
    ReleaseFailed,
    SamplingError,
)
from dpframe.forecast import Comparison, compare
from dpframe.hookspecs import hookimpl
from dpframe.interfaces import (
    API_VERSION,
    Accountant,
    BoundOracle,
    Mechanism,
    PostProcessor,
    Recipe,
    Statistic,
)
from dpframe.kinds import (
    AugmentedMoment,
    Axes,
    ComplexSubspace,
    Covariance,
    HermitianMatrix,
    Kind,
    Loadings,
    Mean,
    Radii,
    Scalar,
    Spectrum,
    Subspace,
    SymmetricMatrix,
    Vector,
)
from dpframe.ledger import Dataset, Ledger
from dpframe.losses import PrivacyLoss
from dpframe.noise import Random
from dpframe.plan import Plan
from dpframe.plan.steps import Step, derive, release
from dpframe.reading.chunk import Chunk
from dpframe.reading.private_data import PrivateData
from dpframe.registry import PluginInfo, plugins, register, unregister
from dpframe.run.explain import Explanation
from dpframe.run.progress import Progress
from dpframe.run.result import Charge, Record, Result
from dpframe.sensitivity import Sensitivity
from dpframe.sources.queries import query
from dpframe.spec.bounds import Assumption, Bound
from dpframe.spec.budget import Budget, ModelBudget
from dpframe.spec.columns import Category, Column
from dpframe.spec.models import Model, model
from dpframe.spec.refs import Ref, Shape, input, ref, shape_of
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario
from dpframe.statistics import BlockMoment, ColumnHistogram, Moment, NormHistogram
from dpframe.steward import check

__version__ = "0.1.0"

__all__ = [
    "API_VERSION",
    "Accountant",
    "Assumption",
    "Audit",
    "AugmentedMoment",
    "Axes",
    "BlockMoment",
    "Bound",
    "BoundOracle",
    "Budget",
    "BudgetExceeded",
    "Category",
    "Charge",
    "Chunk",
    "Column",
    "ColumnHistogram",
    "Comparison",
    "ComplexSubspace",
    "Covariance",
    "DPFrameError",
    "DataError",
    "Dataset",
    "Explanation",
    "HermitianMatrix",
    "Kind",
    "Ledger",
    "LedgerError",
    "Loadings",
    "Mean",
    "Mechanism",
    "Model",
    "ModelBudget",
    "Moment",
    "NormHistogram",
    "Plan",
    "PlanError",
    "PluginError",
    "PluginInfo",
    "PostProcessor",
    "PrivacyLoss",
    "PrivateData",
    "Progress",
    "Radii",
    "Random",
    "Recipe",
    "Record",
    "Ref",
    "ReleaseFailed",
    "Result",
    "Rows",
    "SamplingError",
    "Scalar",
    "Scenario",
    "Sensitivity",
    "Shape",
    "Spectrum",
    "Statistic",
    "Step",
    "Subspace",
    "SymmetricMatrix",
    "Vector",
    "accountant",
    "audit",
    "check",
    "compare",
    "derive",
    "hookimpl",
    "input",
    "lattice",
    "losses",
    "model",
    "plugins",
    "postprocess",
    "query",
    "ref",
    "register",
    "release",
    "rounding",
    "sensitivity",
    "shape_of",
    "unregister",
    "validators",
]
