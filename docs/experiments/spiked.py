"""The simulations of Cai, Xia and Zha (2024) run again, with our methods beside theirs.

Rows are made up, so none of the results is about anybody; 'DP-Gauss*' takes its radius from the data, as the paper
does, and is not private. DP-Oja is that of Liu et al. as published, one pass with its own clip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import dpframe as dp
from dpframe_spiked import SpikedCovariance, printed_level

Floats = NDArray[np.float64]

DELTA = 0.1
CLASSICAL = math.sqrt(2 * math.log(1.25 / DELTA))  # the noise of DP-Gauss at epsilon 1
TRIALS = 40
PAPER, GAUSS, STARRED, EXACT, BLOCK = "spiked (paper)", "DP-Gauss", "DP-Gauss*", "gaussian", "spiked-block"
METHODS = (PAPER, GAUSS, STARRED, EXACT, BLOCK)
OJA, ROUNDS = "DP-Oja (published)", "oja"  # both of examples/dpframe-oja
OJA_CONSTANT, OJA_STEP = 0.2, 0.5  # the paper's choices; its step is this divided by n


@attrs.frozen(kw_only=True)
class Case:
    """One point of a figure: rows of a spiked model with unit noise, and a budget.

    Args:
        n, p, r, spike: of the model.
        epsilon: of the budget; delta is 0.1.
        counted: the relation that DP-Gauss and DP-Gauss* have noise for.
    """

    n: int
    p: int
    r: int
    spike: float
    epsilon: float = 1.0
    counted: str = "replace"

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
        if method == ROUNDS:
            return dp.release("value", "oja", clip=0.2)
        return dp.release("value", "gaussian") if method == EXACT else dp.release("value", BLOCK, rank=self.r)

    def released(self, method: str, what: str, rows: Floats, seed: int) -> Floats:
        """A covariance; or directions, of those methods that release nothing else."""
        if method == OJA:
            return self._one_pass(rows, seed)
        norm = float(np.linalg.norm(rows, axis=1).max()) if method == STARRED else self.formula
        plan = planned(self, method, what, 100 * norm if method == PAPER else norm)  # the paper clips nothing
        value: Floats = plan.run(rows, insecure_seed=seed)["value"]
        return value if method in (PAPER, ROUNDS) else value / self.n

    def _one_pass(self, rows: Floats, seed: int) -> Floats:
        from dpframe_oja import OnePass

        oja = OnePass.published(
            rows=self.n,
            dim=self.p,
            largest=self.spike + 1.0,
            epsilon=self.epsilon,
            delta=DELTA,
            constant=OJA_CONSTANT,
            step=OJA_STEP / self.n,
        )
        return np.asarray(oja.direction(rows, seed)[:, None], dtype=np.float64)


@lru_cache(maxsize=16)
def planned(case: Case, method: str, what: str, norm: float) -> dp.Plan:
    """The plan of a method with a public norm."""
    return dp.Plan(
        rows=dp.Rows(norm=norm, neighbors=case.counted if method in (GAUSS, STARRED) else "replace"),
        budget=dp.Budget(epsilon=case.epsilon, delta=DELTA),
        scenario=dp.Scenario(model="spiked", dim=case.p, n=case.n, rank=case.r, spike=case.spike, noise=1.0),
        accept=[dp.model("spiked-covariance")] if method == PAPER else [],
        steps=[case.step(method, what)],
    )


def methods(what: str, cases: Sequence[Case]) -> tuple[str, ...]:
    """What a figure compares: DP-Oja where it is installed, for one direction."""
    oja = any("mechanism oja" in plugin.provides for plugin in dp.plugins())
    single = what == "components" and {case.r for case in cases} == {1}
    return (*METHODS, OJA, ROUNDS) if oja and single else METHODS


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


def simulated(case: Case, what: str, methods: Sequence[str] = METHODS, trials: int = TRIALS) -> dict[str, Floats]:
    """The errors of each method, all on the same rows, in Frobenius norm, of "components" or of a "covariance"."""
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
    return {method: np.array(values) for method, values in errors.items()}


@attrs.frozen(kw_only=True)
class Panel:
    """One panel of a published figure.

    Args:
        title: what it shows.
        axis: what varies, as the axis is labeled.
        what: "components" or "covariance".
        cases: its points. What the paper prints is as printed; the values of its axes are not known, and are ours.
        boxes: whether the paper draws box plots; means and deviations otherwise.
    """

    title: str
    axis: str
    what: str
    cases: tuple[Case, ...]
    boxes: bool = False


def _over(**values: Any) -> tuple[Case, ...]:
    """Cases that differ in the one argument that is a list."""
    (name,) = [name for name, value in values.items() if isinstance(value, list)]
    return tuple(Case(**{**values, name: each}) for each in values[name])


NUMBERS = [1000, 3000, 10_000, 30_000]

FIGURES: dict[str, tuple[Panel, ...]] = {
    "004-1": (
        Panel(title="r = 1", axis="n", what="components", cases=_over(n=NUMBERS, p=50, r=1, spike=10.0)),
        Panel(
            title="n = 10,000",
            axis="r",
            what="components",
            cases=_over(n=10_000, p=50, r=[1, 2, 3, 5], spike=10.0),
            boxes=True,
        ),
    ),
    "004-2": (
        Panel(
            title="λ = 10",
            axis="ε",
            what="components",
            cases=_over(n=10_000, p=50, r=3, spike=10.0, epsilon=[0.2, 0.5, 1.0, 2.0]),
        ),
        Panel(
            title="ε = 1",
            axis="λ",
            what="components",
            cases=_over(n=10_000, p=50, r=3, spike=[3.0, 10.0, 50.0, 200.0]),
        ),
    ),
    "004-3": (
        Panel(
            title="p = 50, n = 30, r = 3",
            axis="λ",
            what="components",
            cases=_over(n=30, p=50, r=3, spike=[1e3, 1e4, 1e5, 1e6]),
            boxes=True,
        ),
    ),
    "004-5": tuple(
        Panel(title=f"p = {p}", axis="n", what="covariance", cases=_over(n=NUMBERS, p=p, r=3, spike=10.0))
        for p in (50, 100)
    ),
    "004-6": tuple(
        Panel(title=f"p = {p}", axis="λ", what="covariance", cases=_over(n=10_000, p=p, r=3, spike=[5.0, 20.0, 100.0]))
        for p in (50, 100)
    ),
}
"""The panels of each published figure on made-up rows."""


COUNTED = (
    *(("components", Case(n=10_000, p=50, r=r, spike=10.0)) for r in (1, 3, 5)),
    *(("covariance", Case(n=n, p=p, r=3, spike=10.0)) for n in (1000, 3000) for p in (50, 100)),
)
"""Points of Figures 1 and 5 at which the noise of DP-Gauss is compared under both relations."""


def varying(cases: Sequence[Case]) -> list[Any]:
    """The values of what differs between the points of a figure."""
    fields = [field.name for field in attrs.fields(Case)]
    (name,) = [field for field in fields if len({getattr(case, field) for case in cases}) > 1]
    return [getattr(case, name) for case in cases]
