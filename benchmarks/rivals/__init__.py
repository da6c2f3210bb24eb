"""Published methods at the same guarantee, as strong as we can make them: what a plan is measured beside.

A rival is a function of rows in the box [−1, 1]ᵈ, of the guarantee that is asked for and of a source of noise. Each
module cites its method, says what is released, how the budget is split and why it is private under both neighboring
relations, and what was made better than published. All of them hold under both relations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.rivals.adassp import adassp
from benchmarks.rivals.amin import amin, amin_components
from benchmarks.rivals.analyze_gauss import analyze_gauss
from benchmarks.rivals.center import Estimate
from benchmarks.rivals.coinpress import coinpress
from benchmarks.rivals.dong_liang_yi import adaptive, separate
from benchmarks.rivals.noise import Noise, Terms
from benchmarks.rivals.pair_signs import pair_signs
from benchmarks.rivals.power_method import power_method
from dpframe.lattice import FloatArray

AMIN = "Amin et al. (pure ε)"

COVARIANCES: dict[str, Callable[[FloatArray, Terms, Noise], Estimate]] = {
    "Analyze Gauss": analyze_gauss,
    "CoinPress": coinpress,
    "CoinPress, wide": partial(coinpress, wide=True),
    "SeparateCov": separate,
    "AdaptiveCov": adaptive,
    AMIN: amin,
}
"""Rivals that release a covariance."""

COMPONENTS: dict[str, Callable[[FloatArray, int, Terms, Noise], FloatArray]] = {
    "pair signs": pair_signs,
    "power method": power_method,
    AMIN: amin_components,
}
"""Rivals that release k directions."""

REGRESSIONS: dict[str, Callable[[FloatArray, int, Terms, Noise], FloatArray]] = {"AdaSSP": adassp}
"""Rivals that release slopes of a column on all others."""
