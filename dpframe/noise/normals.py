"""Standard normals that can be read to any precision.

A normal z is drawn in two parts, each from a word of its own and the extension of that word. With h = 2⁻³⁸, the first
part is m = round(z/h), drawn by `rounded_gaussian` with exactly its law. The second is a uniform w, which places z in
the cell of m: z = h·(m − 1/2 + v), where v is the point of [0, 1] below which the cell has the share w of its
probability. So z has the law of the cell and, given the cell, the law of a normal within it: together, a standard
normal. It is a function of m and w alone, and reading more bits of w tells more about the same z.

**Without inverting F.** Let F(v) be the share of the cell's probability below v. Its density is proportional to e^g
with g(v) = −h²·((m − 1/2)·v + v²/2). The derivative of g has a size of at most t = h²·(|m| + 1/2), hence |g(v)| ≤ tv.
Let |m| < 2⁴⁵, that is |z| < 2⁷; then t < 2⁻³¹.

*First order.* The density is 1 somewhere, since its mean is 1, so it lies between e^(−t) and e^t, and

    |v − w| = |v − F(v)| ≤ (e^t − 1)·min(v, 1 − v) ≤ 0.6·t.

For b = 38 + s bits, 0 < s ≤ 22, let n = (m − 1/2)·2^s + r, where r is w·2^s rounded to the nearest integer. Then
|2^b·z − n| ≤ 1/2 + 0.6·2^s·t < 0.51.

*Second order.* By Taylor's formula e^g = 1 + g + ϑ·0.65·(tv)², |ϑ| ≤ 1. Integrated from 0 to v and from 0 to 1, this
makes F(v) = w the equation

    v − w = (h²/2)(m − 1/2)(v² − w) + (h²/6)(v³ − w) + ϑ·0.44·t².

Since h² ≤ 2t and |v − w| ≤ 0.6·t, writing w for v on the right changes it by at most (t + t)·0.6·t, which leaves

    v = w − (h²/6)·w·(1 − w)·(3m − 1/2 + w) + ϑ·2t².

w is taken as the middle of its first cell, (k + 1/2)·2⁻⁶⁴, which moves v by at most e^t·2⁻⁶⁵. For 22 < s ≤ 58 the right
side, rounded once, gives an n with |2^b·z − n| ≤ 1/2 + 2^s·(e^t·2⁻⁶⁵ + 2t²) < 1/2 + 2⁻⁶ + 2⁻³ < 1.

For more bits, or farther out, v is computed in ball arithmetic from the tails at the ends of the cell, with as many
bits of w as it takes.
"""

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from dpframe.noise.gaussian import rounded_gaussian
from dpframe.noise.keystream import Keystream, Words
from dpframe.noise.rounded import Integers

__all__ = ["Normals"]

CELL_BITS = 38
"""A cell has the length 2**-CELL_BITS."""
FIRST_ORDER = 60
"""Up to so many bits z is computed to first order."""
SECOND_ORDER = 96
"""Up to so many bits z is computed to second order."""

_FARTHEST = 1 << (CELL_BITS + 7)  # cells from here on are computed in ball arithmetic
_INT64 = (1 << 63) - (1 << 32)  # integers below this size are int64; some room is left for what is added to them


@attrs.frozen(eq=False, repr=False)
class Normals:
    """Independent standard normals, each a real number of which any number of bits can be read.

    Args:
        stream: the source of randomness.
        position: of the first word of the second parts in the stream.
        cells: m for each normal.
        places: the first 64 bits of w for each normal.

    Guarantee:
        The law is exact if the words are uniform. (As a rounded Gaussian, m is in the range of int64 except with
        probability below exp(−2⁴⁹).)

    >>> normals = Normals.drawn(Keystream.insecure(7), 3)
    >>> normals.scaled(3), normals.scaled(40), normals.scaled(99)[0]
    (array([-4,  3,  1]), array([-574243138561,  362636644260,  195890215055]), -331028631659793794621028373266)
    """

    stream: Keystream
    position: int
    cells: Integers
    places: Words

    @classmethod
    def drawn(cls, stream: Keystream, count: int) -> "Normals":
        """The normals of the next 2·count words of the stream: all first parts, then all second parts."""
        cells = rounded_gaussian(stream, 2.0**CELL_BITS, count)
        position, places = stream.take(count)
        return cls(stream, position, cells, places)

    def scaled(self, bits: int, which: npt.NDArray[np.intp] | None = None) -> npt.NDArray[Any]:
        """Integers n with |2^bits·z − n| ≤ 1, for the normals of these indices or all of them.

        They are Python integers where int64 is too narrow, and the same whenever they are asked for.
        """
        cells, places = (self.cells, self.places) if which is None else (self.cells[which], self.places[which])
        beyond = np.abs(cells) >= _FARTHEST if bits <= SECOND_ORDER else np.ones(cells.shape, np.bool_)
        near = _near(np.where(beyond, 0, cells), places, min(bits, SECOND_ORDER))
        if not beyond.any():
            return near
        scaled = near.astype(object)
        for i in np.flatnonzero(beyond).tolist():
            index = i if which is None else int(which[i])
            scaled[i] = self._by_balls(index, bits)
        return scaled

    def _by_balls(self, index: int, bits: int) -> int:
        """The integer nearest to the middle of a ball of 2^bits·z that has a radius of at most 1/2."""
        from flint import arb, ctx

        cell, place, length = int(self.cells[index]), int(self.places[index]), 64
        more = self.stream.extension(self.position + index)
        while True:
            with ctx.workprec(max(bits, 0) + length + 64):
                share = arb(2 * place + 1, 1) * arb((1, -length - 1))  # the ball [place, place + 1]·2^−length
                outward = 1 - share if cell < 0 else share
                near, far = (arb((2 * abs(cell) + side, -CELL_BITS - 1)) for side in (-1, 1))
                tails = [(end / arb(2).sqrt()).erfc() for end in (near, far)]
                z = (tails[0] - outward * (tails[0] - tails[1])).erfcinv() * arb(2).sqrt()
                scaled: Any = (-z if cell < 0 else z) * arb((1, bits))
                if scaled.is_finite() and scaled.rad() <= 0.5:
                    return int((scaled.mid() + 0.5).floor().unique_fmpz())
            place, length = place << 64 | next(more), length + 64


def _near(cells: Integers, places: Words, bits: int) -> npt.NDArray[Any]:
    """Integers within 1 of 2^bits·z, from the cell and the first bits of w; see the top of the module."""
    shift = max(bits - CELL_BITS, -62)  # fewer bits still would give 0 too
    if shift <= 0:  # |2^bits·z − cell·2^shift| ≤ 2^shift/2, and rounding adds 1/2
        return np.asarray((cells + (1 << -shift >> 1)) >> -shift)
    m: npt.NDArray[Any] = cells
    if (int(np.abs(cells).max(initial=0)) + 1) << shift >= _INT64 or bits > FIRST_ORDER:
        m = cells.astype(object)
    if bits <= FIRST_ORDER:
        rounded = ((places >> np.uint64(63 - shift)).astype(np.int64) + 1) >> 1
        return np.asarray((2 * m - 1) * (1 << (shift - 1)) + rounded)
    w = 2 * places.astype(object) + 1  # in units of 2⁻⁶⁵
    bent = w * (2**65 - w) * ((6 * m - 1) * 2**64 + w)  # w·(1 − w)·(3m − 1/2 + w), in units of 2⁻¹⁹⁵
    moved = 6 * 2 ** (2 * CELL_BITS + 130) * w - bent  # v, in units of the denominator
    denominator = 6 * 2 ** (2 * CELL_BITS + 195)
    return np.asarray((2 * m - 1) * (1 << (shift - 1)) + ((moved << shift) + denominator // 2) // denominator)
