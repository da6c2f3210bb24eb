"""OpenDP's measurements as mechanisms of dpframe, and dpframe's plans as measurements of OpenDP."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_opendp.measured import MeasuredMechanism
from dpframe_opendp.mechanisms import OpenDPGaussian, OpenDPLaplace
from dpframe_opendp.plans import as_measurement

DPFRAME_API = 1


@dp.hookimpl
def dpframe_mechanisms() -> list[type[dp.Mechanism]]:
    """The mechanisms ``opendp-gaussian`` and ``opendp-laplace``."""
    return [OpenDPGaussian, OpenDPLaplace]


__all__ = ["MeasuredMechanism", "OpenDPGaussian", "OpenDPLaplace", "as_measurement"]
