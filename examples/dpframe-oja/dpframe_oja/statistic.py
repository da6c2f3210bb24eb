"""The statistic of one round of Oja's algorithm, in exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp

DIRECTION_BITS = 30  # |Σ q w| ≤ 2¹⁶ · 2³⁰ · (1 + tiny) < 2⁵³: projections of integer rows are exact
SMALLEST_CLIP = 2.0**-20


def start(dim: int, seed: int) -> dp.FloatArray:
    """The public direction of the first round: uniform on the sphere, the same for the same seed.

    >>> start(1, seed=0).tolist() in ([1.0], [-1.0])
    True
    """
    draw = np.random.default_rng(seed).standard_normal(dim)
    direction: dp.FloatArray = draw / np.linalg.norm(draw)
    return direction


def check_clip(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse a clip that is not a fraction of norm² between SMALLEST_CLIP and 1."""
    if not (dp.validators.is_finite(value) and SMALLEST_CLIP <= value <= 1.0):
        raise dp.validators.refuse(owner, "clip", f"a number from {SMALLEST_CLIP:.3g} to 1", value)


def check_seed(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse a seed that NumPy does not accept."""
    if not dp.validators.is_int(value) or value < 0:
        raise dp.validators.refuse(owner, "seed", "an integer of at least 0", value)


def check_direction(direction: Any, rows: dp.Rows) -> None:
    """Refuse a direction written in the plan that has another number of coordinates than the rows."""
    if isinstance(direction, dp.Subspace) and rows.dim not in (None, len(direction.array)):
        raise dp.PlanError(f"direction= has {len(direction.array)} coordinates, but the rows have {rows.dim}.")


@attrs.frozen(kw_only=True)
class OjaSum(dp.Statistic):
    """The sum of x (x·w) over all rows x, each row's share scaled down to length clip · norm² where it is longer.

    Rows are lattice rows q of length at most 2¹⁶, and the direction w is rounded to 2⁻³⁰, so q·w is a sum of integers
    below 2⁵³, exact in any order. The product q (q·w) is one multiplication per entry, and `dp.lattice.integer_rows`
    makes it an integer vector of length at most R = 2¹⁶, for any input. So a row's share depends on that row alone and
    has length at most R. The sensitivity rests on this only, not on the direction, the clip or intermediate floats. A
    row with a cell that is not finite is a zero row, whose share is zero.

    One person with m rows adds or removes m such vectors, which move the sum by at most m R, or exchanges m of them for
    others, which move it by at most 2 m R. (With clip = 1 replacing moves it by little more than m R, since
    ‖(xxᵀ − yyᵀ)w‖ ≤ norm²; with a small clip the larger bound is nearly reached.)

    Args:
        direction: a released subspace, whose leading direction is used; without one, a public random start.
        clip: the largest length of a row's share, as a fraction of norm², which no share exceeds.
        seed: the seed of the public start. It need not be secret.
    """

    name = "oja-sum"

    direction: Any = dp.input(dp.Subspace, default=None)
    clip: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=check_clip)
    seed: int = attrs.field(default=0, validator=check_seed)

    def check(self, rows: dp.Rows) -> None:
        if rows.center:
            raise dp.PlanError("oja-sum needs rows without a constant coordinate: dp.Rows(center=False).")
        check_direction(self.direction, rows)

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        vectors = rows.contributions * (2 if rows.neighbors == "replace" else 1)
        return {"sum": dp.Sensitivity(l2_squared=(vectors * dp.lattice.RADIUS) ** 2)}

    def partial(self, chunk: dp.Chunk) -> Mapping[str, dp.IntArray]:
        rows, dim = chunk.integers(), chunk.rows.known_dim
        shares = rows * (rows @ self._integer_direction(dim))[:, None]
        longest = self.clip * dp.lattice.inner_radius(dim) ** 2 * 2.0**DIRECTION_BITS
        integers, _ = dp.lattice.integer_rows(shares, longest)
        return {"sum": integers.sum(axis=0).astype(np.int64)}  # exact for up to 2³⁷ rows at once

    def unit(self, rows: dp.Rows) -> float:
        """One lattice step of the sum, in squared units of the rows."""
        return self.clip * rows.length**2 / dp.lattice.inner_radius(rows.known_dim)

    def _integer_direction(self, dim: int) -> dp.FloatArray:
        """The direction rounded to integers: a function of public and released values only."""
        direction = start(dim, self.seed) if self.direction is None else self.direction.array[:, 0]
        rounded: dp.FloatArray = np.rint(direction * 2.0**DIRECTION_BITS)
        return rounded
