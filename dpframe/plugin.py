"""The namespace for plugin authors: everything in ``dpframe``, and the parts that a mechanism is built from.

::

    import attrs
    import dpframe.plugin as dp

    @attrs.frozen(kw_only=True)
    class Mine(dp.Mechanism): ...

Names that are also in ``dpframe`` are the same objects. A plugin may rely on this namespace: it changes only with
`API_VERSION`. Anything imported from another module of ``dpframe`` may move at any time.
"""

from __future__ import annotations

from dpframe import *  # noqa: F403
from dpframe import __all__ as _users
from dpframe import eigensolver, hermitian, lattice, postprocess, rounding, sensitivity, validators
from dpframe.builtin.private_quantile import PrivateQuantile
from dpframe.interfaces import API_VERSION
from dpframe.intervals import AffineLaw, EntryLaw, Law, MatrixLaw
from dpframe.intervals.additive import law_of
from dpframe.intervals.low_rank import LowRankLaw
from dpframe.intervals.ordered import OrderedLaw
from dpframe.intervals.subspace import SubspaceLaw
from dpframe.jit import compiled, compiled_part
from dpframe.kinds import (
    AugmentedMoment,
    AugmentedSum,
    Axes,
    ComplexSubspace,
    Covariance,
    Discriminant,
    FoldedMoment,
    HermitianMatrix,
    Kind,
    LinearMap,
    LinearModel,
    Loadings,
    Mean,
    Radii,
    Scalar,
    Scales,
    Spectrum,
    Subspace,
    SymmetricMatrix,
    Vector,
)
from dpframe.lattice import FloatArray, IntArray
from dpframe.losses import PrivacyLoss
from dpframe.noise import Normals, Random
from dpframe.plan.steps import moment_steps
from dpframe.postprocess.eigen import top_eigenpairs
from dpframe.reading.chunk import Chunk
from dpframe.reading.private_data import PrivateData
from dpframe.sensitivity import Sensitivity
from dpframe.spec.bounds import Assumption, Bound
from dpframe.spec.models import Model
from dpframe.spec.refs import Ref, Shape, input, noise_of, number, shape_of
from dpframe.statistics import BlockMoment, ColumnHistogram, FoldMoments, Moment, NormHistogram, PlacedSum, RowSum

__all__ = [  # noqa: PLE0604 - names of dpframe, and these
    *_users,
    "API_VERSION",
    "AffineLaw",
    "Assumption",
    "AugmentedMoment",
    "AugmentedSum",
    "Axes",
    "BlockMoment",
    "Bound",
    "Chunk",
    "ColumnHistogram",
    "ComplexSubspace",
    "Covariance",
    "EntryLaw",
    "Discriminant",
    "FloatArray",
    "FoldMoments",
    "FoldedMoment",
    "HermitianMatrix",
    "IntArray",
    "Kind",
    "Law",
    "LinearMap",
    "LinearModel",
    "Loadings",
    "LowRankLaw",
    "MatrixLaw",
    "Mean",
    "Model",
    "Moment",
    "NormHistogram",
    "Normals",
    "OrderedLaw",
    "PrivacyLoss",
    "PrivateData",
    "PrivateQuantile",
    "Radii",
    "Random",
    "Ref",
    "PlacedSum",
    "RowSum",
    "Scalar",
    "Scales",
    "Sensitivity",
    "Shape",
    "Spectrum",
    "Subspace",
    "SubspaceLaw",
    "SymmetricMatrix",
    "Vector",
    "compiled",
    "compiled_part",
    "eigensolver",
    "hermitian",
    "input",
    "lattice",
    "law_of",
    "moment_steps",
    "noise_of",
    "number",
    "postprocess",
    "rounding",
    "sensitivity",
    "shape_of",
    "top_eigenpairs",
    "validators",
]
