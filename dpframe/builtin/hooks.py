"""The hook implementations of the core."""

from __future__ import annotations

from dpframe import postprocess, statistics
from dpframe.accounting import GaussianAccountant, PureAccountant, ZcdpAccountant
from dpframe.builtin.private_quantile import PrivateQuantile
from dpframe.hookspecs import hookimpl
from dpframe.interfaces import Accountant, BoundOracle, Mechanism, PostProcessor, Statistic


@hookimpl
def dpframe_mechanisms() -> list[type[Mechanism]]:
    """The mechanisms of the core."""
    return [PrivateQuantile]


@hookimpl
def dpframe_postprocessors() -> list[type[PostProcessor]]:
    """The post-processors of the core."""
    return [getattr(postprocess, name) for name in postprocess.__all__]


@hookimpl
def dpframe_statistics() -> list[type[Statistic]]:
    """The statistics of the core."""
    return [
        statistics.Moment,
        statistics.BlockMoment,
        statistics.FoldMoments,
        statistics.NormHistogram,
        statistics.ColumnHistogram,
    ]


@hookimpl
def dpframe_accountants() -> list[type[Accountant]]:
    """The accountants of the core."""
    return [GaussianAccountant, PureAccountant, ZcdpAccountant]


@hookimpl
def dpframe_bound_oracles() -> list[type[BoundOracle]]:
    """The bound oracle of the core: simulation."""
    from dpframe.forecast.monte_carlo import MonteCarlo

    return [MonteCarlo]
