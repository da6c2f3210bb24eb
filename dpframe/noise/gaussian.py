"""Exact samples of a rounded Gaussian."""

from typing import Any

from dpframe.noise.keystream import Keystream
from dpframe.noise.rounded import Integers, Law, sample

__all__ = ["LARGEST", "rounded_gaussian"]

LARGEST = 56
"""The standard deviation is at most 2**LARGEST."""


def rounded_gaussian(stream: Keystream, sigma: float, size: int) -> Integers:
    """Independent samples of round(sigma·z), z standard normal, one for each word of the stream.

    Every integer has exactly its probability under the real law (`dpframe.noise.rounded` has the argument), for the
    exact value of the float64 `sigma`. Since round(n + sigma·z) = n + round(sigma·z) for an integer n, adding a sample
    to an integer statistic is post-processing of the real Gaussian mechanism and has its privacy loss.

    Args:
        stream: the source of randomness.
        sigma: standard deviation before rounding, at most 2**56. Fast below 2**40, where at most 1 % of the samples
            need ball arithmetic; exact everywhere.
        size: number of samples.

    Guarantee:
        The law is exact if the words are uniform. |result| < 2**62 except with probability below 2**-2900; outside
        int64 it is reduced modulo 2**64, so that adding it in int64 is still post-processing.

    >>> rounded_gaussian(Keystream.insecure(7), 2.0**34, 3)
    array([-8972549040,  5666197567,  3060784610])
    """
    return sample(_GAUSSIAN, stream, sigma, size)


def _ball(u: Any) -> Any:
    from flint import arb

    return (2 * u).erfcinv() * arb(2).sqrt()


def _series(u: Any, length: int) -> list[Any]:
    """The n-th derivative of x is P_n(x)·(x′)ⁿ, with P_1 = 1 and P_{n+1} = P_n′ + n·x·P_n, since x″ = x·(x′)²."""
    from flint import arb, fmpz_poly

    x = _ball(u)
    slope = -(2 * arb.pi()).sqrt() * (x * x / 2).exp()
    coefficients, power, derivative = [x], arb(1), fmpz_poly([1])
    for n in range(1, length):
        power *= slope / n
        coefficients.append(derivative(x) * power)
        derivative = derivative.derivative() + n * fmpz_poly([0, 1]) * derivative
    return coefficients


_GAUSSIAN = Law(draws="rounded_gaussian", scale="sigma", largest=LARGEST, ball=_ball, series=_series)
