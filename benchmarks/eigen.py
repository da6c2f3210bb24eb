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

METHODS = DENSE, LANCZOS = "dense", "Lanczos"
MATRICES = SPIKES, NOISE = "spikes", "noise"


def measure(turns: Turns) -> Table:
    """Every size and share, on spikes in noise and on noise alone."""
    cases = [(dim, FEW) for dim in DIMS] + [(dim, dim // share) for dim in SHARE_DIMS for share in SHARES]
    turns.progress.expect(len(cases) * REPETITIONS)
    return Table(
        title="Leading eigenpairs, in milliseconds",
        notes=(
            "GOE noise of unit scale, alone or with k spikes at 2 to 4 times its edge; median of "
            f"{REPETITIONS} rounds in turns. All of numpy's eigh, beside the k leading pairs by either method.",
            f"top_eigenpairs takes Lanczos from dimension {eigen.LANCZOS_DIM} on, for at most one eigenpair in "
            f"{eigen.LANCZOS_SHARE}. Lanczos gains on spikes and loses on noise, and nobody knows before which it "
            "will be: the ratio is of the time for both matrices by the method chosen to that by the better one.",
        ),
        rows=tuple(_compare(dim, k, turns) for dim, k in cases),
    )


def _compare(dim: int, k: int, turns: Turns) -> Row:
    matrices = {SPIKES: _matrix(dim, k), NOISE: _matrix(dim, 0)}
    things = {"eigh": timed(lambda: np.linalg.eigh(matrices[SPIKES]))}
    for kind, matrix in matrices.items():
        things[f"{DENSE}, {kind}"] = timed(_forced(matrix, k, from_dim=dim + 1))
        things[f"{LANCZOS}, {kind}"] = timed(_forced(matrix, k, from_dim=0))
    milliseconds = {name: 1000 * seconds for name, seconds in turns.medians(things, REPETITIONS).items()}
    chosen = LANCZOS if dim >= eigen.LANCZOS_DIM and k * eigen.LANCZOS_SHARE <= dim else DENSE
    both = {method: sum(milliseconds[f"{method}, {kind}"] for kind in MATRICES) for method in METHODS}
    ratio = both[chosen] / min(both.values())
    return Row(
        what=f"d = {dim}, k = {k}",
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
