"""The randomness of one step."""

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import attrs

from dpframe.noise import gaussian, laplace
from dpframe.noise.choice import exponential_choice
from dpframe.noise.gaussian import rounded_gaussian
from dpframe.noise.keystream import Keystream, Words
from dpframe.noise.laplace import rounded_laplace
from dpframe.noise.normals import Normals
from dpframe.noise.rounded import Integers


@attrs.frozen
class Random:
    """The randomness of one step: exact integer noise, and the words that it is made from.

    Every sample takes one word of the keystream, so `tell` counts both samples and words (a normal of `normals` takes
    two), and reading a position again gives the same samples again.

    Args:
        keystream: the source of the words; `Keystream.secure()` except in tests.

    Guarantee:
        The law of each sample is exact for the given scale: every integer has its probability under the rounded real
        variable.

    >>> random = Random(Keystream.insecure(7)).child("moment")
    >>> random.gaussian(3.0, (2, 3))
    array([[-2,  1,  4],
           [-1, -3,  2]])
    >>> random.private
    False
    """

    largest_gaussian: ClassVar[float] = 2.0**gaussian.LARGEST
    """The largest scale of `gaussian`."""
    largest_laplace: ClassVar[float] = 2.0**laplace.LARGEST
    """The largest scale of `laplace`."""

    keystream: Keystream

    @property
    def private(self) -> bool:
        """Whether the randomness comes from the operating system; False for the seed of a test."""
        return self.keystream.private

    def child(self, name: str) -> "Random":
        """An independent source; the same name gives the same source."""
        return Random(self.keystream.child(name))

    def gaussian(self, scale: float, size: int | tuple[int, ...]) -> Integers:
        """Samples of round(scale·z), z standard normal. See `rounded_gaussian`."""
        return rounded_gaussian(self.keystream, scale, _count(size)).reshape(size)

    def laplace(self, scale: float, size: int | tuple[int, ...]) -> Integers:
        """Samples of round(scale·x), x of density exp(−|x|)/2. See `rounded_laplace`."""
        return rounded_laplace(self.keystream, scale, _count(size)).reshape(size)

    def normals(self, count: int) -> Normals:
        """Standard normals z as real numbers, of which any number of bits can be read. See `Normals`."""
        return Normals.drawn(self.keystream, _count(count))

    def exponential_choice(self, costs: Sequence[int], rate: Fraction) -> int:
        """The index i with probability proportional to exp(−rate·costs[i]). See `exponential_choice`."""
        return exponential_choice(self.keystream, costs, rate)

    def words(self, count: int) -> Words:
        """Uniform 64-bit words."""
        return self.keystream.words(count)

    def tell(self) -> int:
        """The position of the next word."""
        return self.keystream.tell()

    def seek(self, position: int) -> None:
        """Make `position` the position of the next word; words read from there on are repeated."""
        self.keystream.seek(position)


def _count(size: int | tuple[int, ...]) -> int:
    try:
        lengths = [operator.index(length) for length in (size if isinstance(size, tuple) else (size,))]
    except TypeError:
        lengths = [-1]
    if min(lengths, default=0) < 0:
        raise ValueError(f"Random: size must be a non-negative integer or a tuple of such; got {size!r}.")
    return math.prod(lengths)
