"""What the page on Re-Analyze Gauss shows, run again: each function draws one figure and prints its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from docs.experiments import covariances, figures, growth, motion, shapes, wishart
from docs.experiments.markdown import table

FROM_ROWS, FROM_DIM = 1000, 20  # fits leave smaller sizes out: they are not yet on their power of growth


def wishart_rows(trials: int = 10_000) -> None:
    """Figure 1: on the printed axis, from 20 to 200 rows, and beyond it."""
    printed = wishart.gaps(wishart.PRINTED, trials, seed=4)
    longer = wishart.gaps(wishart.FIRST, trials, seed=1)
    late = [one for one in longer if one.rows >= FROM_ROWS]
    powers = power(printed, "rows"), power(late, "rows")
    figures.wishart_rows(printed, longer, powers)
    print(f"exponent of m from 20 to 200 rows: {powers[0]}; from {FROM_ROWS} rows: {powers[1]}\n")
    for found in (printed, longer):
        table(
            ("m", "mean smallest gap", "quartiles", "mean/√m"),
            ((f"{one.rows:,}", *described(one), f"{one.mean / one.rows**0.5:.4f}") for one in found),
        )


def wishart_dims() -> None:
    """Figure 2, with the paper's 200 trials and with 4,000."""
    second = wishart.gaps(wishart.SECOND, trials=200, seed=2)
    longer = wishart.gaps(wishart.SECOND, trials=4000, seed=3)
    late = [power([one for one in found if one.dim >= FROM_DIM], "dim") for found in (second, longer)]
    figures.wishart_dims(second, late[0])
    print(f"exponent of d from d = {FROM_DIM}: {late[0]}; from all: {power(second, 'dim')}")
    print(f"the same with 4,000 trials: {late[1]}; from all: {power(longer, 'dim')}\n")
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


def census() -> None:
    """Figure 3: the threshold from the printed figures, and a table of the American Community Survey in its place."""
    root, plain = (covariances.threshold(124, 93730, 11, root=root) for root in (True, False))
    print(f"Census of 1990, from its printed σ1, at k = 11: {root:.2f}, without the root {plain:.2f}\n")
    _covariance("001-3", "ACS 2019", "acs2019_nist.npz", covariances.acs(), 5)


def kdd() -> None:
    """Figure 4."""
    _covariance("001-4", "KDD Cup", "kddcup99_10pct.npz", covariances.kdd(), 7)


def adult() -> None:
    """Figure 5."""
    _covariance("001-5", "Adult", "", covariances.adult(), 4)


def _covariance(name: str, title: str, file: str, data: covariances.Covariance | None, rank: int) -> None:
    if data is None:
        print(f"{title} is left out: {covariances.FOLDER} names no folder with {file}. No figure is drawn.\n")
        return
    figures.covariance(name, title, data, rank)
    print(f"{title}: {data.rows} rows, d = {len(data.spectrum)}, σ1 = {data.spectrum[0]:.3f}")
    print(f"σ1 when rows are scaled before they are centered: {data.as_printed:.3f}")
    print(f"gaps: {', '.join(f'{gap:.3f}' for gap in data.gaps[: rank + 3])}")
    print(f"k ≤ {data.largest_rank()} as printed, k ≤ {data.largest_rank(root=False)} without the root")
    root, plain = (f"{data.threshold(rank, root=root):.2f}" for root in (True, False))
    print(f"thresholds at k = {rank}: {root}, without the root {plain}")
    print("shares of the norm: " + ", ".join(f"k = {k}: {data.share(k):.4%}" for k in range(1, rank + 1)) + "\n")


def dyson() -> None:
    """Paths of eigenvalues, and the error along them."""
    figures.dyson_paths()
    figures.dyson_error(motion.along_time())


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
