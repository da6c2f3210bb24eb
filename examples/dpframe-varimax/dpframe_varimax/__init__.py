"""Varimax rotation of released components, so that each has few large entries, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_varimax.rotation import Varimax

DPFRAME_API = 1


@dp.hookimpl
def dpframe_postprocessors() -> list[type[dp.PostProcessor]]:
    """The post-processor ``varimax``."""
    return [Varimax]


__all__ = ["Varimax"]
