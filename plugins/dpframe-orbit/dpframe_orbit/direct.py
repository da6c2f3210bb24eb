"""The direct draw: integers of a matrix on a unitary orbit, each proved to be that of the exact draw.

Pattern, frame and grid are computed in balls from uniforms of which more bits can be read at any time. Where something
is undecided, it is computed again from the same uniforms: a row at a higher precision, the whole draw at twice the
accuracy. So the result is a function of the data and of the random bits alone, namely the exact draw, rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe_orbit.balls import Undecided, rational
from dpframe_orbit.decided import GridDraw
from dpframe_orbit.divided_differences import Exponentials
from dpframe_orbit.frame import lift
from dpframe_orbit.inversion import MARGIN, draw_row
from dpframe_orbit.lazy import LazyUniforms
from dpframe_orbit.row_law import JETS, End, RowLaw, strip_order
from dpframe_orbit.series import SIZES

Floats = NDArray[np.float64]
ACCURACY = 96  # bits of an entry of the pattern
WORDS = 3  # of a uniform of the pattern or of a phase that are read at first
LOOKS, ROOM = 4, 16  # looks are padded to LOOKS per free entry, and ROOM: more than any draw was seen to need
TERMS = 384 * 37, 384 * 4  # and the work for them to as much as that of 384·(37 + 4k) terms of series per free entry
MOST = 8  # times the first precision that a row is tried at
LARGEST = 768  # bits of accuracy: bounds on errors are floats, which do not underflow up to there


@attrs.define
class Work:
    """What a draw took. It depends on the data, if only by rare escalations: never release it.

    Args:
        looks: points at which distribution functions were computed, padding included.
        terms: of series, in whose time all work for the looks is measured, padding included.
        rows: drawn again at a higher precision.
        draws: drawn again at twice the accuracy.
        precision: the highest.
    """

    looks: int = 0
    terms: int = 0
    rows: int = 0
    draws: int = 0
    precision: int = 0


@attrs.frozen(eq=False, kw_only=True)
class Target:
    """What is drawn: a density ∝ exp(⟨A, H⟩) on the orbit of Λ, A in its eigenvectors.

    Args:
        nodes: the eigenvalues of A less the smallest of them, from the largest; exact.
        spectrum: the positive eigenvalues of Λ from the largest, which is 1; exact.
        flipped: whether this is the target of I − H: chosen where that has fewer positive eigenvalues.
    """

    nodes: tuple[Fraction, ...]
    spectrum: tuple[Fraction, ...]
    flipped: bool

    @classmethod
    def of(cls, values: list[Fraction], spectrum: Floats) -> Target:
        """The target for eigenvalues of A from the largest, and for d eigenvalues from 1 to 0."""
        full = [Fraction(value) for value in spectrum.tolist()]
        flipped = sum(value < 1 for value in full) < sum(value > 0 for value in full)
        if flipped:
            values, full = [-value for value in reversed(values)], [1 - value for value in reversed(full)]
        return cls(
            nodes=tuple(value - values[-1] for value in values),
            spectrum=tuple(value for value in full if value > 0),
            flipped=flipped,
        )

    @property
    def dim(self) -> int:
        """d."""
        return len(self.nodes)

    @property
    def rank(self) -> int:
        """k."""
        return len(self.spectrum)

    def precision(self, accuracy: int) -> int:
        """Bits that suffice for nearly all rows: determinants lose about four for each eigenvalue."""
        return accuracy + 4 * self.rank + 44


def draw_rows(
    target: Target,
    uniforms: LazyUniforms,
    accuracy: int,
    work: Work,
    *,
    precision: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[list[Any]]:
    """The rows of a pattern from the spectrum down, exact numbers within d·k·2^−accuracy of the exact draw's.

    Each entry is within 2^−accuracy of the exact one given those that were computed before it, and for fixed uniforms
    an error is not enlarged from row to row (docs/explanation/orbit.md).

    Args:
        target: what is drawn.
        uniforms: entry l of row s is drawn from the one at the place s·k + l.
        accuracy: bits of an entry.
        work: what it took is added to this.
        precision: bits at first; any give rows within the same distance of the exact draw's.
        report: called with the number of rows done, and of all.
    """
    dim, rank, first = target.dim, target.rank, precision or target.precision(accuracy)
    nodes = [rational(node + 1) for node in target.nodes]  # + 1 so that equal nodes are no easier than others
    tables: dict[int, Exponentials] = {}
    with ctx.workprec(max(first, 256)):
        row = [End(arb(rational(value))) for value in target.spectrum]
    zero, entries_drawn = End(arb(0)), 0
    rows = [[end.point for end in row]]
    for step in range(dim - 1):
        entries, bits = min(rank, dim - step - 1), first
        above = [*row, *[zero] * (entries + 1)][: entries + 1]
        while True:
            try:
                with ctx.workprec(bits):
                    if bits not in tables:
                        tables[bits] = Exponentials(nodes, rank, bits)
                    law = RowLaw(tables[bits], step, above)
                    row = draw_row(law, uniforms, step * rank, accuracy)
                break
            except Undecided:
                work.rows += 1
                bits += bits // 2
                if bits > MOST * first:  # then more accuracy is needed, or a uniform lies at an end of its interval
                    raise
                above = [End(end.point) for end in above]
        work.precision = max(work.precision, bits)
        entries_drawn += entries - sum(law.fixed)
        row = [end.reused() if bits == first else End(end.point) for end in row]
        rows.append([end.point for end in row])
        if report is not None:
            report(step + 1, dim - 1)
    _pad(tables[first], LOOKS * entries_drawn + ROOM, entries_drawn * (TERMS[0] + TERMS[1] * rank), first)
    work.looks += sum(table.looks for table in tables.values())
    work.terms += sum(table.terms() for table in tables.values())
    return rows


def _pad(functions: Exponentials, looks: int, terms: int, precision: int) -> None:
    """Compute values until there were so many looks, and as much work as so many terms of series: public numbers.

    They are values of the function of the smallest node, which is 1 for any data.
    """
    sets, size = [(functions.dim - 1, functions.dim)] * (functions.spikes + JETS + 1), SIZES[0]
    missing = max(looks - functions.looks, -((functions.terms() - terms) // (size * len(sets))), 0)
    functions.looks = max(functions.looks, looks)
    with ctx.workprec(precision):
        for _ in range(missing):
            functions.at(arb((3, -2)), sets)


def draw_integers(
    target: Target,
    basis: NDArray[Any],
    overlap: float,
    bits: int,
    random: dp.Random,
    *,
    real: bool,
    accuracy: int = ACCURACY,
    precision: int | None = None,
    work: Work | None = None,
    report: Callable[[int, int], None] | None = None,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """floor(2^bits·H_ij + U_ij) for the real part of H, and for its imaginary part unless ``real``.

    Args:
        target: the law of H, in the basis.
        basis: V, real or complex; H is turned by its unitary factor.
        overlap: a bound on ‖VᴴV − I‖.
        bits: of the grid.
        random: its children "pattern", "phases" and "grid" are used, at places that depend on d and k alone.
        real: whether the imaginary part is left out.
        accuracy, precision: bits at first; the result does not depend on them.
        work: what it took is added to this.
        report: called with the number of rows done, and of all.
    """
    dim, rank = target.dim, target.rank
    work = Work() if work is None else work
    pattern = LazyUniforms(random.child("pattern"), dim * rank, words=WORDS)
    phases = LazyUniforms(random.child("phases"), dim * rank, words=WORDS)
    offsets = LazyUniforms(random.child("grid"), dim * (dim + 1) // 2 if real else dim * dim, words=1)
    if target.flipped:
        basis = basis[:, ::-1]
    order = strip_order(dim, rank)
    while True:
        start = precision or target.precision(accuracy)
        error = dim * rank * 2.0**-accuracy
        try:
            rows = draw_rows(target, pattern, accuracy, work, precision=precision, report=report)
            frame = lift(rows, order, phases, error=error, bits=accuracy + MARGIN, precision=start)
            grid = GridDraw(frame, basis, overlap, bits, offsets, flipped=target.flipped)
            return grid.real(start), None if real else grid.imaginary(start)
        except Undecided:
            work.draws += 1
            accuracy *= 2
            precision = None if precision is None else 2 * precision
            if accuracy > LARGEST:
                raise dp.SamplingError("the draw is not decided at any precision. The charge stands.") from None
