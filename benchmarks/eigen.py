"""Leading eigenpairs: Lanczos or a dense solver? Measures what the constants of dpframe.postprocess.eigen decide."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from benchmarks.table import Row, Table, at_most
from benchmarks.timing import Turns, timed
from dpframe.lattice import FloatArray
from dpframe.postprocess import eigen

DIMS = (200, 500, 1000, 2000)
FEW = 5
SHARES = (50, 20, 10, 5)
"""One eigenpair in so many: where Lanczos stops to pay."""
SHARE_DIMS = (500, 1000)
REPETITIONS = 7
WANTED = 1.25

FULL, DENSE, LANCZOS = "numpy eigh", "dense, k only", "Lanczos"


def measure(turns: Turns) -> Table:
    """Every size and share, on spikes in noise and on noise alone."""
    cases = [(dim, FEW) for dim in DIMS] + [(dim, dim // share) for dim in SHARE_DIMS for share in SHARES]
    turns.progress.expect(2 * len(cases) * REPETITIONS)
    rows = [_compare(dim, k, spikes, turns) for spikes in (True, False) for dim, k in cases]
    return Table(
        title="Leading eigenpairs, in milliseconds",
        notes=(
            "GOE noise of unit scale, with k spikes at 2 to 4 times its edge or without any; "
            f"median of {REPETITIONS} rounds in turns.",
            f"top_eigenpairs takes Lanczos from dimension {eigen.LANCZOS_DIM} on, for at most one eigenpair in "
            f"{eigen.LANCZOS_SHARE}; the ratio is of its choice to the faster of the two methods.",
        ),
        rows=tuple(rows),
    )


def _compare(dim: int, k: int, spikes: bool, turns: Turns) -> Row:
    matrix = _matrix(dim, k if spikes else 0)
    milliseconds = {
        name: 1000 * seconds
        for name, seconds in turns.medians(
            {
                FULL: timed(lambda: np.linalg.eigh(matrix)),
                DENSE: timed(_forced(matrix, k, from_dim=dim + 1)),
                LANCZOS: timed(_forced(matrix, k, from_dim=0)),
            },
            REPETITIONS,
        ).items()
    }
    chosen = LANCZOS if dim >= eigen.LANCZOS_DIM and k * eigen.LANCZOS_SHARE <= dim else DENSE
    ratio = milliseconds[chosen] / min(milliseconds[DENSE], milliseconds[LANCZOS])
    return Row(
        what=f"d = {dim}, k = {k}, {'spikes' if spikes else 'noise alone'}",
        figures={**milliseconds, "chosen": chosen, "ratio": ratio},
        goal=f"ratio at most {WANTED:g}",
        verdict=at_most(ratio, WANTED),
    )


def _forced(matrix: FloatArray, k: int, from_dim: int) -> Callable[[], object]:
    def run() -> object:
        with patch.multiple(eigen, LANCZOS_DIM=from_dim, LANCZOS_SHARE=0):
            return eigen.top_eigenpairs(matrix, k)

    return run


def _matrix(dim: int, spikes: int) -> FloatArray:
    """GOE noise, whose edge is at √(2·dim), and as many spikes."""
    rng = np.random.default_rng(dim)
    noise = rng.standard_normal((dim, dim))
    matrix: FloatArray = (noise + noise.T) / 2
    if spikes:
        basis = np.linalg.qr(rng.standard_normal((dim, spikes)))[0]
        matrix += (basis * np.linspace(4, 2, spikes) * math.sqrt(2 * dim)) @ basis.T
    return matrix
