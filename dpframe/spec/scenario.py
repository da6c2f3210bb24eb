"""Assumed data, for forecasts before any data is touched."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np

from dpframe import lattice, validators
from dpframe.errors import PlanError
from dpframe.kinds import Spectrum
from dpframe.lattice import FloatArray

SOURCES = ("assumed", "released", "true")
MODELS = ("gaussian", "spiked", "table")
SHAPES = {
    "gaussian": ("off-center", "skewed", "heavy-tailed"),
    "spiked": ("off-center", "skewed", "heavy-tailed", "uneven"),
    "table": ("off-center", "skewed", "heavy-tailed", "coded"),
}
"""The shapes that rows of a model may have."""
SPIKED = ("rank", "spike", "noise")
MOST_ROWS = 1 << 63
UNEVEN = 1.9  # the largest noise of the uneven spiked model, of the mean noise
GAP = 1.25  # the smallest spike with its noise in the uneven spiked model, of the largest noise beside it


def _spectrum(values: Any) -> Spectrum | None:
    return None if values is None else Spectrum.of(values)


def _optional(validator: validators.Validator) -> Any:
    return attrs.field(default=None, converter=validators.as_float, validator=attrs.validators.optional(validator))


@attrs.frozen(kw_only=True, slots=False, repr=False)
class Scenario:
    """Assumed data, for forecasts before any data is touched.

    Args:
        dim: the number of coordinates.
        spectrum: eigenvalues of the second moment Σ x xᵀ (not divided by the number of rows), in descending order.
        n: the number of rows.
        source: where the figures come from: "assumed" (a guess, or public knowledge), "released" (by an earlier private
            release) or "true" (computed from the data). Whatever follows from true figures is confidential: it is shown
            only as a diagnostic that is requested by name, and no plan may be chosen by it.
        model: how rows are distributed: "gaussian" (normal, with the covariance spectrum/n), "spiked" (normal, with
            the covariance spike + noise in `rank` directions and noise in all others) or "table" (a made-up table
            within the ranges and levels of the plan's columns, which needs nothing else but n). Without a model, rows
            are not simulated, and forecasts ignore the effect of scaling down long rows. In the first two models
            coordinates of categories are normal too: simulated rows have the covariance, not the levels.
        rank, spike, noise: parameters of the spiked model; ``spike`` is one number for all directions, or `rank`
            numbers in descending order.
        shape: how rows differ from normal ones. For a table: "off-center" (normal columns away from the middle of their
            ranges), "skewed" (crowded at one end), "heavy-tailed" (a few rows far out) or "coded" (about half of the
            columns have two values, the ends of their ranges); by default a table may have any of these. For the other
            models, rows with the same second moment: "off-center" (a mean along the first direction), "skewed" or
            "heavy-tailed"; "uneven" for the spiked model: the same totals, but spikes that fall to little above the
            noise, and noise that is not equal in all directions.

    >>> Scenario(dim=3, n=100, model="spiked", rank=1, spike=9.0, noise=1.0).eigenvalues
    array([1000.,  100.,  100.])
    >>> Scenario(dim=3, n=100, model="spiked", rank=2, spike=(9.0, 4.0), noise=1.0).eigenvalues
    array([1000.,  500.,  100.])
    """

    dim: int = attrs.field(validator=validators.integer(at_least=1, at_most=lattice.MAX_DIM))
    spectrum: Spectrum | None = attrs.field(default=None, converter=_spectrum)
    n: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(validators.integer(at_least=1, at_most=MOST_ROWS))
    )
    source: str = attrs.field(default="assumed", validator=validators.one_of(*SOURCES))
    model: str | None = attrs.field(default=None, validator=attrs.validators.optional(validators.one_of(*MODELS)))
    rank: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive_int))
    spike: float | tuple[float, ...] | None = attrs.field(
        default=None, converter=validators.as_floats, validator=attrs.validators.optional(validators.descending)
    )
    noise: float | None = _optional(validators.number(above=0.0))
    shape: str | None = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        if self.spectrum is not None and len(self.spectrum.array) != self.dim:
            raise PlanError(
                f"the assumed spectrum has {len(self.spectrum.array)} values, but the rows have {self.dim} coordinates."
            )
        if self.model is not None and self.n is None:
            raise PlanError(f"a scenario with model={self.model!r} needs the number of rows: n=.")
        self._check_spiked()
        self._check_shape()

    def __repr__(self) -> str:
        """The given arguments; figures computed from the data are replaced by '...'."""
        given = {field.name: getattr(self, field.name) for field in attrs.fields(Scenario)}
        shown = {name: repr(value) for name, value in given.items() if value is not None}
        if self.source == "true":
            public = ("dim", "source", "model", "shape")
            shown = {name: text if name in public else "..." for name, text in shown.items()}
        return f"Scenario({', '.join(f'{name}={text}' for name, text in shown.items())})"

    def _check_spiked(self) -> None:
        given = [name for name in SPIKED if getattr(self, name) is not None]
        if self.model != "spiked":
            if given:
                raise PlanError(f"{given[0]}= belongs to the spiked model; say model='spiked', or leave it out.")
            return
        if self.spectrum is not None:
            raise PlanError("the spiked model has its spectrum from rank=, spike= and noise=; leave spectrum= out.")
        if len(given) < len(SPIKED):
            raise PlanError(f"the spiked model needs {', '.join(f'{name}=' for name in SPIKED)}.")
        assert self.rank is not None
        if self.rank >= self.dim:
            raise PlanError(f"the spiked model needs a rank below its {self.dim} coordinates; got rank={self.rank}.")
        if isinstance(self.spike, tuple) and len(self.spike) != self.rank:
            raise PlanError(
                f"the spiked model has rank={self.rank}, but {len(self.spike)} spikes: give one, or as many."
            )

    def _check_shape(self) -> None:
        if self.model == "table" and self.spectrum is not None:
            raise PlanError("a table is made up from its ranges and n alone; leave spectrum= out.")
        if self.shape is None:
            return
        allowed = SHAPES.get(self.model or "", ())
        if self.shape not in allowed:
            words = f"one of {', '.join(map(repr, allowed))}" if allowed else "left out without a model of rows"
            raise PlanError(f"Scenario.shape must be {words}; got {self.shape!r}.")

    @property
    def variations(self) -> tuple[Scenario, ...]:
        """The scenario with every shape that its rows may have: where the shape is given, the scenario alone.

        Rows of the gaussian and of the spiked model may also be normal, as the model says.
        """
        if self.model is None or self.shape is not None:
            return (self,)
        shaped = tuple(attrs.evolve(self, shape=shape) for shape in SHAPES[self.model])
        return shaped if self.model == "table" else (self, *shaped)

    @property
    def spikes(self) -> tuple[float, ...]:
        """λ₁ ≥ … ≥ λ_r of the spiked model, one for each of its `rank` directions; empty for other models."""
        if self.spike is None or self.rank is None:
            return ()
        return self.spike if isinstance(self.spike, tuple) else (self.spike,) * self.rank

    @cached_property
    def eigenvalues(self) -> FloatArray | None:
        """The spectrum, given or from the spiked model; None if there is neither."""
        if self.model == "spiked":
            assert self.rank is not None
            n, noise = (float(getattr(self, name)) for name in ("n", "noise"))
            spikes = np.array(self.spikes)
            if self.shape == "uneven":
                spikes[:] = spikes.mean()  # how uneven they become follows from their total
            spectrum = np.full(self.dim, n * noise)
            spectrum[: self.rank] += n * spikes
            if self.shape == "uneven":
                spectrum = np.sort(spectrum * _uneven(self.dim, self.rank, 1.0 + spikes[0] / noise))[::-1]
            spectrum.setflags(write=False)
            return spectrum
        return None if self.spectrum is None else self.spectrum.array

    def with_rows(self, n: int) -> Scenario:
        """The same population with another number of rows: the spectrum is scaled in proportion."""
        if self.n is None:
            raise PlanError("a scenario without n= cannot be scaled to another number of rows.")
        spectrum = None if self.spectrum is None else self.spectrum.array * (n / self.n)
        return attrs.evolve(self, n=n, spectrum=spectrum)

    def refuse_true(self, what: str) -> None:
        """Raise PlanError if the figures come from the data: a choice by them would depend on it."""
        if self.source == "true":
            raise PlanError(
                f"{what} cannot use a scenario with source='true': a choice that depends on the data reveals "
                "something about it, which no budget pays for. Assume a spectrum, or release one (laplace-eigenvalues)."
            )


def _uneven(dim: int, rank: int, ratio: float) -> FloatArray:
    """Factors by which the eigenvalues of the uneven spiked model differ from equal ones; each part keeps its sum.

    Noise falls evenly. Spikes fall by the same factor each, so that the last is not far above the noise.

    Args:
        dim: the number of coordinates.
        rank: the number of spikes.
        ratio: an eigenvalue of a spike, of the noise.
    """
    noise = np.linspace(UNEVEN, 2.0 - UNEVEN, dim - rank)
    noise /= noise.mean()
    last, falls = GAP * noise[0] / ratio, np.arange(rank)[::-1]
    low, high = 0.0, 200.0 / rank
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if last * np.exp(middle * falls).mean() < 1.0 else (low, middle)
    spikes = last * np.exp(low * falls) if last < 1.0 else np.ones(rank)
    return np.concatenate([spikes / spikes.mean(), noise])
