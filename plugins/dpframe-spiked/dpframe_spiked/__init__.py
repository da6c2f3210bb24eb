"""Principal components and covariances under the spiked covariance model, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_spiked.blocks import BlockGaussian, Blocks
from dpframe_spiked.covariance import EigenRatioRank, EigenvalueShrinkage, SpikedCovariance
from dpframe_spiked.estimate import BlockEstimate
from dpframe_spiked.estimator import Spiked, printed_level
from dpframe_spiked.oracle import SpikedForecast, SpikedRates
from dpframe_spiked.radii import BlockHistogram, BlockRadii
from dpframe_spiked.ranges import RangeRadii
from dpframe_spiked.recipe import SpikedBlock

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism] | type[dp.Recipe]]:
    """The mechanisms and the recipe of this package."""
    return [Spiked, SpikedBlock, BlockGaussian, BlockRadii]


@dp.hookimpl
def dpframe_statistics() -> list[type[dp.Statistic]]:
    """The statistic of this package."""
    return [BlockHistogram]


@dp.hookimpl
def dpframe_postprocessors() -> list[type[dp.PostProcessor]]:
    """The post-processors of this package."""
    return [BlockEstimate, RangeRadii, SpikedCovariance, EigenvalueShrinkage, EigenRatioRank]


@dp.hookimpl
def dpframe_bound_oracles() -> list[type[dp.BoundOracle]]:
    """The oracles of this package."""
    return [SpikedForecast, SpikedRates]


__all__ = [
    "BlockEstimate",
    "BlockGaussian",
    "BlockHistogram",
    "BlockRadii",
    "Blocks",
    "EigenRatioRank",
    "EigenvalueShrinkage",
    "RangeRadii",
    "Spiked",
    "SpikedBlock",
    "SpikedCovariance",
    "SpikedForecast",
    "SpikedRates",
    "printed_level",
]
