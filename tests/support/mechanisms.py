"""Small third-party mechanisms for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe.rounding import sqrt_up


@contextmanager
def registered(*classes: type) -> Iterator[None]:
    """Make classes known for the time of a test."""
    for cls in classes:
        dp.register(cls)
    try:
        yield
    finally:
        for cls in classes:
            dp.unregister(cls)


@attrs.frozen(kw_only=True)
class NoisyTrace(dp.Mechanism):
    """The trace of the moment with Laplace noise: pure differential privacy."""

    name = "noisy-trace"
    unit = "epsilon"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Laplace(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        size = data.rows.known_dim  # without the constant coordinate
        trace = int(np.trace(data.moment[:size, :size]))
        noise = int(random.laplace(data.rows.contributions * 2.0**32 / level, 1)[0])
        return dp.Scalar((trace + noise) * data.rows.step**2)


@attrs.frozen(kw_only=True)
class NoisySignal(dp.Mechanism):
    """The second moment in a released basis: needs a second pass over the data."""

    name = "noisy-signal"
    unit = "mu"
    gives = dp.SymmetricMatrix

    basis: Any = dp.input(dp.Subspace)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.BlockMoment(basis=self.basis, radii=(1.0, 1.0)),)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.SymmetricMatrix:
        (statistic,) = self.reads()
        signal = data.parts(statistic)["signal"]
        sensitivity = statistic.sensitivity(data.rows)["signal"]
        noise = random.gaussian(sqrt_up(sensitivity.l2_squared) / level, signal.shape)
        return dp.SymmetricMatrix((signal + np.triu(noise) + np.triu(noise, 1).T).astype(np.float64))


@attrs.frozen(kw_only=True)
class ShiftedTrace(NoisyTrace):
    """The noisy trace plus an earlier result: its input is not needed for reading."""

    name = "shifted-trace"

    by: Any = dp.input(dp.Scalar)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(super().release(data, level, random).array + self.by.array)


@attrs.frozen(kw_only=True)
class Failing(dp.Mechanism):
    """Draws, then fails with a message that holds private data."""

    name = "failing"
    unit = "mu"
    gives = dp.Scalar
    secret: float = 0.0

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        random.gaussian(1.0, 3)
        raise ValueError(f"the trace is {np.trace(data.moment)}")


@attrs.frozen(kw_only=True)
class GivingUp(Failing):
    """Draws, then gives up as a sampler may."""

    name = "giving-up"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        raise dp.SamplingError("the sampler reached its limit of 10 sweeps")


@attrs.frozen(kw_only=True)
class TwoRounds(dp.Recipe):
    """A basis, then the signal in it."""

    name = "two-rounds"
    k: int = attrs.field(validator=dp.validators.positive_int)

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        return [
            dp.release(f"{name}.moment", "gaussian", weight=weight),
            dp.derive(f"{name}.basis", "top-subspace", of=f"{name}.moment", k=self.k),
            dp.release(name, "noisy-signal", basis=f"{name}.basis", weight=2 * weight),
        ]


@attrs.frozen(kw_only=True)
class FirstAxes(dp.Mechanism):
    """The first axes, whatever the data: private, and useless."""

    name = "test-first-axes"
    unit = "epsilon"
    gives = dp.Subspace
    numerics = "exact"

    k: int = 2

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Subspace:
        return dp.Subspace(np.eye(data.rows.known_dim)[:, : self.k])


@attrs.frozen(kw_only=True)
class Floating(dp.Mechanism):
    """A bounded-range release that says how far floats move its law."""

    name = "test-floating"
    unit = "epsilon"
    gives = dp.Scalar

    error: float = 1e-10

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.BoundedRange(epsilon=level)

    def law_error(self, rows: dp.Rows, level: float) -> float:
        return rows.known_dim * self.error

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.Scalar(float(random.laplace(2.0, 1)[0]))
