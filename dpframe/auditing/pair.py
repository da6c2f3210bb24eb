"""A pair of neighboring data sets."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen(eq=False)
class Pair:
    """Two neighboring data sets.

    Args:
        name: a description of the difference.
        one: rows, or a matrix, as :meth:`dpframe.Plan.run` takes them.
        other: the same rows with those of one person removed, added or replaced; or a matrix as far apart as promised.
    """

    name: str
    one: Any = attrs.field(repr=False)
    other: Any = attrs.field(repr=False)
