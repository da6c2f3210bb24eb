"""Small third-party derivations that fail in one way or another."""

from __future__ import annotations

from typing import Any

import attrs

import dpframe.plugin as dp

RAISED: list[BaseException] = []
"""What `Raising` raises, set by a test."""


@attrs.frozen(kw_only=True)
class Doubled(dp.PostProcessor):
    """Twice a number."""

    name = "test-doubled"
    gives = dp.Scalar

    of: Any = dp.input(dp.Scalar)

    def apply(self) -> dp.Kind:
        return dp.Scalar(2 * self.of.array)


@attrs.frozen(kw_only=True)
class Disliking(Doubled):
    """Fails with words about the released number."""

    name = "test-disliking"

    def apply(self) -> dp.Kind:
        raise ValueError(f"{float(self.of.array)!r} is not to my liking")


@attrs.frozen(kw_only=True)
class Raising(Doubled):
    """Raises what a test asks for."""

    name = "test-raising"

    def apply(self) -> dp.Kind:
        raise RAISED[-1]
