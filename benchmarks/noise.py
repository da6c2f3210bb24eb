"""Samples per second of exact secure noise, beside numpy and OpenDP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from benchmarks import environment
from benchmarks.environment import PeerError, Worker
from benchmarks.table import Row, Table, Value, at_least
from benchmarks.timing import Measured, Turns, timed
from dpframe.noise import Keystream, Random

REPETITIONS = 9
USUAL = 34  # exponent of the scale that common budgets lead to
COUNTS = {10: 1_000_000, USUAL: 1_000_000, 37: 1_000_000, 41: 100_000}  # samples a round, by exponent
PEER_EXPONENTS, PEER_COUNT = (10, USUAL), 20_000
WANTED, WANTED_RATIO = 5.0, 100.0
NUMPY, NUMPY_COUNT = "numpy standard_normal, neither secure nor exact", 1_000_000


def measure(turns: Turns) -> Table:
    """All samplers in turns; OpenDP where its environment can be had."""
    turns.progress.expect(REPETITIONS)
    random, floats = Random(Keystream.secure()), np.random.default_rng(1)
    things: dict[str, Measured] = {NUMPY: timed(lambda: floats.standard_normal(NUMPY_COUNT))}
    counts = {NUMPY: NUMPY_COUNT}
    for law, draw in (("gaussian", random.gaussian), ("laplace", random.laplace)):
        for exponent, count in COUNTS.items():
            name = _name(law, exponent)
            things[name], counts[name] = timed(_drawing(draw, exponent, count)), count
    with ExitStack() as stack:
        try:
            turns.progress.says("preparing the environment of the peers")
            peer = stack.enter_context(environment.worker("opendp_gaussian.py"))
            told = f"OpenDP {peer.greeting}: make_gaussian on vectors of {PEER_COUNT:,} 64-bit integers."
            for exponent in PEER_EXPONENTS:
                name = _name("OpenDP", exponent)
                things[name], counts[name] = _peer_drawing(peer, exponent), PEER_COUNT
        except PeerError as error:
            told = f"OpenDP was not measured: {error}."
        seconds = turns.medians(things, REPETITIONS)
    rates = {name: counts[name] / taken / 1e6 for name, taken in seconds.items()}
    return Table(
        title="Noise: millions of samples per second",
        notes=(
            "Exact samples of round(scale·x) from an AES-256 keystream keyed by the operating system, on one core. "
            f"Median of {REPETITIONS} rounds in turns.",
            told,
        ),
        rows=tuple(_rows(rates)),
    )


def _name(law: str, exponent: int) -> str:
    return f"{law}, scale 2^{exponent}"


def _drawing(draw: Callable[[float, int], object], exponent: int, count: int) -> Callable[[], object]:
    return lambda: draw(2.0**exponent, count)


def _peer_drawing(peer: Worker, exponent: int) -> Measured:
    return lambda: float(peer.ask(f"{2.0**exponent!r} {PEER_COUNT}"))


def _rows(rates: dict[str, float]) -> list[Row]:
    rows = []
    for law in ("gaussian", "laplace"):
        for exponent in COUNTS:
            name = _name(law, exponent)
            figures: dict[str, Value] = {"million/s": rates[name]}
            if (law, exponent) == ("gaussian", USUAL):
                verdict = at_least(rates[name], WANTED)
                rows.append(Row(what=name, figures=figures, goal=f"at least {WANTED:g} million", verdict=verdict))
            else:
                rows.append(Row(what=name, figures=figures))
    rows.append(Row(what=NUMPY, figures={"million/s": rates[NUMPY]}))
    for exponent in PEER_EXPONENTS:
        peer = rates.get(_name("OpenDP", exponent))
        ratio = None if peer is None else rates[_name("gaussian", exponent)] / peer
        rows.append(
            Row(
                what=_name("OpenDP integer gaussian", exponent),
                figures={"million/s": peer, "dpframe is faster by": ratio},
                goal=f"dpframe faster by at least {WANTED_RATIO:g}",
                verdict=at_least(ratio, WANTED_RATIO),
            )
        )
    return rows
