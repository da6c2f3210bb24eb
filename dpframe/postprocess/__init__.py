"""Post-processors: pure functions of released values, which cost no budget."""

from dpframe.postprocess.center import Correlation, CountOf, CovarianceOf, MeanOf, ScalesOf
from dpframe.postprocess.discriminant import DiscriminantOf
from dpframe.postprocess.regression import Regression
from dpframe.postprocess.spectral import (
    Eigenvalues,
    ExplainedVariance,
    PositivePart,
    RankK,
    RealPart,
    TopSubspace,
    WithSpectrum,
)
from dpframe.postprocess.units import ToUnits

__all__ = [
    "Correlation",
    "CountOf",
    "CovarianceOf",
    "DiscriminantOf",
    "Eigenvalues",
    "ExplainedVariance",
    "MeanOf",
    "PositivePart",
    "RankK",
    "RealPart",
    "Regression",
    "ScalesOf",
    "ToUnits",
    "TopSubspace",
    "WithSpectrum",
]
