"""What an error forecast is made of: a scenario goes in, bounds come out."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.kinds import Spectrum


def _spectrum(values: Any) -> Spectrum | None:
    return None if values is None else Spectrum.of(values)


@attrs.frozen(kw_only=True)
class Scenario:
    """Assumed data, for forecasts before any data is touched.

    Args:
        dim: the number of coordinates.
        spectrum: eigenvalues of the second moment Σ x xᵀ (not divided by the number of rows), from the largest. It is
            an assumption: a bound computed from the true spectrum would itself be private.
    """

    dim: int = attrs.field(validator=validators.positive_int)
    spectrum: Spectrum | None = attrs.field(default=None, converter=_spectrum)

    def __attrs_post_init__(self) -> None:
        if self.spectrum is not None and len(self.spectrum.array) != self.dim:
            raise PlanError(
                f"the assumed spectrum has {len(self.spectrum.array)} values, but the rows have {self.dim} coordinates."
            )


@attrs.frozen(kw_only=True)
class Assumption:
    """A condition under which a bound holds, and whether the scenario meets it."""

    text: str
    holds: bool


@attrs.frozen(kw_only=True)
class Bound:
    """One forecast or bound on the error of a result.

    Args:
        name: the oracle's name for it.
        value: in the norm itself, not squared.
        norm: which norm, of which difference.
        kind: a "forecast" is an expected size; "upper-mean", "upper-probability" and "lower" are proved; a "rate" is
            known up to a constant.
        explicit: whether every constant is known.
        assumptions: what it rests on.
        citation: where it is proved.
    """

    name: str
    value: float
    norm: str
    kind: Literal["forecast", "upper-mean", "upper-probability", "lower", "rate"]
    explicit: bool
    assumptions: tuple[Assumption, ...] = ()
    citation: str = ""
