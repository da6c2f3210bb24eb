"""Compute golden.json, the table that the accountant is tested against. Run by hand; it takes some minutes.

    python make_golden.py

Nothing here shares code with the plugin. The exact figures come with 40 digits from four different closed forms:

* Gaussians: the curve of Balle and Wang 2018;
* randomised responses: all sums of ±epsilon with their binomial weights, and the curve of Gaussians averaged over them;
* Laplace variables: conditionally on how many losses are +epsilon, −epsilon or between, the sum of those between is
  e^(s/2) times an Irwin–Hall density;
* any mixture with a Gaussian: delta(epsilon) = 1/(2πi) ∫ e^(K(z) − z epsilon) / (z (z + 1)) dz along Re z = t > 0, with
  K(z) = ln E e^(z L), since 1/(z (z + 1)) is the Laplace transform of 1 − e^(−x).

Beside them stand dp-accounting's own pessimistic figure at its default interval of 1e-4 and, where there is no closed
form, its optimistic figure at a finer one, below which no valid answer lies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mpmath import mp, mpc, mpf

mp.dps = 40

Part = tuple[str, float, int]  # kind, level, how often
Case = tuple[str, tuple[Part, ...], tuple[float, ...]]

HERE = Path(__file__).parent
DELTAS = (1e-3, 1e-6, 1e-10)


def spread(kind: str, low: float, high: float, count: int) -> tuple[Part, ...]:
    """Levels in geometric progression, rounded to four digits."""
    ratio = (high / low) ** (1 / (count - 1))
    return tuple((kind, float(f"{low * ratio**i:.4g}"), 1) for i in range(count))


CASES: tuple[Case, ...] = (
    ("one Gaussian", (("Gaussian", 0.1, 1),), DELTAS),
    ("ten Gaussians", (("Gaussian", 0.2, 10),), (1e-6,)),
    ("a thousand Gaussians", (("Gaussian", 0.1, 1000),), (1e-6,)),
    ("forty Gaussians", spread("Gaussian", 0.01, 1.0, 40), (1e-6,)),
    ("one pure", (("Pure", 1.0, 1),), (1e-2, 1e-6)),
    ("ten pure", (("Pure", 0.5, 10),), DELTAS),
    ("a hundred pure", (("Pure", 0.1, 100),), DELTAS),
    ("a thousand pure", (("Pure", 0.01, 1000),), (1e-5, 1e-6, 1e-12)),
    ("a thousand bounded ranges", (("BoundedRange", 0.03, 1000),), (1e-6,)),
    ("pure of two sizes", (("Pure", 0.2, 30), ("BoundedRange", 0.05, 60)), (1e-4, 1e-8)),
    ("ten pure of all sizes", spread("Pure", 0.03, 1.3, 10), (1e-3, 1e-6)),
    ("large pure", (("Pure", 3.0, 5),), (1e-2, 1e-6)),
    ("one large and many small pure", (("Pure", 10.0, 1), ("Pure", 0.001, 999)), (1e-6, 1e-10)),
    ("one Laplace", (("Laplace", 1.0, 1),), (1e-2, 1e-6)),
    ("two Laplaces", (("Laplace", 0.3, 2),), (1e-2, 1e-4)),
    ("six Laplaces", (("Laplace", 0.4, 6),), DELTAS),
    ("twelve Laplaces", (("Laplace", 0.2, 12),), (1e-4, 1e-6, 1e-9)),
    ("a hundred Laplaces", (("Laplace", 0.1, 100),), (1e-6,)),
    ("a thousand Laplaces", (("Laplace", 0.02, 1000),), (1e-6,)),
    ("Laplaces of all sizes", spread("Laplace", 0.02, 0.8, 25), (1e-6,)),
    ("Laplace and pure", (("Laplace", 0.3, 4), ("Pure", 0.3, 4)), (1e-4,)),
    ("equal weights", (("Gaussian", 0.172, 1), ("Laplace", 0.172, 1), ("Pure", 0.172, 1)), (1e-2, 1e-6, 1e-12)),
    ("Gaussian and pure", (("Gaussian", 1.0, 1), ("Pure", 1.0, 1)), DELTAS),
    ("Gaussian and large pure", (("Gaussian", 0.05, 1), ("Pure", 4.0, 1)), (1e-6,)),
    ("Gaussian and slight pure", (("Gaussian", 1.0, 1), ("Pure", 1e-5, 1)), (1e-6,)),
    ("Gaussian and a hundred pure", (("Gaussian", 0.5, 1), ("Pure", 0.05, 100)), (1e-6,)),
    ("Gaussian and Laplace", (("Gaussian", 0.5, 1), ("Laplace", 0.5, 1)), (1e-3, 1e-6, 1e-15)),
    ("large Gaussian and Laplaces", (("Gaussian", 5.0, 1), ("Laplace", 8.0, 3)), (1e-6,)),
    (
        "thirty mixed",
        spread("Gaussian", 0.02, 0.2, 10) + spread("Laplace", 0.02, 0.2, 10) + spread("BoundedRange", 0.02, 0.2, 10),
        DELTAS,
    ),
    (
        "a hundred mixed",
        spread("Gaussian", 0.01, 0.1, 33) + spread("Laplace", 0.01, 0.1, 33) + spread("Pure", 0.01, 0.1, 34),
        (1e-6, 1e-9),
    ),
    ("a thousand mixed", (("Gaussian", 0.02, 333), ("Laplace", 0.02, 333), ("BoundedRange", 0.02, 334)), (1e-6,)),
    (
        "mixed of very different sizes",
        (("Gaussian", 0.003, 20), ("Laplace", 2.0, 2), ("Pure", 0.002, 300), ("Laplace", 0.004, 100)),
        (1e-6,),
    ),
    ("approximate and Gaussian", (("Approx", 0.2, 20), ("Gaussian", 0.5, 1)), (1e-6,)),
)
FAILURE = 1e-9  # delta of each approximate loss


def gaussian_curve(mu: mpf, epsilon: mpf) -> mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def response_sums(parts: Sequence[Part]) -> list[tuple[mpf, mpf]]:
    """All values of the summed loss of randomised responses with their probabilities."""
    sums = [(mpf(0), mpf(1))]
    for _, level, count in parts:
        epsilon = mpf(level)
        right = 1 / (1 + mp.exp(-epsilon))
        one = [
            ((2 * k - count) * epsilon, mp.binomial(count, k) * right**k * (1 - right) ** (count - k))
            for k in range(count + 1)
        ]
        sums = [(value + step, mass * weight) for value, mass in sums for step, weight in one]
    return sorted(sums)


def response_epsilon(parts: Sequence[Part], delta: mpf) -> mpf:
    """Between two neighbouring sums the curve is U − e^epsilon L: solve it there."""
    upper = lower = mpf(0)
    sums = response_sums(parts)
    for (value, mass), below in zip(reversed(sums), [*reversed([v for v, _ in sums[:-1]]), -mp.inf], strict=True):
        upper += mass
        lower += mass * mp.exp(-value)
        if upper > delta:
            epsilon = mp.log((upper - delta) / lower)
            if epsilon >= below:
                return max(epsilon, mpf(0))
    return mpf(0)


def gaussian_response_curve(parts: Sequence[Part], at: mpf) -> mpf:
    """The Gaussian curve, averaged over the sums of the responses."""
    mu = mp.sqrt(mp.fsum(count * mpf(level) ** 2 for kind, level, count in parts if kind == "Gaussian"))
    sums = response_sums([part for part in parts if part[0] != "Gaussian"])
    return mp.fsum(mass * gaussian_curve(mu, at - value) for value, mass in sums)


def laplace_curve(epsilon: mpf, count: int, at: mpf) -> mpf:
    """The curve of equal Laplace variables, term by term."""

    def between(number: int, shift: mpf) -> mpf:
        """E (1 − e^(shift − S))₊ with S the sum of so many losses strictly between, times their probability."""
        if number == 0:
            return max(mpf(0), 1 - mp.exp(shift))
        low, high = -number * epsilon, number * epsilon

        def density(s: mpf) -> mpf:
            terms = (
                (-1) ** j * mp.binomial(number, j) * (s + number * epsilon - 2 * j * epsilon) ** (number - 1)
                for j in range(number + 1)
                if s > 2 * j * epsilon - number * epsilon
            )
            flat = mp.fsum(terms) / mp.factorial(number - 1)
            return flat * mp.exp((s - number * epsilon) / 2) / mpf(4) ** number

        knots = [k for k in (low + 2 * j * epsilon for j in range(number + 1)) if k > shift]
        start = max(low, shift)
        if not knots or start >= high:
            return mpf(0)
        edges = [start, *(k for k in knots if k > start)]
        return mp.quad(lambda s: (1 - mp.exp(shift - s)) * density(s), edges)

    total = mpf(0)
    for plus in range(count + 1):
        for minus in range(count - plus + 1):
            number = count - plus - minus
            ways = mp.factorial(count) / (mp.factorial(plus) * mp.factorial(minus) * mp.factorial(number))
            weight = ways * mpf(0.5) ** plus * (mp.exp(-epsilon) / 2) ** minus
            total += weight * between(number, at - (plus - minus) * epsilon)
    return total


def mixed_curve(parts: Sequence[Part], at: mpf) -> mpf:
    """The inverse Laplace transform, along a line near the saddle point; needs a Gaussian to converge."""
    square = mp.fsum(count * mpf(level) ** 2 for kind, level, count in parts if kind == "Gaussian")
    bounded = [(kind, mpf(level), count) for kind, level, count in parts if kind != "Gaussian"]

    def log_moment(z: Any) -> Any:
        total = square * z * (1 + z) / 2
        for kind, level, count in bounded:
            if kind == "Laplace":
                moment = ((1 + z) * mp.exp(z * level) + z * mp.exp(-(1 + z) * level)) / (1 + 2 * z)
            else:
                moment = (mp.exp(z * level) + mp.exp(-(1 + z) * level)) / (1 + mp.exp(-level))
            total += count * mp.log(moment)  # the branch does not matter: e^total follows
        return total

    def slope(t: mpf) -> mpf:
        return mp.diff(log_moment, t) - at - 1 / t - 1 / (1 + t)

    low, line = mpf(10) ** -6, mpf(1)
    while slope(line) < 0:
        line *= 2
    for _ in range(30):
        middle = mp.sqrt(low * line)
        low, line = (middle, line) if slope(middle) < 0 else (low, middle)

    def integrand(y: mpf) -> mpc:
        z = mpc(line, y)
        return mp.exp(log_moment(z) - z * at) / (z * (1 + z))

    reach = mp.sqrt(2 * 110 / square)  # beyond it the Gaussian alone is below 1e-47
    piece = min(reach / 8, 2 / mp.sqrt(mp.diff(log_moment, line, 2)), 2 / max(level for _, level, _ in bounded))
    negligible = abs(integrand(mpf(0))) * mpf(10) ** -45
    total, y = mpf(0), mpf(0)
    while y < reach:
        if max(abs(integrand(y + piece * k / 4)) for k in range(5)) > negligible:
            value, error = mp.quad(lambda y: mp.re(integrand(y)), [y, y + piece], error=True)
            assert error < mpf(10) ** -20 * abs(integrand(mpf(0)))
            total += value
        y += piece
    return total / mp.pi


def root(curve: Callable[[mpf], mpf], delta: mpf, guess: float) -> mpf:
    """Where the curve falls to delta, by false position from a figure that is nearly right."""

    def excess(at: mpf) -> mpf:
        return curve(at) / delta - 1

    low, high = mpf(guess) * mpf("0.9999"), mpf(guess) * mpf("1.0001")
    while (above := excess(low)) < 0:
        low *= mpf("0.995")
    while (below := excess(high)) > 0:
        high *= mpf("1.005")
    side = 0
    while high - low > mpf(10) ** -22 * high:
        at = (low * below - high * above) / (below - above)
        value = excess(at)
        if abs(value) < mpf(10) ** -20:
            return at
        if value > 0:
            low, above, below, side = at, value, below / 2 if side > 0 else below, 1
        else:
            high, below, above, side = at, value, above / 2 if side < 0 else above, -1
    return high


def exact(parts: Sequence[Part], delta: float, guess: float) -> mpf | None:  # noqa: PLR0911
    """The exact epsilon, where there is a closed form for it."""
    kinds = {kind for kind, _, _ in parts}
    responses = {"Pure", "BoundedRange"}
    if kinds == {"Gaussian"}:
        mu = mp.sqrt(mp.fsum(count * mpf(level) ** 2 for _, level, count in parts))
        return root(lambda epsilon: gaussian_curve(mu, epsilon), mpf(delta), guess)
    if kinds <= responses:
        return response_epsilon(parts, mpf(delta))
    if kinds == {"Laplace"}:
        if len(parts) > 1 or parts[0][2] > 12:
            return None
        _, level, count = parts[0]
        if count == 1:
            return mpf(level) + 2 * mp.log(1 - mpf(delta))
        return root(lambda epsilon: laplace_curve(mpf(level), count, epsilon), mpf(delta), guess)
    if kinds <= {"Gaussian", *responses}:
        return root(lambda epsilon: gaussian_response_curve(parts, epsilon), mpf(delta), guess)
    if "Gaussian" in kinds:
        failures = sum(count for kind, _, count in parts if kind == "Approx")
        survival = (1 - mpf(FAILURE)) ** failures
        left = (mpf(delta) - (1 - survival)) / survival
        return root(lambda epsilon: mixed_curve(parts, epsilon), left, guess)
    return None


def library(parts: Sequence[Part], delta: float, *, interval: float, pessimistic: bool) -> float:
    """dp-accounting's own figure."""
    from dp_accounting.pld import common  # type: ignore[import-untyped]
    from dp_accounting.pld import privacy_loss_distribution as pld

    def optimistic_response(epsilon: float, failure: float) -> Any:
        right = (1 - failure) / (1 + math.exp(-epsilon))
        masses = {math.floor(epsilon / interval): right}
        low = math.floor(-epsilon / interval)
        masses[low] = masses.get(low, 0.0) + right * math.exp(-epsilon)
        return pld.PrivacyLossDistribution.create_from_rounded_probability(
            masses, failure, interval, pessimistic_estimate=False
        )

    total = None
    for kind, level, count in parts:
        failure = FAILURE if kind == "Approx" else 0.0
        if kind == "Gaussian":
            one = pld.from_gaussian_mechanism(
                1 / level, pessimistic_estimate=pessimistic, value_discretization_interval=interval,
                use_connect_dots=pessimistic,
            )  # fmt: skip
        elif kind == "Laplace":
            one = pld.from_laplace_mechanism(
                1 / level, pessimistic_estimate=pessimistic, value_discretization_interval=interval,
                use_connect_dots=pessimistic,
            )  # fmt: skip
        elif pessimistic:
            parameters = common.DifferentialPrivacyParameters(level, failure)
            one = pld.from_privacy_parameters(parameters, value_discretization_interval=interval)
        else:
            one = optimistic_response(level, failure)
        if count > 1:
            one = one.self_compose(count)
        total = one if total is None else total.compose(one)
    assert total is not None
    return float(total.get_epsilon_for_delta(delta))


def main() -> None:
    table = []
    for name, parts, deltas in CASES:
        for delta in deltas:
            own = library(parts, delta, interval=1e-4, pessimistic=True)
            found = exact(parts, delta, own)
            row: dict[str, Any] = {"name": name, "parts": parts, "delta": delta, "library": own}
            if found is not None:
                row["exact"] = mp.nstr(found, 25)
            else:
                row["below"] = library(parts, delta, interval=1e-6 if len(parts) == 1 else 1e-5, pessimistic=False)
            print(name, delta, own, row.get("exact", row.get("below")), flush=True)
            table.append(row)
    lines = ",\n".join(json.dumps(row) for row in table)
    (HERE / "golden.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
