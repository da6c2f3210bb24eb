"""Directions of a Bingham law by rejection, with every decision proved.

Proposals are those of :mod:`dpframe_orbit.envelope`, made of normals of which any number of bits can be read; each
comes with a uniform number U, of which the same holds, and is accepted if U ≤ p. What is drawn is the first proposal
that is accepted: a function of real random numbers, whose law is exact. How many bits of them are read has no influence
on it:

1. From 60 bits of each normal, sums of m terms, in exact integers, enclose p: with y = Sg,

       ‖Bg‖² = ‖y‖²(1 ± o),      κ(c − xᵀMx)·‖Bg‖² = κ(Σ C_i y_i² ± (o·max C + r)‖y‖²).

2. If U is neither certainly below p nor certainly above it, which has a probability of about 4κ(o·max C + r), p is
   enclosed by (2) itself, with M in place of its eigenvalues, in balls around as many bits of the same normals as
   decide it.

The coordinates of the direction are balls as well (`Direction.coordinates`), and can be asked for at any precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat

import dpframe.plugin as dp
from dpframe_orbit.envelope import SHRINK_BITS, Envelope, Objects
from dpframe_orbit.lazy import LazyUniforms

FIRST = 60  # bits of the normals that are read at first
BATCH = 8  # proposals at a time
GUARD = 128  # bits of balls beyond those of the normals


def precisions() -> Iterator[int]:
    """Numbers of bits of normals, each time more: FIRST, 96 (up to which they are fast to read), 192, 384, …"""
    yield FIRST
    bits = max(FIRST + 1, 96)
    while True:
        yield bits
        bits *= 2


@attrs.frozen(eq=False, repr=False)
class Direction:
    """A unit vector of which any number of bits can be read.

    Args:
        envelope: the law of proposals.
        normals: those of a batch of proposals.
        which: the indices of this one's.
    """

    envelope: Envelope
    normals: dp.Normals
    which: Any

    def coordinates(self, bits: int) -> Any:
        """Balls of the coordinates, an arb_mat of one column, from this many bits of the normals."""
        with ctx.workprec(bits + GUARD):
            image = self._image(bits)
            return image * (1 / _square(image).sqrt())

    def log_acceptance(self, bits: int) -> Any:
        """A ball of log p, from M itself."""
        law = self.envelope
        with ctx.workprec(bits + GUARD):
            image = self._image(bits)
            square = _square(image)
            matrix = arb_mat(fmpz_mat(law.matrix.tolist()))
            score = (image.transpose() * (matrix * image))[0, 0]
            return _log_acceptance(law, law.top - score / square, _square(self._balls(bits)) / square)

    def _balls(self, bits: int) -> Any:
        """Balls of the normals."""
        read = self.normals.scaled(bits, self.which).tolist()
        unit = arb((1, -bits))
        return arb_mat(len(read), 1, [arb(each, 1) * unit for each in read])

    def _image(self, bits: int) -> Any:
        """Balls of Bg."""
        found = self.envelope.eigenvectors
        unit = arb((1, -SHRINK_BITS - found.bits))
        shrunk = [each * int(by) for each, by in zip(self._balls(bits).entries(), self.envelope.shrink, strict=True)]
        return arb_mat(found.vectors) * arb_mat(len(shrunk), 1, shrunk) * unit


def rounded(direction: Direction, frame: Any, bits: int, random: dp.Random) -> list[int]:
    """floor(2^bits·x_i + U_i) for the coordinates x of the direction, U_i uniform and independent.

    Args:
        direction: the direction.
        frame: a matrix to multiply the direction by first, an arb_mat of exact entries; None for no matrix.
        bits: of the grid.
        random: the source of the U_i.
    """
    uniforms = LazyUniforms(random, frame.nrows() if frame is not None else direction.envelope.dim, words=1)
    for precision in precisions():
        with ctx.workprec(precision + GUARD):
            drawn = direction.coordinates(precision)
            scaled = ((drawn if frame is None else frame * drawn) * arb((1, bits))).entries()
            found = [(x + uniforms.ball(i, precision)).floor().unique_fmpz() for i, x in enumerate(scaled)]
            if None not in found:
                return [int(each) for each in found]
    raise AssertionError("precisions do not end")


def directions(envelope: Envelope, random: dp.Random) -> Iterator[Direction]:
    """Independent unit vectors of density ∝ exp(κ xᵀMx), exactly.

    >>> from dpframe.testing import seeded
    >>> drawn = next(directions(Envelope.of(np.array([[10**12, 0], [0, 0]]), rate=1.0), seeded(7)))
    >>> [round(float(each.mid()), 3) for each in drawn.coordinates(60).entries()]
    [-1.0, 0.0]
    """
    sources, first, dim = (random.child("normals"), random.child("acceptance")), FirstLook(envelope), envelope.dim
    while True:
        normals, uniforms = sources[0].normals(BATCH * dim), LazyUniforms(sources[1], BATCH, words=1)
        for number in range(BATCH):
            proposal = Direction(envelope, normals, np.arange(number * dim, (number + 1) * dim))
            if _accepted(proposal, first, uniforms, number):
                yield proposal


def _accepted(proposal: Direction, first: FirstLook, uniforms: LazyUniforms, number: int) -> bool:
    """Whether U ≤ p."""
    for bits in precisions():
        with ctx.workprec(bits + GUARD):
            log = first.log_acceptance(proposal, bits) if bits == FIRST else proposal.log_acceptance(bits)
            share, uniform = log.exp(), uniforms.ball(number, bits)
            if uniform <= share:
                return True
            if uniform > share:
                return False
    raise AssertionError("precisions do not end")


class FirstLook:
    """Enclosures of p from sums over eigenvectors, which take few operations."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        found = envelope.eigenvectors
        below = np.array([envelope.top - value for value in found.values], dtype=object)  # C
        squares = envelope.shrink**2
        self._weights: list[Objects] = [squares**0, squares, below * squares]  # of g², y² and C·y²
        self._totals = [int(weights.sum()) for weights in self._weights]
        self._share = arb(1, found.overlap)
        self._slack = arb(0, found.overlap * float(below.max()) * 1.001 + found.residual)

    def log_acceptance(self, proposal: Direction, bits: int) -> Any:
        """A ball of log p."""
        read = proposal.normals.scaled(bits, proposal.which).astype(object)
        squares = read * read
        sums = [_sum(int(w @ squares), total) for w, total in zip(self._weights, self._totals, strict=True)]
        normal, shrunk, below = sums
        image = shrunk * self._share
        below = (below + self._slack * shrunk) / image
        return _log_acceptance(self.envelope, below, normal / image * arb((1, 2 * SHRINK_BITS)))


def _sum(found: int, weights: int) -> Any:
    """A ball of Σ w·(n + e)² for integers n, numbers |e| ≤ 1 and w ≥ 0, given Σ w·n² and Σ w.

    The difference is at most Σ w·(2|n| + 1), and Σ w·|n| at most √(Σ w · Σ w·n²).
    """
    radius = 2 * (arb(found) * weights).sqrt() + weights
    return arb(found) + arb(0, 1) * radius


def _log_acceptance(law: Envelope, below: Any, t: Any) -> Any:
    """log p for c − xᵀMx and t."""
    b, half = arb(law.b), arb(law.dim) / 2
    return (law.dim - b) / 2 - arb(law.rate) * below + half * (t * b / law.dim).log()


def _square(column: Any) -> Any:
    return (column.transpose() * column)[0, 0]
