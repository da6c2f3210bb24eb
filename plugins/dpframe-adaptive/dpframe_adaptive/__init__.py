"""Covariances that adapt to the data through released values, and correction for noise, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_adaptive.denoise import Denoise
from dpframe_adaptive.estimate import AdaptiveCount, AdaptiveCovariance, AdaptiveMean
from dpframe_adaptive.place import BallOrBoxCenter, BallOrBoxNorm, ColumnScales, KeptShare
from dpframe_adaptive.preconditioner import Preconditioner
from dpframe_adaptive.reach import AffordableRadius
from dpframe_adaptive.recipe import Adaptive
from dpframe_adaptive.regression_scales import RegressionScales

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism] | type[dp.Recipe]]:
    """The recipe ``adaptive``."""
    return [Adaptive]


@dp.hookimpl
def dpframe_postprocessors() -> list[type[dp.PostProcessor]]:
    """The post-processors of the recipe, and ``denoise``."""
    return [
        KeptShare,
        ColumnScales,
        RegressionScales,
        AffordableRadius,
        Preconditioner,
        BallOrBoxCenter,
        BallOrBoxNorm,
        AdaptiveCount,
        AdaptiveMean,
        AdaptiveCovariance,
        Denoise,
    ]


__all__ = [
    "Adaptive",
    "AdaptiveCount",
    "AdaptiveCovariance",
    "AdaptiveMean",
    "AffordableRadius",
    "BallOrBoxCenter",
    "BallOrBoxNorm",
    "ColumnScales",
    "Denoise",
    "KeptShare",
    "Preconditioner",
    "RegressionScales",
]
