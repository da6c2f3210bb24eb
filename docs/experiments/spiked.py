"""The simulations of Cai, Xia and Zha (2024) run again, with our methods beside theirs, and their digits.

Rows are made up, so none of the results is about anybody; 'DP-Gauss*' takes its radius from the data, as the paper
does, and is not private. The digits are read from the folder that the environment variable DPFRAME_DATA names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from docs.experiments.covariances import FOLDER
from dpframe_spiked import SpikedCovariance, printed_level

Floats = NDArray[np.float64]

DELTA = 0.1
CLASSICAL = math.sqrt(2 * math.log(1.25 / DELTA))  # the noise of DP-Gauss at epsilon 1
TRIALS = 40
PER_DIGIT = 500
PAPER, GAUSS, STARRED, EXACT, BLOCK = "spiked (paper)", "DP-Gauss", "DP-Gauss*", "gaussian", "spiked-block"
METHODS = (PAPER, GAUSS, STARRED, EXACT, BLOCK)
OJA = "DP-Oja"  # of examples/dpframe-oja


@attrs.frozen(kw_only=True)
class Case:
    """One point of a figure: rows of a spiked model with unit noise, and a budget.

    Args:
        n, p, r, spike: of the model.
        epsilon: of the budget; delta is 0.1.
    """

    n: int
    p: int
    r: int
    spike: float
    epsilon: float = 1.0

    @property
    def formula(self) -> float:
        """The radius of the paper: (r + 4 ln n)λ + p, squared."""
        return math.sqrt((self.r + 4 * math.log(self.n)) * self.spike + self.p)

    def draw(self, seed: int) -> tuple[Floats, Floats]:
        """Rows, and the covariance behind them."""
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.standard_normal((self.p, self.r)))[0]
        rows = rng.standard_normal((self.n, self.p))
        rows += math.sqrt(self.spike) * rng.standard_normal((self.n, self.r)) @ basis.T
        return rows, self.spike * basis @ basis.T + np.eye(self.p)

    def step(self, method: str, what: str) -> dp.Step:
        """The release of a method: a moment, for the paper's a covariance or directions."""
        if method == PAPER:
            parts, output = (2, "covariance") if what == "covariance" else (1, "components")
            level = printed_level(epsilon=self.epsilon, delta=DELTA, parts=parts)
            model = {"rank": self.r, "n": self.n, "spike": self.spike, "noise": 1.0}
            return dp.release("value", "spiked", level=level, output=output, **model)
        if method in (GAUSS, STARRED):
            return dp.release("value", "gaussian", noise="triangular", level=self.epsilon / CLASSICAL)
        if method == OJA:
            return dp.release("value", "oja", clip=0.2)
        return dp.release("value", "gaussian") if method == EXACT else dp.release("value", BLOCK, rank=self.r)

    def released(self, method: str, what: str, rows: Floats, seed: int) -> Floats:
        """A covariance; or directions, of those methods that release nothing else."""
        norm = float(np.linalg.norm(rows, axis=1).max()) if method == STARRED else self.formula
        plan = planned(self, method, what, 100 * norm if method == PAPER else norm)  # the paper clips nothing
        value: Floats = plan.run(rows, insecure_seed=seed)["value"]
        return value if method in (PAPER, OJA) else value / self.n


@lru_cache(maxsize=16)
def planned(case: Case, method: str, what: str, norm: float) -> dp.Plan:
    """The plan of a method with a public norm."""
    return dp.Plan(
        rows=dp.Rows(norm=norm, neighbors="replace"),
        budget=dp.Budget(epsilon=case.epsilon, delta=DELTA),
        scenario=dp.Scenario(model="spiked", dim=case.p, n=case.n, rank=case.r, spike=case.spike, noise=1.0),
        accept=[dp.model("spiked-covariance")] if method == PAPER else [],
        steps=[case.step(method, what)],
    )


def methods(what: str, cases: Sequence[Case]) -> tuple[str, ...]:
    """What a figure compares: DP-Oja where it is installed, for one direction."""
    oja = any("mechanism oja" in plugin.provides for plugin in dp.plugins())
    single = what == "components" and {case.r for case in cases} == {1}
    return (*METHODS, OJA) if oja and single else METHODS


def leading(found: Floats, rank: int) -> Floats:
    """The leading directions of a matrix, or the columns of a basis."""
    return found[:, :rank] if found.shape[0] != found.shape[1] else np.linalg.eigh(found)[1][:, : -rank - 1 : -1]


def directions(found: Floats, rank: int) -> Floats:
    """The projector on the leading directions."""
    basis = leading(found, rank)
    return np.asarray(basis @ basis.T, dtype=np.float64)


def spiked_part(matrix: Floats, rank: int) -> Floats:
    """The leading part, and the mean of the rest in all other directions."""
    return SpikedCovariance(of=(matrix + matrix.T) / 2, rank=rank, n=1).apply().array


def simulated(case: Case, what: str, methods: Sequence[str] = METHODS, trials: int = TRIALS) -> dict[str, float]:
    """The mean error of each method, all on the same rows, in Frobenius norm, of "components" or of a "covariance"."""
    errors: dict[str, list[float]] = {method: [] for method in methods}
    for seed in range(trials):
        rows, truth = case.draw(seed)
        for method in methods:
            found = case.released(method, what, rows, seed)
            if what == "components":
                difference = directions(found, case.r) - directions(truth, case.r)
            else:
                difference = (found if method == PAPER else spiked_part(found, case.r)) - truth
            errors[method].append(float(np.linalg.norm(difference)))
    return {method: float(np.mean(values)) for method, values in errors.items()}


FIGURES: dict[str, tuple[str, list[Case]]] = {
    "Figure 1, left: n": ("components", [Case(n=n, p=50, r=1, spike=10.0) for n in (1000, 3000, 10_000, 30_000)]),
    "Figure 1, right: r": ("components", [Case(n=10_000, p=50, r=r, spike=10.0) for r in (1, 2, 3, 5)]),
    "Figure 2, left: ε": (
        "components",
        [Case(n=10_000, p=50, r=3, spike=10.0, epsilon=epsilon) for epsilon in (0.2, 0.5, 1.0, 2.0)],
    ),
    "Figure 2, right: λ": (
        "components",
        [Case(n=10_000, p=50, r=3, spike=spike) for spike in (3.0, 10.0, 50.0, 200.0)],
    ),
    "Figure 3: p > n, λ": ("components", [Case(n=30, p=50, r=3, spike=spike) for spike in (1e3, 1e4, 1e5, 1e6)]),
    "Figure 5, p = 50: n": ("covariance", [Case(n=n, p=50, r=3, spike=10.0) for n in (3000, 10_000, 30_000)]),
    "Figure 5, p = 100: n": ("covariance", [Case(n=n, p=100, r=3, spike=10.0) for n in (3000, 10_000, 30_000)]),
    "Figure 6, p = 50: λ": ("covariance", [Case(n=10_000, p=50, r=3, spike=spike) for spike in (5.0, 20.0, 100.0)]),
    "Figure 6, p = 100: λ": ("covariance", [Case(n=10_000, p=100, r=3, spike=spike) for spike in (5.0, 20.0, 100.0)]),
}
"""What is drawn in each figure, and the points of it. The axes are ours: the paper does not print their values."""


@attrs.frozen(kw_only=True)
class Digits:
    """The digits 1, 4 and 9 in three private directions.

    Args:
        explained: the share of the variance that the directions explain: 5 %, median and 95 % over seeds.
        best: the most that three directions can explain.
        scores: the digits in the first two directions of one seed, by method; without privacy under "".
        labels: which digit is which.
    """

    explained: dict[str, tuple[float, float, float]]
    best: float
    scores: dict[str, Floats]
    labels: NDArray[np.int64]


def mnist(trials: int = 20) -> Digits | None:
    """1500 digits of 14 × 14 pixels, r = 3, ε = 2, δ = 0.1; None where the file is not at hand.

    As in the paper, λ and σ² are read off the data (the mean of the three leading eigenvalues, and of the 50th to the
    140th): this is an experiment on public digits, not a private release.
    """
    path = Path(os.environ.get(FOLDER, "")) / "mnist_149.npz"
    if not path.is_file():
        return None
    rows = digits(path)
    n, p = rows.shape
    values = np.linalg.eigvalsh(rows.T @ rows / n)[::-1]
    noise = float(values[49:140].mean())
    scaled = rows / math.sqrt(noise)  # unit noise, as everywhere here
    case = Case(n=n, p=p, r=3, spike=float(values[:3].mean()) / noise - 1.0, epsilon=2.0)
    found, scores = {}, {"": rows @ leading(rows.T @ rows, 2)}
    for method in METHODS:
        released = [case.released(method, "components", scaled, seed) for seed in range(trials)]
        shares = [float(np.square(rows @ leading(each, case.r)).sum() / np.square(rows).sum()) for each in released]
        low, middle, high = np.quantile(shares, (0.05, 0.5, 0.95)).tolist()
        found[method], scores[method] = (low, middle, high), rows @ leading(released[0], 2)
    best = float(values[:3].sum() / values.sum())
    return Digits(explained=found, best=best, scores=scores, labels=np.repeat([1, 4, 9], PER_DIGIT))


def digits(path: Path) -> Floats:
    """500 of each digit, pixels averaged in squares of four, on [0, 1], centered."""
    with np.load(path, allow_pickle=False) as archive:
        images, labels = archive["X"], archive["y"]
    chosen = np.concatenate([np.flatnonzero(labels == digit)[:PER_DIGIT] for digit in (1, 4, 9)])
    small = images[chosen].astype(np.float64).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255
    rows = small.reshape(len(small), 196)
    return np.asarray(rows - rows.mean(axis=0), dtype=np.float64)


def varying(cases: Sequence[Case]) -> list[Any]:
    """The values of what differs between the points of a figure."""
    fields = [field.name for field in attrs.fields(Case)]
    (name,) = [field for field in fields if len({getattr(case, field) for case in cases}) > 1]
    return [getattr(case, name) for case in cases]
