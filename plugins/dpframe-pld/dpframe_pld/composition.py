"""Composition of a mixture, and epsilon and delta from its privacy curve."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

from dpframe_pld.distribution import Distribution, gaussian, laplace, log_largest_weight, responses
from dpframe_pld.mixture import Group, Mixture

FINENESS = 11  # the lattice of the total has 2^11 to 2^12 points per scale of its bounded losses,
SMOOTH = 9  # and 2^9 to 2^10 per scale of its Gaussian, whose curve is smooth
OWN_FINENESS = 7  # the lattice of a partial composition has at least 2^7 points per its own scale
BATCH = 6  # randomized responses whose 2^6 sums are enumerated
STEEPEST = 2048.0  # largest tilt, in inverse scales
FLATTEST = 1e-3  # smallest tilt
ROUNDINGS = 1e-12  # an upper bound on the relative rounding of closed forms
LARGEST = 1e6  # larger losses, which guarantee next to nothing, are bounded without a lattice


@lru_cache(maxsize=1024)
def epsilon_of(mixture: Mixture, delta: float) -> float:
    """An epsilon at which the curve of the mixture, without its failures, is at most delta."""
    from scipy.optimize import brentq

    log_delta, bound = math.log(delta), _chernoff(mixture)

    def ceiling_at(tilt: float) -> float:
        return (bound(tilt) - log_delta) / tilt

    tilt = _best(ceiling_at, mixture.scale)
    ceiling = max(0.0, ceiling_at(tilt) * (1 + ROUNDINGS))  # valid by itself: Rényi accounting of order tilt + 1
    if mixture.scale > LARGEST:
        return ceiling
    law = composed(mixture, tilt)
    if law.log_delta(0.0) <= log_delta:
        return 0.0
    if law.log_delta(ceiling) > log_delta:
        return ceiling
    epsilon = float(brentq(lambda at: law.log_delta(at) - log_delta, 0.0, ceiling, xtol=1e-300, rtol=1e-13))
    step = 1e-15
    while law.log_delta(epsilon) > log_delta:  # increase until the curve is at most delta
        epsilon *= 1.0 + step
        step *= 2
    return min(epsilon, ceiling)


@lru_cache(maxsize=1024)
def delta_of(mixture: Mixture, epsilon: float) -> float:
    """An upper bound on the curve of the mixture at epsilon, without its failures."""
    bound = _chernoff(mixture)
    tilt = _best(lambda tilt: bound(tilt) - tilt * epsilon, mixture.scale)
    log_delta = bound(tilt) - tilt * epsilon * (1 - ROUNDINGS)
    if mixture.scale <= LARGEST:
        log_delta = min(log_delta, composed(mixture, tilt).log_delta(epsilon))
    return min(1.0, math.nextafter(math.exp(min(0.0, log_delta)), math.inf))


def composed(mixture: Mixture, tilt: float) -> Distribution:
    """The tilted law of the whole mixture.

    The two laws of smallest scale are composed repeatedly, equal ones by doubling. The lattice becomes coarser as the
    scale grows (Ghazi et al. 2022), so that many small losses next to a large one are resolved at little cost. Spacings
    are powers of two that never decrease when a level grows, so that a larger level never appears cheaper because of a
    finer lattice.
    """
    coarsest = mixture.mu * 2.0**-SMOOTH + mixture.bounded_scale * 2.0**-FINENESS

    def spacing(scale: float) -> float:
        return 2.0 ** math.floor(math.log2(min(scale * 2.0**-OWN_FINENESS, coarsest)))

    order = itertools.count()
    heap: list[tuple[float, int, Distribution, int]] = []

    def push(law: Distribution, count: int) -> None:
        heapq.heappush(heap, (law.scale, next(order), law, count))

    def join(one: Distribution, two: Distribution) -> Distribution:
        return one.compose(two, spacing(math.hypot(one.scale, two.scale)))

    for level, count in mixture.laplace:
        push(laplace(level, spacing(level), tilt), count)
    for levels, count in _batches(mixture.response):
        push(responses(levels, spacing(math.hypot(*levels)), tilt), count)
    if mixture.mu > 0.0:
        push(gaussian(mixture.mu, spacing(mixture.mu), tilt), 1)
    while True:
        _, _, law, count = heapq.heappop(heap)
        if count > 1:
            push(join(law, law), count // 2)
            if count % 2:
                push(law, 1)
        elif heap:
            _, _, other, others = heapq.heappop(heap)
            push(join(law, other), 1)
            if others > 1:
                push(other, others - 1)
        else:
            return law


def _chernoff(mixture: Mixture) -> Callable[[float], float]:
    """An upper bound on K(t) + ln w_max: the curve is at most its exponential times e^(−t epsilon), for every t > 0."""
    moment = mixture.log_moment()

    def bound(tilt: float) -> float:
        value, weight = moment(tilt), log_largest_weight(tilt)
        return value + weight + ROUNDINGS * (1 + value - weight)

    return bound


def _batches(group: Group) -> Iterable[tuple[tuple[float, ...], int]]:
    """Batches of levels of similar size, from the largest, so that small changes leave most batches unchanged."""
    batches: list[list[float]] = []
    for level, count in reversed(group):
        for _ in range(count):
            if not batches or len(batches[-1]) == BATCH or batches[-1][0] > 8 * level:
                batches.append([])
            batches[-1].append(level)
    return Counter(map(tuple, batches)).items()


def _best(bound: Callable[[float], float], scale: float) -> float:
    """The tilt with the smallest bound.

    Every tilt gives a valid answer; a good one gives a tight answer, and the same for epsilon and for delta.
    """
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        lambda log_tilt: bound(math.exp(log_tilt)),
        bounds=(math.log(FLATTEST / scale), math.log(STEEPEST / scale)),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return math.exp(float(minimum.x))
