"""Exact samples of a rounded Laplace variable."""

from typing import Any

from dpframe.noise.keystream import Keystream
from dpframe.noise.rounded import Integers, Law, sample

__all__ = ["LARGEST", "rounded_laplace"]

LARGEST = 52
"""The scale is at most 2**LARGEST."""


def rounded_laplace(stream: Keystream, scale: float, size: int) -> Integers:
    """Independent samples of round(scale·x), x of density exp(−|x|)/2, one for each word of the stream.

    Every integer has exactly its probability under the real law (`dpframe.noise.rounded` has the argument), for the
    exact value of the float64 `scale`. Since round(n + scale·x) = n + round(scale·x) for an integer n, adding a sample
    to an integer statistic is post-processing of the real Laplace mechanism and has its privacy loss.

    Args:
        stream: the source of randomness.
        scale: mean of |scale·x|, at most 2**52. Fast below 2**40; exact everywhere.
        size: number of samples.

    Guarantee:
        The law is exact if the words are uniform. |result| < 2**62 except with probability below 2**-1400; outside
        int64 it is reduced modulo 2**64, so that adding it in int64 is still post-processing.

    >>> rounded_laplace(Keystream.insecure(7), 2.0**34, 3)
    array([-8733547043,  5137255659,  2619178593])
    """
    return sample(_LAPLACE, stream, scale, size)


def _ball(u: Any) -> Any:
    return -(2 * u).log()


def _series(u: Any, length: int) -> list[Any]:
    return [_ball(u), *((-1 / u) ** n / n for n in range(1, length))]


_LAPLACE = Law(draws="rounded_laplace", scale="scale", largest=LARGEST, ball=_ball, series=_series)
