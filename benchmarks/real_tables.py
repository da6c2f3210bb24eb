"""Real tables, mapped to [−1, 1] by public ranges of their columns.

Ranges are written down here: from data dictionaries, from what a quantity can be (a rate, a flag, a pixel), or rounded
generously from what is known of it. None is computed from the rows. Cells outside are clipped, missing cells stand at
the middle. Of a table with more than `MOST_ROWS` rows a fixed sample is taken, unless all are asked for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs
import numpy as np

from benchmarks import environment
from dpframe.lattice import FloatArray

SHARED = Path(__file__).parents[2] / "shared" / "data"
MOST_ROWS = 20_000
SAMPLE = 20_260_101  # the seed of the sample

FILES = {"adult": "adult", "acs": "acs2019_nist", "kdd": "kddcup99_10pct", "mnist": "mnist_149"}
"""Of the folder beside the repository, whose README says what they are."""

Range = tuple[float, float]
FLAG: Range = (0, 1)  # a rate, too

ADULT: tuple[Range, ...] = ((0, 100), (0, 1_500_000), (1, 16), (0, 100_000), (0, 5_000), (0, 100), FLAG)
ACS: tuple[Range, ...] = (
    *((0, 99), (1, 2), (1, 6), (0, 4), (1, 9), (0, 20), (0, 20), (1, 3), (0, 2), (0, 100_000)),
    *((0, 9_999), (0, 18), (1, 12), (-20_000, 1_500_000), (0, 9), (0, 501), (1, 6)),
    *((1, 2), (1, 2), (1, 2), (1, 2), (0, 9_999), (0, 9_999)),
)
KDD: tuple[Range, ...] = (
    *((0, 86_400), (0, 100_000), (0, 100_000), FLAG, (0, 3), (0, 10), (0, 100), (0, 10), FLAG, (0, 1_000)),
    *(FLAG, (0, 2), (0, 1_000), (0, 100), (0, 10), (0, 10), (0, 10), FLAG, FLAG, (0, 511), (0, 511)),
    *((FLAG,) * 7),
    *((0, 255), (0, 255)),
    *((FLAG,) * 8),
)
DIABETES: tuple[Range, ...] = (
    *((0, 100), (1, 2), (10, 60), (40, 180), (50, 400), (0, 300), (0, 120), (0, 12), (2, 8), (40, 200)),
    (0, 400),
)
WINE: tuple[Range, ...] = (
    *(
        (10, 16),
        (0, 8),
        (0, 5),
        (5, 35),
        (50, 200),
        (0, 5),
        (0, 7),
        (0, 1),
        (0, 5),
        (0, 15),
        (0, 2),
        (0, 5),
        (0, 2_000),
    ),
)
CANCER: tuple[Range, ...] = (
    *((0, 40), (0, 50), (0, 250), (0, 3_000), (0, 0.25), (0, 0.5), (0, 0.6), (0, 0.3), (0, 0.4), (0, 0.12)),
    *((0, 4), (0, 6), (0, 30), (0, 600), (0, 0.04), (0, 0.2), (0, 0.5), (0, 0.06), (0, 0.1), (0, 0.04)),
    *((0, 50), (0, 60), (0, 300), (0, 5_000), (0, 0.3), (0, 1.2), (0, 1.5), (0, 0.4), (0, 0.8), (0, 0.25)),
    FLAG,
)
DIGITS: tuple[Range, ...] = ((0, 16),) * 64
IRIS: tuple[Range, ...] = ((0, 10), (0, 6), (0, 8), (0, 4))
PIXELS: tuple[Range, ...] = ((0, 255),) * 49
BUNDLED: dict[str, tuple[tuple[Range, ...], int | None]] = {
    "diabetes": (DIABETES, 10),
    "wine": (WINE, None),
    "breast_cancer": (CANCER, 30),
    "digits": (DIGITS, None),
    "iris": (IRIS, 3),
}
"""Ranges and the column that regression predicts."""


@attrs.frozen(kw_only=True, eq=False)
class RealTable:
    """A table.

    Args:
        name: how it is called.
        rows: in the box [−1, 1]ᵈ.
        target: the column that regression predicts from all others; None where none is natural.
        shared: whether it is one of the folder beside the repository.
    """

    name: str
    rows: FloatArray
    target: int | None
    shared: bool


def shared(folder: Path = SHARED, most: int = MOST_ROWS) -> Iterator[RealTable]:
    """Tables of the folder beside the repository, those that are there, with at most this many rows."""
    for name, stem in FILES.items():
        if (file := folder / f"{stem}.npz").exists():
            with np.load(file, allow_pickle=False) as found:
                yield _shared(name, found, most)


def missing(folder: Path = SHARED) -> list[str]:
    """Tables that are not in the folder beside the repository."""
    return [name for name, stem in FILES.items() if not (folder / f"{stem}.npz").exists()]


def _shared(name: str, found: Mapping[str, FloatArray], most: int) -> RealTable:
    cells = found["X"]
    table = partial(_table, name, shared=True, most=most)
    if name == "adult":
        return table(np.column_stack([cells, found["y"]]), ADULT, 6)
    if name == "acs":
        return table(cells, ACS, 14)
    if name == "kdd":
        return table(cells, KDD, None)
    coarse = cells.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4))
    return table(coarse.reshape(-1, 49), PIXELS, None)


def bundled() -> Iterator[RealTable]:
    """Tables that come with scikit-learn; raises PeerError where it cannot be installed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundled.npz"
        environment.run("bundled.py", str(file))
        with np.load(file, allow_pickle=False) as found:
            for name, (ranges, target) in BUNDLED.items():
                yield _table(name, found[name], ranges, target, shared=False)


def _table(
    name: str,
    cells: FloatArray,
    ranges: Sequence[Range],
    target: int | None,
    *,
    shared: bool,
    most: int = MOST_ROWS,
) -> RealTable:
    if len(cells) > most:
        cells = cells[np.sort(np.random.default_rng(SAMPLE).choice(len(cells), most, replace=False))]
    return RealTable(name=name, rows=mapped(cells, ranges), target=target, shared=shared)


def mapped(cells: FloatArray, ranges: Sequence[Range]) -> FloatArray:
    """Cells clipped to the ranges of their columns and mapped to [−1, 1]; missing ones at the middle.

    >>> mapped(np.array([[0.0, 7.0], [5.0, float("nan")]]), [(0, 10), (0, 2)]).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    low, high = np.array(ranges, dtype=float).T
    places = (2 * np.asarray(cells, dtype=float) - low - high) / (high - low)
    return np.asarray(np.clip(np.nan_to_num(places, nan=0.0), -1.0, 1.0))
