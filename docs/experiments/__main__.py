"""`python -m docs.experiments`: run the published experiments again, draw the figures, print the tables.

KDD Cup 1999 and MNIST are read from the folder that the environment variable DPFRAME_DATA names, and left out where
there is none. DP-Oja is compared where examples/dpframe-oja is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docs.experiments import covariances, figures, growth, motion, shapes, spiked, wishart
from docs.figures.style import STYLE, plt

FROM_ROWS, FROM_DIM = 1000, 20  # fits leave smaller sizes out: they are not yet on their power of growth


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    for line in (head, ["---"] * len(head), *lines):
        print("| " + " | ".join(line) + " |")
    print()


def wishart_gaps() -> None:
    first = wishart.gaps(wishart.FIRST, trials=10_000, seed=1)
    second = wishart.gaps(wishart.SECOND, trials=200, seed=2)
    longer = wishart.gaps(wishart.SECOND, trials=4000, seed=3)
    late = [
        power([one for one in found if getattr(one, size) >= start], size)
        for found, size, start in ((first, "rows", FROM_ROWS), (second, "dim", FROM_DIM), (longer, "dim", FROM_DIM))
    ]
    figures.wishart(first, second, (late[0], late[1]))
    print(f"exponent of m from {FROM_ROWS} rows: {late[0]}; from all: {power(first, 'rows')}")
    print(f"exponent of d from d = {FROM_DIM}: {late[1]}; from all: {power(second, 'dim')}")
    print(f"the same with 4,000 trials: {late[2]}; from all: {power(longer, 'dim')}\n")
    table(
        ("m", "mean smallest gap", "quartiles", "mean/√m"),
        ((f"{one.rows:,}", *described(one), f"{one.mean / one.rows**0.5:.4f}") for one in first),
    )
    table(
        ("d", "mean, 200 trials", "quartiles", "mean, 4,000 trials", "quartiles", "mean/√d", "at least √d"),
        (
            (str(one.dim), *described(one), *described(more), f"{more.mean / more.dim**0.5:.3f}", f"{more.above:.1%}")
            for one, more in zip(second, longer, strict=True)
        ),
    )


def described(found: wishart.Gaps) -> tuple[str, str]:
    return f"{found.mean:.2f} ± {found.error:.2f}", f"{found.quartiles[0]:.2f} – {found.quartiles[1]:.2f}"


def power(found: Sequence[wishart.Gaps], size: str) -> wishart.Exponent:
    return wishart.exponent(
        [getattr(one, size) for one in found], [one.mean for one in found], [one.error for one in found]
    )


def real_covariances() -> None:
    found = {"Adult": (covariances.adult(), 4)}
    kdd = covariances.kdd()
    if kdd is None:
        print(
            f"KDD Cup is left out: {covariances.FOLDER} names no folder with kddcup99_10pct.npz. No figure is drawn.\n"
        )
    else:
        found["KDD Cup"] = (kdd, 7)
        figures.covariances(found)
    for name, (data, rank) in found.items():
        print(f"{name}: {data.rows} rows, d = {len(data.spectrum)}, σ1 = {data.spectrum[0]:.3f}")
        print(f"σ1 when rows are scaled before they are centered: {data.as_printed:.3f}")
        print(f"gaps: {', '.join(f'{gap:.3f}' for gap in data.gaps[: rank + 3])}")
        print(f"k ≤ {data.largest_rank()} as printed, k ≤ {data.largest_rank(root=False)} without the root")
        root, plain = (f"{data.threshold(rank, root=root):.2f}" for root in (True, False))
        print(f"thresholds at k = {rank}: {root}, without the root {plain}")
        print("shares of the norm: " + ", ".join(f"k = {k}: {data.share(k):.4%}" for k in range(1, rank + 1)) + "\n")
    root, plain = (covariances.threshold(124, 93730, 11, root=root) for root in (True, False))
    print(f"Census, from its printed σ1: {root:.2f}, without the root {plain:.2f}\n")


def rank_growth(trials: int = 60) -> None:
    spread, tied = (
        [growth.simulated(spectrum, k, trials, seed=3) for k in growth.RANKS]
        for spectrum in (growth.spread, growth.tied)
    )
    figures.rank_growth(spread, tied)
    for name, found, part in (
        ("rank-k", spread, "low_rank"),
        ("subspace", spread, "subspace"),
        ("tied", tied, "subspace"),
    ):
        means, errors = zip(*(getattr(one, part) for one in found), strict=True)
        early, all_ranks = (wishart.exponent(growth.RANKS[:n], means[:n], errors[:n]) for n in (5, len(found)))
        print(f"exponent of k, {name}, up to 16: {early}; up to 64: {all_ranks}")
    print()
    head = ("k", "rank-k part", "forecast", "`dyson`", "subspace", "forecast", "`dyson`", "subspace, tied", "forecast")
    names = ("first-order", "dyson")
    table(
        head,
        (
            (
                str(one.k),
                f"{one.low_rank[0]:.1f} ± {one.low_rank[1]:.1f}",
                *(f"{growth.said(name, growth.spread(one.k), one.k, 'leading'):.1f}" for name in names),
                f"{one.subspace[0]:.4f} ± {one.subspace[1]:.4f}",
                *(f"{growth.said(name, growth.spread(one.k), one.k, 'components'):.4f}" for name in names),
                f"{other.subspace[0]:.4f} ± {other.subspace[1]:.4f}",
                f"{growth.said('first-order', growth.tied(one.k), one.k, 'components'):.4f}",
            )
            for one, other in zip(spread, tied, strict=True)
        ),
    )


def noise_shapes() -> None:
    found = shapes.compared()
    figures.noise_shapes(found)
    for epsilon in (shapes.EPSILONS[0], shapes.EPSILONS[-1]):
        here = [one for one in found if one.epsilon == epsilon]
        best = here[-1]
        table(
            (
                f"noise, at ε = {epsilon:g}",
                "calibration",
                "off-diagonal",
                "times",
                "median error",
                "quartiles",
                "times",
            ),
            (
                (
                    f"`{one.shape}`",
                    one.curve,
                    f"{one.noise:.2f}",
                    f"{one.noise / best.noise:.2f}",
                    f"{one.median:.4f}",
                    f"{one.quartiles[0]:.4f} – {one.quartiles[1]:.4f}",
                    f"{one.median / best.median:.2f}",
                )
                for one in here
            ),
        )


def spiked_models() -> None:
    found = {}
    for name, (what, cases) in spiked.FIGURES.items():
        compared = spiked.methods(what, cases)
        found[name] = [spiked.simulated(case, what, compared) for case in cases]
        table(
            (f"{name}, {what}", *map(str, spiked.varying(cases))),
            ((method, *(f"{errors[method]:.3g}" for errors in found[name])) for method in compared),
        )
    figures.spiked(found)
    digits = spiked.mnist()
    if digits is None:
        print(f"The digits are left out: {covariances.FOLDER} names no folder with mnist_149.npz.\n")
        return
    figures.digits(digits)
    print(f"three directions without privacy explain {digits.best:.1%}\n")
    table(
        ("variance explained", "median", "5 % to 95 % of seeds"),
        ((name, f"{middle:.1%}", f"{low:.1%} – {high:.1%}") for name, (low, middle, high) in digits.explained.items()),
    )


def main() -> None:
    with plt.rc_context(STYLE):
        figures.dyson_paths()
        figures.dyson_error(motion.along_time())
        wishart_gaps()
        real_covariances()
        rank_growth()
        noise_shapes()
        spiked_models()


if __name__ == "__main__":
    main()
