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
MODELS = ("gaussian", "spiked")
SPIKED = ("rank", "spike", "noise")
MOST_ROWS = 1 << 63


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
        model: how rows are distributed: "gaussian" (normal, with the covariance spectrum/n) or "spiked" (normal, with
            the covariance spike + noise in `rank` directions and noise in all others). Without a model, rows are not
            simulated, and forecasts ignore the effect of scaling down long rows. Coordinates of categories are normal
            too: simulated rows have the covariance, not the levels.
        rank, spike, noise: parameters of the spiked model.

    >>> Scenario(dim=3, n=100, model="spiked", rank=1, spike=9.0, noise=1.0).eigenvalues
    array([1000.,  100.,  100.])
    """

    dim: int = attrs.field(validator=validators.integer(at_least=1, at_most=lattice.MAX_DIM))
    spectrum: Spectrum | None = attrs.field(default=None, converter=_spectrum)
    n: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(validators.integer(at_least=1, at_most=MOST_ROWS))
    )
    source: str = attrs.field(default="assumed", validator=validators.one_of(*SOURCES))
    model: str | None = attrs.field(default=None, validator=attrs.validators.optional(validators.one_of(*MODELS)))
    rank: int | None = attrs.field(default=None, validator=attrs.validators.optional(validators.positive_int))
    spike: float | None = _optional(validators.number(above=0.0))
    noise: float | None = _optional(validators.number(above=0.0))

    def __attrs_post_init__(self) -> None:
        if self.spectrum is not None and len(self.spectrum.array) != self.dim:
            raise PlanError(
                f"the assumed spectrum has {len(self.spectrum.array)} values, but the rows have {self.dim} coordinates."
            )
        if self.model is not None and self.n is None:
            raise PlanError(f"a scenario with model={self.model!r} needs the number of rows: n=.")
        self._check_spiked()

    def __repr__(self) -> str:
        """The given arguments; figures computed from the data are replaced by '...'."""
        given = {field.name: getattr(self, field.name) for field in attrs.fields(Scenario)}
        shown = {name: repr(value) for name, value in given.items() if value is not None}
        if self.source == "true":
            shown = {name: text if name in ("dim", "source", "model") else "..." for name, text in shown.items()}
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

    @cached_property
    def eigenvalues(self) -> FloatArray | None:
        """The spectrum, given or from the spiked model; None if there is neither."""
        if self.model == "spiked":
            n, spike, noise = (float(getattr(self, name)) for name in ("n", "spike", "noise"))
            spectrum = np.full(self.dim, n * noise)
            spectrum[: self.rank] += n * spike
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
