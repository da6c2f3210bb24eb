"""A mechanism whose noise an OpenDP measurement draws, and whose loss that measurement's privacy map bounds.

dpframe reads the exact statistic and knows how far one person moves it, in integers, under the relation of the plan.
That distance is what OpenDP's map is asked about: the scale of the measurement is the smallest, as OpenDP finds it, for
which map(distance) is at most the level. So the stated loss, which is the level, is never below OpenDP's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, ClassVar

import attrs
import numpy as np

import dpframe.plugin as dp

LARGEST = 2.0**52
"""The largest scale of the noise, in lattice units: larger noise would leave the 64-bit integers of OpenDP."""

EDGE = 2**62
"""Totals beyond it, of a billion rows or more, are clipped: OpenDP's integers have 64 bits. Clipping costs accuracy,
not privacy."""


class Consent:
    """How many threads are building measurements: OpenDP's features are those of the process, so the last one to
    finish takes back what the first one allowed."""

    def __init__(self) -> None:
        self._lock, self._builders, self._is_ours = Lock(), 0, False

    @contextmanager
    def given(self) -> Iterator[None]:
        """Allow OpenDP's constructors here: naming the mechanism in a plan is the consent that OpenDP asks for."""
        from opendp import mod

        with self._lock:
            if self._builders == 0:
                self._is_ours = "contrib" not in mod.GLOBAL_FEATURES
                mod.enable_features("contrib")
            self._builders += 1
        try:
            yield
        finally:
            with self._lock:
                self._builders -= 1
                if self._builders == 0 and self._is_ours:
                    mod.disable_features("contrib")


contributed = Consent().given


@attrs.frozen(kw_only=True)
class MeasuredMechanism(dp.Mechanism):
    """Base of mechanisms that hand one part of a statistic to an OpenDP measurement on vectors of integers.

    A subclass states its statistic and the name of the part, builds the measurement, and makes a kind of its integers.
    The measurement takes vectors of 64-bit integers with the metric ``L1Distance<i64>`` or ``L2Distance<f64>``, and its
    output measure is pure differential privacy (``unit = "epsilon"``) or zero-concentrated (``unit = "rho"``): anything
    else is refused when the plan is priced.

    Args:
        neighbors: the neighboring relation, "add-remove" or "replace", that the release is declared for. A plan with
            another one is refused: a distance between vectors does not tell the relation that it was computed for.

    Guarantee:
        The loss is the level, and OpenDP's privacy map at the statistic's sensitivity is at most that. The noise is
        drawn inside OpenDP: that its law is the one that the map is about rests on OpenDP.
    """

    drawn_by = "OpenDP"
    part: ClassVar[str]
    """The part of its one statistic that is measured."""

    neighbors: str = attrs.field(validator=dp.validators.one_of("add-remove", "replace"))

    @abstractmethod
    def measurement(self, scale: float) -> Any:
        """The OpenDP measurement with noise of this scale, in lattice units."""

    def check(self, rows: dp.Rows) -> None:
        if rows.neighbors != self.neighbors:
            raise dp.PlanError(
                f"{self.name!r} is declared for {self.neighbors!r} neighbors, but the promise is about "
                f"{rows.neighbors!r}. Declare the relation of the plan: neighbors={rows.neighbors!r}."
            )

    def check_level(self, rows: dp.Rows, level: float) -> None:
        if rows.dim is not None:
            self.scale(rows, level)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.ZCDP(rho=level) if self.unit == "rho" else dp.losses.Pure(epsilon=level)

    def scale(self, rows: dp.Rows, level: float) -> float:
        """The scale at which OpenDP's map of the statistic's sensitivity is at most the level.

        Raises PlanError if the measurement has another metric or measure than it must, or the level is too small.

        Args:
            rows: the promise, with its dimension.
            level: the level of the release.
        """
        (statistic,) = self.reads()
        return _calibrated(self, statistic.sensitivity(rows)[self.part], float(level))

    def measured(self, data: dp.PrivateData, level: float) -> dp.IntArray:
        """The part with OpenDP's noise, in its own shape."""
        (statistic,) = self.reads()
        exact = data.parts(statistic)[self.part]
        inside = [max(-EDGE, min(EDGE, int(number))) for number in exact.ravel()]  # one person moves these no further
        with contributed():
            noisy = self.measurement(self.scale(data.rows, level))(inside)
        return np.array(noisy, dtype=np.int64).reshape(exact.shape)


@lru_cache(maxsize=256)
def _calibrated(mechanism: MeasuredMechanism, moved: dp.Sensitivity, level: float) -> float:
    with contributed():
        distance = _distance(mechanism, moved)
        high = 1.0
        while not mechanism.measurement(high).check(distance, level):
            high *= 2.0
            if high > LARGEST:
                raise dp.PlanError(
                    f"{mechanism.name!r} would need noise of a scale above {LARGEST:g} lattice units at level "
                    f"{level:g}. Raise the budget or this step's share."
                )
        low = 0.0
        while (middle := (low + high) / 2) not in (low, high):
            if middle > 0.0 and mechanism.measurement(middle).check(distance, level):
                high = middle
            else:
                low = middle
    return high


def _distance(mechanism: MeasuredMechanism, moved: dp.Sensitivity) -> int | float:
    """How far one person moves the part, in the metric of the measurement, rounded up."""
    made = mechanism.measurement(1.0)
    space, measure = f"{made.input_carrier_type}, {made.input_metric}", str(made.output_measure)
    known = {"epsilon": "MaxDivergence", "rho": "ZeroConcentratedDivergence"}[mechanism.unit]
    if measure != known:
        raise dp.PlanError(
            f"{mechanism.name!r} has a level in {mechanism.unit}, so that its OpenDP measurement must have the output "
            f"measure {known}; it has {measure}."
        )
    if space == "Vec<i64>, L1Distance(i64)" and moved.l1 is not None:
        return moved.l1
    if space == "Vec<i64>, L2Distance(f64)":
        return dp.rounding.sqrt_up(moved.l2_squared)
    raise dp.PlanError(
        f"{mechanism.name!r} has an OpenDP measurement of {space}, for which its statistic states no sensitivity. "
        "Vec<i64> with L2Distance(f64), or with L1Distance(i64) where the statistic has an L1 sensitivity, can be used."
    )
