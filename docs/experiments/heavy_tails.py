"""Spiked rows with heavier tails than normal ones (Cai, Xia and Zha 2024, §7.3): shifts, and errors of what we have.

Rows are made up. Their entries along and beside the spikes are independent, of Student's law with a given number of
degrees of freedom, scaled to the variances of the model: above four degrees the fourth moment of §7.3 is finite.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

import dpframe as dp
from docs.experiments.spiked import Floats, directions
from dpframe_spiked.shifts import Model

NORMAL = math.inf
DEGREES = (NORMAL, 8.0, 5.0, 3.0)
RANGE = 50.0  # public ranges of the columns, on either side of zero
METHODS = ("adaptive", "spiked-block", "gaussian")
NUMBERS = (2000, 20_000, 200_000)


@attrs.frozen(kw_only=True)
class Tails:
    """A spiked model with unit noise whose entries are of Student's law.

    Args:
        degrees: of freedom; infinite for normal entries.
        n, p, r, spike: of the model.
    """

    degrees: float
    n: int = 20_000
    p: int = 20
    r: int = 3
    spike: float = 10.0

    def draw(self, seed: int) -> tuple[Floats, Floats]:
        """Rows, and their covariance."""
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.standard_normal((self.p, self.p)))[0]
        if math.isinf(self.degrees):
            entries = rng.standard_normal((self.n, self.p))
        else:
            entries = rng.standard_t(self.degrees, (self.n, self.p)) * math.sqrt(1.0 - 2.0 / self.degrees)
        variances = np.ones(self.p)
        variances[: self.r] += self.spike
        return (entries * np.sqrt(variances)) @ basis.T, (basis * variances) @ basis.T

    def plan(self, method: str) -> dp.Plan:
        """A covariance of the columns by a method that needs no model."""
        parameters = {"rank": self.r, "release_center": True} if method == "spiked-block" else {}
        columns = [dp.Column(f"x{place}", -RANGE, RANGE) for place in range(self.p)]
        return dp.Plan(
            rows=dp.Rows(columns=columns, neighbors="replace"),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("cov", method, **parameters)],
        )


def beyond(tails: Tails, seed: int) -> tuple[float, float]:
    """How far replacing a row by a copy moves projector and covariance, of what `spiked` allows for with C = 4.

    The rows with the largest products of lengths along and beside the spikes are tried, which is the leading term.
    """
    allowed = Model(dim=tails.p, rows=tails.n, rank=tails.r, spike=tails.spike, variance=1.0, constant=4.0)
    rows, covariance = tails.draw(seed)
    sample = rows.T @ rows / tails.n
    along = np.linalg.eigh(covariance)[1][:, -tails.r :]
    strong = np.linalg.norm(rows @ along, axis=1)
    lengths = np.linalg.norm(rows, axis=1)
    leading = strong * np.sqrt(lengths**2 - strong**2)
    before, turn, change = directions(sample, tails.r), 0.0, 0.0
    for row in np.union1d(np.argsort(leading)[-5:], np.argsort(lengths)[-5:]):
        difference = -np.outer(rows[row], rows[row]) / tails.n  # the copy hardly counts beside the longest row
        turn = max(turn, float(np.linalg.norm(directions(sample + difference, tails.r) - before)))
        change = max(change, float(np.linalg.norm(difference)))
    return turn / allowed.projector_shift, change / allowed.eigenvalue_shift


def errors(tails: Tails, method: str, trials: int) -> Floats:
    """The errors of the subspace and of the covariance, relative to its norm: one line for each trial."""
    plan, found = tails.plan(method), []
    for seed in range(trials):
        rows, truth = tails.draw(seed)
        value = plan.run(rows, insecure_seed=seed)["cov"]
        value = value * RANGE**2 / (tails.n if method == "gaussian" else 1)  # columns are mapped to [-1, 1]
        turn = np.linalg.norm(directions(value, tails.r) - directions(truth, tails.r))
        found.append((float(turn), float(np.linalg.norm(value - truth) / np.linalg.norm(truth))))
    return np.array(found)


def without_privacy(tails: Tails, trials: int) -> Floats:
    """The same errors of the sample covariance."""
    found = []
    for seed in range(trials):
        rows, truth = tails.draw(seed)
        sample = rows.T @ rows / tails.n
        turn = np.linalg.norm(directions(sample, tails.r) - directions(truth, tails.r))
        found.append((float(turn), float(np.linalg.norm(sample - truth) / np.linalg.norm(truth))))
    return np.array(found)
