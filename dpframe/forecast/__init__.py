"""What to expect of a release before any data is touched: simulation, targets and comparisons."""

from dpframe.forecast.compare import Comparison, compare
from dpframe.forecast.oracle import MonteCarlo

__all__ = ["Comparison", "MonteCarlo", "compare"]
