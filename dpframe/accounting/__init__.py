"""Composition of privacy losses and calibration of plans."""

from dpframe.accounting.auto import Auto, accountant
from dpframe.accounting.gdp import GaussianAccountant
from dpframe.accounting.pure import PureAccountant
from dpframe.accounting.zcdp import ZcdpAccountant

__all__ = ["Auto", "GaussianAccountant", "PureAccountant", "ZcdpAccountant", "accountant"]
