"""How long an exact draw from a unitary orbit takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np

import dpframe.plugin as dp
from benchmarks.table import Row, Table, at_most
from benchmarks.timing import Turns, timed
from dpframe.lattice import RADIUS
from dpframe.noise import Keystream
from dpframe_orbit import Orbit

GOALS = {50: 0.2, 100: 0.4, 200: 0.8, 500: 2.5, 1000: 6.0}
"""Seconds of one core wanted, by dimension, for five components."""
MANY, MANY_DIM, MANY_GOAL = 20, 200, 8.0
"""The same for many components."""
FEW = 5
DIM = 50
RANKS = (1, 2, 10, 20)
REPETITIONS = 5
EPSILON = 1.0


def measure(turns: Turns) -> Table:
    """Growth with the dimension for few components, and with the rank at one dimension."""
    cases = [(dim, FEW) for dim in GOALS] + [(DIM, rank) for rank in RANKS] + [(MANY_DIM, MANY)]
    turns.progress.expect(len(cases) * REPETITIONS)
    return Table(
        title="A draw from a unitary orbit, in seconds",
        notes=(
            f"Mechanism orbit at ε = {EPSILON:g}, add-remove, rows of length 1; a spectrum of k ones. Eigenvalues of "
            "the moment: k spikes from 600 down to 200, and the others from 60 down to 40. Median of "
            f"{REPETITIONS} draws, each from another stream, the first of each size not counted.",
            "The lengths of series are public sizes that depend on the eigenvalues, so other data take other times: "
            "longer where κ times their range is in the thousands.",
        ),
        rows=tuple(_row(dim, rank, turns) for dim, rank in cases),
    )


def _row(dim: int, rank: int, turns: Turns) -> Row:
    name = f"d = {dim}, k = {rank}"
    seconds = turns.medians({name: timed(_draw(dim, rank))}, REPETITIONS)[name]
    if rank != FEW and (dim, rank) != (MANY_DIM, MANY):
        return Row(what=name, figures={"seconds": seconds})
    wanted = GOALS[dim] if rank == FEW else MANY_GOAL
    return Row(what=name, figures={"seconds": seconds}, goal=f"below {wanted:g} s", verdict=at_most(seconds, wanted))


def _draw(dim: int, rank: int) -> Callable[[], object]:
    gammas = np.concatenate([np.linspace(600, 200, rank), np.linspace(60, 40, dim - rank)])
    moment = np.diag(np.rint(gammas * RADIUS**2)).astype(np.int64)
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=dim)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": moment}})
    mechanism, random, numbers = Orbit(spectrum=[1.0] * rank), dp.Random(Keystream.insecure(dim)), count()
    return lambda: mechanism.release(data, EPSILON, random.child(str(next(numbers))))
