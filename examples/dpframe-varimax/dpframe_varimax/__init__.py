"""Released components turned until each rests on few columns, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_varimax.rotation import Varimax

DPFRAME_API = 1


@dp.hookimpl
def dpframe_postprocessors() -> list[type[dp.PostProcessor]]:
    return [Varimax]


__all__ = ["Varimax"]
