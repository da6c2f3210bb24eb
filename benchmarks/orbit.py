"""How long an exact draw from a unitary orbit takes, how that grows, and what it tells about the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np
from threadpoolctl import threadpool_limits

import dpframe.plugin as dp
from benchmarks import coupling
from benchmarks.table import Row, Table, Value, at_least, at_most
from benchmarks.timing import Turns, timed_on_cpu
from dpframe.lattice import RADIUS, FloatArray
from dpframe.noise import Keystream
from dpframe_orbit import Orbit
from dpframe_orbit.direct import Target, Work, draw_integers

GOALS = {50: 0.2, 100: 0.4, 200: 0.8, 500: 2.5, 1000: 6.0}
"""Seconds of one core wanted, by dimension, for five components."""
MANY, MANY_GOAL = 20, 8.0
"""The same for many components at the dimension of RANKS."""
FEW = 5
DIM, RANKS = 200, (1, 2, 10, MANY)
REPETITIONS = 5
EPSILON = 1.0
COUPLED = (50, 100, DIM)  # dimensions at which coupling from the past is measured as well
FASTER = 10.0  # than that, wanted at the last of them
DATA_SETS, DATA_ROWS, DATA_DIM = 20, 600, 50
SHORT = 150.0  # κ(γ₁ − γ_d) up to which all series have the least public number of terms
APART, LONGER = 1.05, 1.5  # function values and time of one data set, relative to another's, wanted


def measure(turns: Turns) -> Table:
    """Growth with the dimension for few components, and with the rank at one dimension; and the spread over data."""
    cases = [(dim, FEW) for dim in GOALS] + [(DIM, rank) for rank in RANKS]
    turns.progress.expect(len(cases) * REPETITIONS + len(COUPLED))
    with threadpool_limits(1):
        seconds = {case: _seconds(*case, turns) for case in cases}
        rows = [_row(case, found) for case, found in seconds.items()]
        rows.append(_growth(seconds))
        rows += [_beside_coupling(dim, seconds[dim, FEW], turns) for dim in COUPLED]
        rows.append(_spread("data sets alike", _alike()))
        kinds = _of_all_kinds()
        short = [each for each in kinds if each[0] - each[-1] <= SHORT]
        rows.append(_spread(f"spectra with κ(γ₁ − γ_d) ≤ {SHORT:g}", short))
        rows.append(_spread("spectra of all kinds", kinds))
    return Table(
        title="A draw from a unitary orbit, in seconds of one core",
        notes=(
            f"Mechanism orbit at ε = {EPSILON:g}, add-remove, rows of length 1; a spectrum of k ones. Eigenvalues of "
            "the moment: k spikes from 600 down to 200, and the others from 60 down to 40. Processor time of all "
            f"threads, the median of {REPETITIONS} draws, each from another stream, the first of each size not "
            "counted; with the solver's eigenvalues and the proof of their error.",
            "Exponents are fitted to the logarithms of these seconds: over d from 100 on, and over k from 5 on.",
            "Coupling from the past: one draw of the eigenvalues of blocks alone, in floats, without eigenvectors or a "
            "grid, and from a horizon that is known to suffice (benchmarks/coupling.py).",
            f"Data sets alike: {DATA_SETS} times {DATA_ROWS} rows of one law with five spikes, at "
            f"d = {DATA_DIM} and k = {FEW}. Spectra of all kinds: flat, weak and strong spikes, one spike, evenly "
            "spread, geometric, nearly tied. Values of the functions are padded to a public number, and the work for "
            "them to that of a public number of terms of series; longer series or contours take more. Repetitions: "
            "rows or draws that were computed again at a higher precision.",
        ),
        rows=tuple(rows),
    )


def _row(case: tuple[int, int], seconds: float) -> Row:
    dim, rank = case
    name = f"d = {dim}, k = {rank}"
    figures: dict[str, Value] = {"seconds": seconds}
    wanted = GOALS[dim] if rank == FEW else MANY_GOAL if rank == MANY else None
    if wanted is None:
        return Row(what=name, figures=figures)
    return Row(what=name, figures=figures, goal=f"below {wanted:g} s", verdict=at_most(seconds, wanted))


def _seconds(dim: int, rank: int, turns: Turns) -> float:
    name = f"d = {dim}, k = {rank}"
    return turns.medians({name: timed_on_cpu(_draw(dim, rank))}, REPETITIONS)[name]


def _gammas(dim: int, rank: int) -> FloatArray:
    return np.concatenate([np.linspace(600, 200, rank), np.linspace(60, 40, dim - rank)])


def _draw(dim: int, rank: int) -> Callable[[], object]:
    moment = np.diag(np.rint(_gammas(dim, rank) * RADIUS**2)).astype(np.int64)
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=dim)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": moment}})
    mechanism, random, numbers = Orbit(spectrum=[1.0] * rank), dp.Random(Keystream.insecure(dim)), count()
    return lambda: mechanism.release(data, EPSILON, random.child(str(next(numbers))))


def _growth(seconds: dict[tuple[int, int], float]) -> Row:
    """The exponents of powers of d and of k."""
    figures: dict[str, Value] = {
        "exponent of d": _exponent({dim: seconds[dim, FEW] for dim in GOALS if dim >= 100}),
        "exponent of k": _exponent({rank: seconds[DIM, rank] for rank in (FEW, *RANKS) if rank >= FEW}),
    }
    return Row(what="growth", figures=figures)


def _exponent(seconds: dict[int, float]) -> float:
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def _beside_coupling(dim: int, seconds: float, turns: Turns) -> Row:
    rates = np.zeros(dim + 1)
    rates[1:dim] = -np.diff(_gammas(dim, FEW)) * EPSILON
    spectrum = np.where(np.arange(dim) < FEW, 1.0, 0.0)
    horizon = coupling.draw(spectrum, rates, _stream(0))[1]
    name = f"coupling from the past, d = {dim}, k = {FEW}"
    again = timed_on_cpu(lambda: coupling.draw(spectrum, rates, _stream(0), horizon))
    other = turns.medians({name: again}, 1)[name]
    figures: dict[str, Value] = {"seconds": other, "times as long": other / seconds}
    if dim < DIM:
        return Row(what=name, figures=figures)
    goal = f"at least {FASTER:g} times as long"
    return Row(what=name, figures=figures, goal=goal, verdict=at_least(other / seconds, FASTER))


def _stream(number: int) -> dp.Random:
    return dp.Random(Keystream.insecure(number + 1))


def _alike() -> list[FloatArray]:
    deviations = np.sqrt(np.concatenate([np.linspace(10.0, 4.0, FEW), np.ones(DATA_DIM - FEW)]))
    found = []
    for seed in range(DATA_SETS):
        rows = np.random.default_rng(seed).standard_normal((DATA_ROWS, DATA_DIM)) * deviations
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        found.append(np.linalg.eigvalsh(rows.T @ rows)[::-1])
    return found


def _of_all_kinds() -> list[FloatArray]:
    tail = np.linspace(60.0, 40.0, DATA_DIM - FEW)
    spikes = [np.linspace(3.0 * s, s, FEW) for s in (60.0, 200.0, 600.0, 2000.0, 20_000.0)]
    found = [np.concatenate([spike, tail]) for spike in spikes]
    found += [s * np.concatenate([np.linspace(6.0, 2.0, FEW), tail / 100.0]) for s in (0.1, 1.0, 3.0, 30.0)]
    found += [np.linspace(top, 0.0, DATA_DIM) for top in (0.0, 6.0, 60.0, 600.0, 2000.0)]
    found += [top * 0.8 ** np.arange(DATA_DIM) for top in (10.0, 1000.0)]
    found += [np.concatenate([[top], np.linspace(10.0, 0.0, DATA_DIM - 1)]) for top in (100.0, 1000.0, 5000.0)]
    found.append(np.concatenate([np.linspace(600.0, 210.0, FEW - 1), [200.0, 199.99], tail[1:]]))
    return found


def _spread(name: str, spectra: Sequence[FloatArray]) -> Row:
    """The most over the least, of function values and of seconds; and how many rows or draws were repeated."""
    values, seconds, again = [], [], 0
    target = partial(Target.of, spectrum=np.where(np.arange(DATA_DIM) < FEW, 1.0, 0.0))
    for spectrum in spectra:
        taken = []
        for seed in range(REPETITIONS):
            work, start = Work(), time.process_time()
            nodes = [Fraction(float(gamma)) for gamma in spectrum]
            draw_integers(target(nodes), np.eye(DATA_DIM), 1e-15, 16, _stream(seed), real=True, work=work)
            taken.append(time.process_time() - start)
            values.append(work.looks)
            again += work.rows + work.draws
        seconds.append(float(np.median(taken)))
    more, longer = max(values) / min(values), max(seconds) / min(seconds)
    return Row(
        what=f"{len(spectra)} {name}: most / least",
        figures={"function values": more, "seconds": longer, "repetitions": again},
        goal=f"values {APART:g}, seconds {LONGER:g}",
        verdict=at_most(longer, LONGER) if more <= APART else at_most(more, APART),
    )
