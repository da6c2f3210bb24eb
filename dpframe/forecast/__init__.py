"""Forecasts of the error of a release before any data is touched: simulation, targets and comparisons."""

from dpframe.forecast.comparison import Comparison, Comparisons
from dpframe.forecast.ranking import compare

__all__ = ["Comparison", "Comparisons", "compare"]
