"""How the budget of an adaptive release is divided, and how many rows its radius leaves beyond: all of it public.

Let A be the size of the noise on the moment in units of the squared radius: its root mean square in Frobenius norm is
A·r². Rows beyond the radius are scaled down, which biases the moment by at most their squared lengths in excess of r².
Where the sum of both is smallest, about A rows are beyond; since their excesses point in different directions and add
up to less, a few times A is better. The radius is a private quantile, whose rank is uncertain by about log(CROWD)
divided by its level: the level is chosen such that this uncertainty is no more than the number of rows beyond.

All of these scale in the same way with the whole budget, so the shares depend on the dimension and the relation alone.
The constants were chosen by this argument and on simulated tables (docs/explanation/adaptive.md).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import attrs
import numpy as np

import dpframe.plugin as dp

Form = Literal["gaussian", "pure"]
Pilot = Literal["scale", "linear"] | None

CENTER = {"gaussian": 0.1, "pure": 0.2}
"""The share of the sum in what is left after the radius: of mu², or of a pure epsilon."""

SCALES, LINEAR = {"gaussian": 0.15, "pure": 0.15}, {"gaussian": 0.2, "pure": 0.2}
"""The share of a pilot in what is left for moments, of mu² or of a pure epsilon: of one that gives scales, and of one
that gives a linear map, whose precision adds to that of the moment."""

CONSTANT = 1 / 16
"""The squared constant coordinate of rows about a center, in units of the squared radius, for up to 32 coordinates.
With more it is smaller, and the mean is known as well as deviations from the moment alone."""

POINTS = 1000
"""Candidates for a radius. Where rows are alike in length, ranks change by a large part from one candidate to the next
if there are few: then none is near the wanted rank, and one beyond all rows is as likely."""

CROWD = 200
"""How many times more candidates there are beyond all rows than near the wanted radius, at most, for rows alike in
length: a rank is off by a tenth within half a percent of the radius or more, and the grid is a few times as long."""

PER_ROW = 0.15
"""What a row beyond the radius costs, in units of what it saves in noise; from simulated tables."""

NOTHING = 1e-9
"""A level that stands for none."""

LEVELS = np.geomspace(0.02, 1.2, 60)
"""Levels of a radius that are compared, in units of the whole."""


@attrs.frozen(kw_only=True)
class Shares:
    """Levels in units of the whole budget, a Gaussian mu or a pure epsilon, of which one recipe uses 1.

    Args:
        form: "gaussian" or "pure".
        center: the level of the sum.
        radius: the level of each radius.
        pilot: the level of the pilot moment; None without one.
        moment: the level of the moment.
        offset: the level of a sum about the center, for the mean alone; None without one.
        noise: A, for a whole budget of 1, of all that counts: the moment, and the pilot of a linear map.
        beyond: how many rows a radius leaves beyond it, for a whole budget of 1.
    """

    form: Form
    center: float
    radius: float
    pilot: float | None
    moment: float
    offset: float | None
    noise: float
    beyond: float

    @property
    def cost(self) -> float:
        """The error to expect, in units of the squared radius: the noise, and what the rows beyond the radius cost."""
        return self.noise + PER_ROW * self.beyond

    def loss(self, level: float) -> dp.PrivacyLoss:
        """The loss of a sum or a moment at this level."""
        return dp.losses.Gaussian(mu=level) if self.form == "gaussian" else dp.losses.Pure(epsilon=level)

    @property
    def losses(self) -> list[dp.PrivacyLoss]:
        """The losses of all releases, for a whole of 1."""
        radii = [dp.losses.BoundedRange(epsilon=self.radius)] * (1 if self.pilot is None else 2)
        others = [self.loss(level) for level in (self.pilot, self.offset) if level is not None]
        return [self.loss(self.center), *radii, *others, self.loss(self.moment)]


@lru_cache(maxsize=256)
def divided(
    form: Form,
    *,
    dim: int,
    neighbors: str,
    pilot: Pilot,
    clipped: float,
    certain: float = 2.0,
    mean: bool = False,
) -> Shares:
    """The shares of an adaptive release.

    Args:
        form: "gaussian" or "pure".
        dim: the number of coordinates.
        neighbors: the neighboring relation.
        pilot: what a pilot gives; None without one. With it, a second radius is released.
        clipped: how many rows to leave beyond the radius, in units of A.
        certain: the logarithm of the odds against a radius beyond all rows.
        mean: whether the mean matters as well, see `mean_share`.
    """
    share = mean_share(dim) if mean and form == "gaussian" else 0.0
    found = (
        _divided(form, float(x), dim, neighbors, gives=pilot, clipped=clipped, certain=certain, mean=share)
        for x in LEVELS
    )
    return min((each for each in found if each is not None), key=lambda each: each.cost)


def mean_share(dim: int) -> float:
    """The share of a sum about the center in what is left for moments and for it, of mu²: it gives the mean.

    Both are known equally well (`mean_error`) for s² = 2m²(1/d − γ²)/(1 + γ²), m being the level of the moment and s
    that of the sum, which gives the mean with an error of √(1 + γ²)r/s. From 16 columns on there is none. A pure level
    would have to be divided itself, not its square, and a sum that gets little of it says nothing.
    """
    relative = max(2 * (1 / dim - CONSTANT) / (1 + CONSTANT), 0.0)
    return relative / (1 + relative)


def mean_error(dim: int) -> float:
    """The error of a mean that comes from the moment alone, in units of that of a standard deviation; at least 1.

    A moment at level m gives the standard deviation σ of a column with an error of (1 + γ²)r²/(2σm), and with a
    constant coordinate of γr the mean with (1 + γ²)r/(√2γm). In d columns alike the radius has about r² = 2dσ², twice
    the mean square: the ratio is 1/(γ√d).
    """
    return max(1 / math.sqrt(CONSTANT * dim), 1.0)


def typical_gain(dim: int) -> float:
    """How many times smaller a linear map makes the error of a covariance, if the i-th variance is 1/i of the first.

    It is d Σ λ / (Σ √λ)², see `dpframe_adaptive.preconditioner`. Few columns gain little, and a pilot and a second
    radius take their share of the budget: a large one of a pure budget, where levels add up and not their squares.
    """
    variances = 1 / np.arange(1, dim + 1)
    return float(dim * variances.sum() / np.sqrt(variances).sum() ** 2)


def _divided(
    form: Form,
    radius: float,
    dim: int,
    neighbors: str,
    *,
    gives: Pilot,
    clipped: float,
    certain: float,
    mean: float,
) -> Shares | None:
    """The shares for one level of the radius; None where it leaves nothing."""
    radii = 1 if gives is None else 2
    left = 1 - radii * radius**2 / 4 if form == "gaussian" else 1 - radii * radius  # a quantile costs (level/2)² of mu²
    if left <= 0.0:
        return None
    center, rest = CENTER[form] * left, (1 - CENTER[form]) * left
    offset, rest = math.sqrt(mean * rest) if mean else None, (1 - mean) * rest
    share = 0.0 if gives is None else (LINEAR if gives == "linear" else SCALES)[form]
    pilot, moment = share * rest if share else None, (1 - share) * rest
    if form == "gaussian":
        center, moment, pilot = math.sqrt(center), math.sqrt(moment), None if pilot is None else math.sqrt(pilot)
    noise = _noise(form, dim, neighbors) / math.hypot(moment, pilot or 0.0 if gives == "linear" else 0.0)
    uncertain = 2 * (math.log(CROWD) + certain) / radius  # of the rank: that weight is on the points beyond all rows
    return Shares(
        form=form,
        center=center,
        radius=radius,
        pilot=pilot,
        moment=moment,
        offset=offset,
        noise=noise,
        beyond=max(clipped * noise, uncertain),
    )


def _noise(form: Form, dim: int, neighbors: str) -> float:
    """A for a level of 1: the root mean square of the noise in Frobenius norm, for rows of length 1."""
    if form == "gaussian":
        return math.sqrt(dim * (dim + 1) / 2 * (2 if neighbors == "replace" else 1))
    return (dim + 1) * math.sqrt(dim / 2) * (2 if neighbors == "replace" else 1)


def sum_noise(form: Form, rows: dp.Rows) -> float:
    """The deviation of the noise on the sum at level 1, in mapped coordinates, for one row per person.

    Args:
        form: "gaussian" or "pure".
        rows: the promise.
    """
    one = attrs.evolve(rows, contributions=1)
    sensitivity = dp.RowSum().sensitivity(one)["sum"]
    if form == "gaussian":
        return math.sqrt(sensitivity.l2_squared) * one.unplaced.step
    assert sensitivity.l1 is not None
    return math.sqrt(2) * sensitivity.l1 * one.unplaced.step


@lru_cache(maxsize=256)
def whole(shares: Shares, budget: dp.Budget, accountant: str) -> float:
    """The largest level of the whole that fits into a budget, to three digits; near 0 where the accountant has none.

    It decides between forms; levels of a run are solved by the plan.

    Args:
        shares: how it is divided.
        budget: the budget.
        accountant: the name of the accountant of the plan.
    """
    if accountant == "auto":  # the best of all, nearly that of the form itself, and quicker
        accountant = "gdp" if shares.form == "gaussian" else "pure"
        losses = [shares.loss(1.0)]
    else:
        losses = shares.losses
    composer = dp.accountant(accountant)
    if not all(map(composer.supports, losses)):
        return NOTHING
    low, high = NOTHING, 1e6
    while high > (1 + 1e-3) * low:
        middle = math.sqrt(low * high)
        fits = composer.epsilon([attrs.evolve(loss, **_scaled(loss, middle)) for loss in losses], budget.delta)
        low, high = (middle, high) if fits <= budget.epsilon else (low, middle)
    return low


def _scaled(loss: dp.PrivacyLoss, factor: float) -> dict[str, float]:
    """The parameter of a loss, mu or epsilon, times a factor."""
    return {field.name: factor * getattr(loss, field.name) for field in attrs.fields(type(loss))}
