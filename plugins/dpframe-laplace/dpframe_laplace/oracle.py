"""How far private eigenvalues are from the true ones, with all constants."""

from __future__ import annotations

import math

import dpframe.plugin as dp
from dpframe_laplace.mechanism import SOLVER_ERROR, LaplaceEigenvalues

BETA = 0.05  # the probability with which a bound with a confidence may fail
PAPER = "Mangoubi, Wu, Kale, Thakurta and Vishnoi 2022, Theorem 7.1"
PROOF = "docs/explanation/laplace.md"


def largest_quantile(k: int, beta: float) -> float:
    """What the largest of k standard exponential variables exceeds with probability β: −ln(1 − (1 − β)^{1/k}).

    At most ln(k/β), as by a union bound. [Unitary orbits: Theorem 7.1] prints ln(1/β) for all eigenvalues at once,
    which is right for one of them.

    >>> round(largest_quantile(1, 0.05), 3), round(largest_quantile(50, 0.05), 3)
    (2.996, 6.883)
    """
    return -math.log(-math.expm1(math.log1p(-beta) / k))


def printed_coverage(k: int, beta: float) -> float:
    """The probability that k independent Laplace variables are all within ln(1/β), as printed: (1 − β)^k.

    >>> round(printed_coverage(50, 0.05), 4)
    0.0769
    """
    return (1 - beta) ** k


class LaplaceErrors(dp.BoundOracle):
    """The error of `laplace-eigenvalues`: all of them at once with a confidence, and in the mean.

    The noise is independent with a known scale b. Sorting the noisy values and cutting them off at zero brings them no
    farther from the true ones, which are sorted and not negative, in either norm; the solver adds at most what
    it is allowed.
    """

    name = "laplace-errors"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        action = next(each.action for each in plan.steps if each.name == step)
        if not isinstance(action, LaplaceEigenvalues) or not plan.same_public_rows:
            return []
        rows = plan.rows.bind(scenario.dim)
        scale = action.noise(rows, plan.pricing.levels[step])["each"] / math.sqrt(2)
        solver = (SOLVER_ERROR + 0.5) * rows.step**2
        root = math.sqrt(action.k)
        return [
            dp.Bound(
                name="sum of variances",
                value=root * (math.sqrt(2) * scale + solver),
                norm="Frobenius, of the difference; root mean square",
                kind="upper-mean",
                explicit=True,
                citation=f"exact but for the solver and for sorting; {PROOF}",
            ),
            dp.Bound(
                name=f"largest of {action.k}, {1 - BETA:.0%} sure",
                value=scale * largest_quantile(action.k, BETA) + solver,
                norm="largest, of the differences of eigenvalues",
                kind="upper-probability",
                explicit=True,
                confidence=1 - BETA,
                citation=f"{PAPER}, for all eigenvalues at once: {PROOF}",
            ),
        ]
