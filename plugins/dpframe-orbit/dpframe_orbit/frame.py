"""From a pattern to a matrix: the frame Y, d × k, with H = YYᴴ.

Let X_s = Σ y_i y_iᴴ, k × k, over the nodes that are left after s steps: it has the eigenvalues of row s, and X_0 = Λ. A
step takes away yyᴴ. In the eigenvectors of X_{s−1}, y = Qz with

    |z_l|² = ∏_i (ν_l − μ_i)/∏_{i≠l} (ν_l − ν_i),

where ν and μ are the rows before and after; under the invariant measure the phases of z are independent and uniform.
The eigenvectors of X_s are QT, T_li ∝ z_l/(ν_l − μ_i). Where ν_l = ν_{l+1} = μ_l, the basis can be turned so that z_l
is 0.

*Errors.* T is an exact isometry, so that ‖Q̃T̃ − QT‖ ≤ ‖Q̃ − Q‖ + ‖Q̃‖·‖T̃ − T‖: errors of the steps add up in norm.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
from flint import acb, acb_mat, arb, ctx

from dpframe_orbit.balls import ONE, ZERO, Undecided, around_zero, radius_norm
from dpframe_orbit.lazy import LazyUniforms

LARGEST = 1e-3  # the largest error of Q with which anything is proved


@attrs.frozen(eq=False)
class Frame:
    """Y, with exact entries.

    Args:
        real, imaginary: the parts of its rows.
        error: a bound on the Frobenius norm of its error.
    """

    real: list[list[Any]]
    imaginary: list[list[Any]]
    error: float


def lift(
    rows: list[list[Any]], order: list[int], uniforms: LazyUniforms, *, error: float, bits: int, precision: int
) -> Frame:
    """The frame of a pattern.

    Args:
        rows: of the pattern, from the spectrum down; exact numbers.
        order: the nodes as they were stripped.
        uniforms: for the phases, at the place step·k + l.
        error: a bound on the errors of the rows.
        bits: of each uniform.
        precision: of the computation.
    """
    dim, rank = len(order), len(rows[0])
    real: list[list[Any]] = [[] for _ in order]
    imaginary: list[list[Any]] = [[] for _ in order]
    with ctx.workprec(precision):
        difference = around_zero(1.0) * arb(2.0 * error)
        turn = 2 * arb.pi()
        Q = acb_mat(rank, rank, [int(i == j) for i in range(rank) for j in range(rank)])
        off, total = 0.0, 0.0
        for step, node in enumerate(order):
            before = rows[step]
            after = rows[step + 1] if step + 1 < dim else []
            kept = len(after)
            after = [*after, *[ZERO] * (len(before) - kept)]
            stays = [i < kept and bool(_tied(before, i)) for i in range(len(before))]
            z, T = _update(before, after, stays, kept, difference)
            phases = [
                acb(angle.cos(), angle.sin())
                for angle in (uniforms.ball(step * rank + i, bits) * turn for i in range(len(before)))
            ]
            turned = [phase * size for phase, size in zip(phases, z, strict=True)]
            column = acb_mat(len(before), 1, turned)
            y = Q * column.mid()
            radius, length = _radius(turned), math.sqrt(math.fsum(float(size.abs_upper()) ** 2 for size in z))
            own = off * length + (1.0 + off) * radius + _radius(y.entries())
            total += own * own
            exact = y.mid().entries()
            real[node], imaginary[node] = [entry.real for entry in exact], [entry.imag for entry in exact]
            if not kept:
                break
            turning = acb_mat(len(before), kept, [phases[i] * T[i][j] for i in range(len(before)) for j in range(kept)])
            moved = Q * turning.mid()
            off += (1.0 + off) * _radius(turning.entries()) + _radius(moved.entries())
            Q = moved.mid()
            if not off < LARGEST:
                raise Undecided("frame")
    return Frame(real, imaginary, math.sqrt(total) * (1.0 + 1e-9))


def _tied(row: list[Any], index: int) -> bool:
    return index + 1 < len(row) and bool(row[index] == row[index + 1])


def _radius(balls: list[Any]) -> float:
    return radius_norm([part for ball in balls for part in (ball.real, ball.imag)])


def _update(
    before: list[Any], after: list[Any], stays: list[bool], kept: int, difference: Any
) -> tuple[list[Any], list[list[Any]]]:
    """|z_l|, and T without phases, for rows that are known up to half of the radius of ``difference``."""
    count = len(before)
    moves = [i for i in range(count) if not stays[i]]
    apart = {(i, j): before[i] - after[j] + difference for i in moves for j in moves}
    z = [ZERO] * count
    for i in moves:
        square = apart[i, i]
        for j in moves:
            if j != i:
                square = square * apart[i, j] / (before[i] - before[j] + difference)
        if not square > 0:
            raise Undecided("weight")
        z[i] = square.sqrt()
    T = [[ZERO] * kept for _ in range(count)]
    for j in range(kept):
        if stays[j]:
            T[j][j] = ONE
            continue
        column = [z[i] / apart[i, j] for i in moves]
        length = sum((entry * entry for entry in column), ZERO).sqrt()
        for i, entry in zip(moves, column, strict=True):
            T[i][j] = entry / length
    return z, T
