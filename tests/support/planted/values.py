"""Mechanisms that are no values, and losses that are not public or do not grow."""

from __future__ import annotations

from typing import Any

import attrs

import dpframe.plugin as dp
from tests.support.planted.right import Right


@attrs.define(kw_only=True, unsafe_hash=True)
class Mutable(dp.Mechanism):
    """Not frozen: parameters can be changed after pricing."""

    name = "planted"
    unit = "mu"
    gives = dp.SymmetricMatrix

    wide: bool = attrs.field(default=False, validator=dp.validators.boolean)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return Right().release(data, level, random)


def complex_only(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, complex):
        raise dp.validators.refuse(owner, attribute.name, "a complex number", value)


@attrs.frozen(kw_only=True)
class LostParameter(Right):
    """A parameter that a plan file cannot hold."""

    factor: complex = attrs.field(default=1j, validator=complex_only)


@attrs.frozen(kw_only=True)
class NoValidation(Right):
    """A parameter that may be anything."""

    factor: float = 1.0


@attrs.frozen(kw_only=True)
class LossOfInput(Right):
    """States a loss that depends on a released value."""

    shift: Any = dp.input(dp.Scalar, default=0.0)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level + abs(float(self.shift.array)))


@attrs.frozen(kw_only=True)
class ExactOnPaper(Right):
    """Graded exact, although floats move its law."""

    numerics = "exact"

    def law_error(self, rows: dp.Rows, level: float) -> float:
        return 1e-9


class CappedLoss(Right):
    """States no more than a fixed loss, however large the level."""

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=min(level, 20.0))
