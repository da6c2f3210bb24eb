"""The one-pass algorithm of Liu, Kong, Jain and Oh (2022), as published: for comparisons on made-up or public rows."""

from __future__ import annotations

import math

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_oja.statistic import start


@attrs.frozen(kw_only=True)
class OnePass:
    """Private Oja as published: every row is used once, in a random order, for a clipped and noisy step.

    With a row x in turn, w moves to w + η(clip_β(x (x·w)) + 2βα z), where z is standard normal, and is normalized to
    length one. β bounds what a row adds; 2βα is the deviation of the noise.

    This is no mechanism of a plan, and nothing here is charged: noise is drawn in floats, and the published guarantee
    rests on amplification by shuffling, with a constant that is not stated and for ε ≤ √(ln(n/δ)/n), up to a constant.
    What is proved for any data and order is `mu`. For private data use the recipe `oja`.

    Args:
        clip: β, the largest length of a row's share.
        multiplier: α, the noise multiplier.
        step: η, the learning rate.

    References:
        Liu, Kong, Jain and Oh, "DP-PCA: statistically optimal and differentially private PCA", NeurIPS 2022,
        Algorithm 2.
    """

    clip: float = attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))
    multiplier: float = attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))
    step: float = attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0))

    @classmethod
    def published(
        cls, *, rows: int, dim: int, largest: float, epsilon: float, delta: float, constant: float, step: float
    ) -> OnePass:
        """The printed parameters: β = Cλ√d (ln(nd/ζ) + 1) and α = ln(n/δ)/(ε√n).

        λ is the largest eigenvalue of the covariance. The constants of the printed formulas that are left open, and
        those that describe the law of rows, are 1, but for C; ζ, the probability of failure, is 0.01.

        Args:
            rows, dim: n and d.
            largest: λ.
            epsilon, delta: the budget in the printed formula; see the class for what is proved.
            constant: C.
            step: η.
        """
        clip = constant * largest * math.sqrt(dim) * (math.log(rows * dim / 0.01) + 1)
        multiplier = math.log(rows / delta) / (epsilon * math.sqrt(rows))
        return cls(clip=clip, multiplier=multiplier, step=step)

    @property
    def mu(self) -> float:
        """The Gaussian level of all steps together when one row is replaced, without amplification.

        A row enters one step, which it moves by at most 2β, against noise of deviation 2βα; later steps are functions
        of that step's outcome and of other rows. So the whole run is as hard to tell apart as a shift by 1/α.
        """
        return 1.0 / self.multiplier

    def direction(self, rows: dp.FloatArray, seed: int) -> dp.FloatArray:
        """The direction after one pass over the rows, of length one.

        Args:
            rows: one row each; they are not clipped themselves.
            seed: of the start, the order and the noise.
        """
        rng = np.random.default_rng((1, seed))  # another stream than that of the start
        w = start(rows.shape[1], seed)
        for row in rng.permutation(len(rows)):
            x = rows[row]
            share = x * (x @ w)
            kept = min(1.0, self.clip / max(math.sqrt(share @ share), 1e-300))
            w = w + self.step * (kept * share + 2 * self.clip * self.multiplier * rng.standard_normal(len(w)))
            w /= math.sqrt(w @ w)
        return w
