"""Accounting of mixed plans by privacy-loss distributions, for dpframe."""

from __future__ import annotations

import dpframe.plugin as dp
from dpframe_pld.accountant import PldAccountant

DPFRAME_API = 1


@dp.hookimpl
def dpframe_accountants() -> list[type[dp.Accountant]]:
    """The accountant ``pld``."""
    return [PldAccountant]


__all__ = ["PldAccountant"]
