"""The rivals of the benchmarks: they spend what they say, their sensitivities hold, and tables of errors are made.

Statistical assertions fix their seeds and allow for six standard errors: with their number, false alarms below 1e-6.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest
from rich.console import Console

import dpframe as dp
from benchmarks import tables
from benchmarks.progress import progress
from benchmarks.real_tables import ACS, ADULT, BUNDLED, KDD, RealTable, mapped, missing, shared
from benchmarks.rivals import AMIN, COMPONENTS, COVARIANCES, REGRESSIONS
from benchmarks.rivals.noise import Draw, Neighbors, Noise, Norm, Terms
from benchmarks.scores import COVARIANCE, EIGENVALUES, REGRESSION, SUBSPACES, TASKS, Truth
from dpframe.lattice import FloatArray
from dpframe.losses import PrivacyLoss

DIM, K, TARGET = 6, 2, 4
RELATIONS: tuple[Neighbors, ...] = ("add-remove", "replace")

Run = Callable[[FloatArray, Terms, Noise], FloatArray]


def runs() -> dict[str, Run]:
    """Every rival, as a function whose answer is one array."""
    found: dict[str, Run] = {}
    for name, covariance in COVARIANCES.items():
        found[name] = lambda rows, terms, noise, f=covariance: f(rows, terms, noise).covariance  # type: ignore[misc]
    for name, components in COMPONENTS.items():
        found[f"{name}, k = {K}"] = lambda rows, terms, noise, f=components: f(rows, K, terms, noise)  # type: ignore[misc]
    for name, slopes in REGRESSIONS.items():
        found[name] = lambda rows, terms, noise, f=slopes: f(rows, TARGET, terms, noise)  # type: ignore[misc]
    return found


RUNS = runs()
each_rival = pytest.mark.parametrize("rival", RUNS)
each_relation = pytest.mark.parametrize("neighbors", RELATIONS)


def made_up(seed: int, count: int = 40, dim: int = DIM) -> FloatArray:
    """Rows about a point off the middle, some of them at corners of the box."""
    rng = np.random.default_rng(seed)
    rows = np.clip(0.5 + 0.3 * rng.standard_normal((count, dim)) @ rng.standard_normal((dim, dim)), -1.0, 1.0)
    corners = rng.random(count) < 0.3
    rows[corners] = rng.choice([-1.0, 1.0], (int(corners.sum()), dim))
    return np.asarray(rows)


def terms_of(neighbors: Neighbors, epsilon: float = 1.0) -> Terms:
    return Terms(budget=dp.Budget(epsilon=epsilon, delta=1e-6), neighbors=neighbors)


@attrs.define
class Replay(Noise):
    """Answers as an earlier run did, while it reads other data: what a later draw depends on is then the same."""

    earlier: list[Draw] = attrs.field(factory=list)
    removed: int | None = None

    def released(
        self, statistic: FloatArray, sensitivity: float, norm: Norm, loss: PrivacyLoss, draw: Callable[[], FloatArray]
    ) -> FloatArray:
        answer = self.earlier[len(self.draws)].answer
        self.draws.append(
            Draw(statistic=np.array(statistic), sensitivity=sensitivity, norm=norm, loss=loss, answer=answer)
        )
        return answer

    def order(self, count: int) -> list[int]:
        """The order that is coupled with that of the earlier run, which had the removed row too."""
        if self.removed is None:
            return super().order(count)
        order = super().order(count + 1)
        place = order.index(self.removed)
        partner = place ^ 1
        if len(order) % 2 and partner < len(order):
            order[place] = order.pop()  # the row that was left out takes its place
        elif partner < len(order):
            order.append(order[partner])  # its partner is left out
            del order[min(place, partner) : max(place, partner) + 1]
        else:
            order.pop()
        return [index - (index > self.removed) for index in order]


def distance(one: Draw, other: Draw) -> float:
    """How far apart the statistics are, in the norm that the draw names."""
    difference = np.asarray(one.statistic - other.statistic)
    if one.norm == "l2":
        return float(np.linalg.norm(difference))
    if one.norm == "l1":
        return float(np.abs(difference).sum())
    if one.norm == "spread":
        values = np.linalg.eigvalsh(difference)
        return float(values[-1] - values[0])
    if one.norm == "each, one way":
        assert (difference >= -1e-9).all() or (difference <= 1e-9).all()
    return float(np.abs(difference).max())


def excesses(run: Run, terms: Terms, trials: range) -> list[float]:
    """Over random neighbors, how far each statistic moves relative to its sensitivity."""
    found = []
    for trial in trials:
        rng = np.random.default_rng(trial)
        rows = made_up(trial, count=40 + trial % 2)
        at = int(rng.integers(len(rows)))
        first = Noise(np.random.default_rng(trial))
        run(rows, terms, first)
        if terms.replace:
            other, removed = rows.copy(), None
            other[at] = -rows[at] if trial % 3 == 0 else rng.choice([-1.0, 1.0], DIM)
        else:
            other, removed = np.delete(rows, at, axis=0), at
        second = Replay(np.random.default_rng(trial), earlier=first.draws, removed=removed)
        run(other, terms, second)
        for one, two in zip(first.draws, second.draws, strict=True):
            assert (one.sensitivity, one.norm, one.loss) == (two.sensitivity, two.norm, two.loss)
            found.append(distance(one, two) / one.sensitivity)
    return found


@each_rival
@each_relation
def test_statistics_of_neighbors_are_within_their_sensitivity(rival: str, neighbors: Neighbors) -> None:
    assert max(excesses(RUNS[rival], terms_of(neighbors), range(30))) <= 1 + 1e-9


@each_rival
@each_relation
def test_sensitivities_that_are_too_small_are_found(
    rival: str, neighbors: Neighbors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are attained to within a third by some neighbors."""
    released = Noise.released

    def smaller(self: Noise, statistic: FloatArray, sensitivity: float, *rest: object) -> FloatArray:
        return released(self, statistic, 0.66 * sensitivity, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Noise, "released", smaller)
    replayed = Replay.released
    monkeypatch.setattr(
        Replay,
        "released",
        lambda self, statistic, sensitivity, *rest: replayed(self, statistic, 0.66 * sensitivity, *rest),
    )
    assert max(excesses(RUNS[rival], terms_of(neighbors), range(30))) > 1


@each_rival
@each_relation
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_draws_of_a_run_compose_to_the_budget(rival: str, neighbors: Neighbors, epsilon: float) -> None:
    noise = Noise(np.random.default_rng(1))
    RUNS[rival](made_up(1), terms_of(neighbors, epsilon), noise)
    losses = [draw.loss for draw in noise.draws]
    if rival.startswith(AMIN):
        assert epsilon == pytest.approx(dp.accountant("pure").epsilon(losses, delta=0.0), rel=1e-9)
    else:
        assert epsilon == pytest.approx(dp.accountant().epsilon(losses, delta=1e-6), rel=1e-6)


@each_rival
@each_relation
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_answers_are_finite_and_have_their_shape(rival: str, neighbors: Neighbors, epsilon: float) -> None:
    answer = RUNS[rival](made_up(2, count=500), terms_of(neighbors, epsilon), Noise(np.random.default_rng(2)))
    assert np.isfinite(answer).all()
    if rival in COVARIANCES:
        assert (DIM, DIM) == answer.shape
        np.testing.assert_allclose(answer, answer.T, atol=1e-9 * np.abs(answer).max())
    elif rival in REGRESSIONS:
        assert (DIM - 1,) == answer.shape
    else:
        np.testing.assert_allclose(np.eye(K), answer.T @ answer, atol=1e-12)


@each_rival
@each_relation
def test_with_a_large_budget_answers_are_nearly_right(rival: str, neighbors: Neighbors) -> None:
    """For normal rows about a point off the middle, for which all methods, and the signs of pairs, aim at one thing."""
    rng = np.random.default_rng(4)
    deviations = np.array([0.25, 0.2, 0.08, 0.07, 0.06, 0.05])
    basis = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    rows = np.clip(0.1 + rng.standard_normal((20_000, DIM)) * deviations @ basis.T, -1.0, 1.0)
    truth = Truth(covariance=np.cov(rows.T, bias=True), target=TARGET)
    answer = RUNS[rival](rows, terms_of(neighbors, 100.0), Noise(np.random.default_rng(4)))
    if rival in COVARIANCES:
        limit = 0.3 if rival in {AMIN, "CoinPress"} else 0.03  # the latter clips one row in ten
        assert truth.of_covariance(answer, np.zeros((DIM, DIM)))[COVARIANCE] < limit
    elif rival in REGRESSIONS:
        assert truth.of_slopes(answer) < 0.03
    else:
        assert truth.of_components(answer) < 0.15


# -- noise -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["gaussian", "symmetric", "triangular", "laplace"])
def test_noise_has_its_scale(law: str) -> None:
    """Mean squares of normals and mean absolute values of Laplace variables; a scale 5 % off is rejected."""
    size, scale = 400, 3.0 / 0.7
    noisy = getattr(Noise(np.random.default_rng(5)), law)(np.zeros((size, size)), 3.0, 0.7)
    off = noisy[np.triu_indices(size, 1)]
    if law == "laplace":
        found, error = float(np.abs(noisy).mean()) / scale, 1 / size
    else:
        expected = scale**2 / 2 if law == "symmetric" else scale**2
        found, error = math.sqrt(float(np.mean(off**2)) / expected), 1 / math.sqrt(2 * len(off))
    assert abs(found - 1) < 6 * error < 0.05 - 6 * error
    if law == "symmetric":
        diagonal = float(np.mean(np.diag(noisy) ** 2)) / scale**2
        assert 1 == pytest.approx(diagonal, abs=6 * math.sqrt(2 / size))


@pytest.mark.parametrize(("one_way", "slower"), [(True, 1.0), (False, 2.0)])
def test_the_sparse_vector_technique_has_its_law(one_way: bool, slower: float) -> None:
    """The first of two queries is above with P(ν − ρ ≥ −q), for Laplace ρ and ν of scales b and slower·b."""
    query, epsilon, draws = -2.0, 1.0, 20_000
    scale = 2.0 / epsilon
    noise = Noise(np.random.default_rng(6))
    count = sum(noise.first_above(np.array([query, 100.0]), 1.0, epsilon, one_way=one_way) == 0 for _ in range(draws))
    away = -query / scale
    if one_way:
        expected = math.exp(-away) * (2 + away) / 4
    else:  # for scales 1 and s: (s² e^{−x/s} − e^{−x}) / (2(s² − 1))
        expected = (slower**2 * math.exp(-away / slower) - math.exp(-away)) / (2 * (slower**2 - 1))
    assert expected == pytest.approx(count / draws, abs=6 * math.sqrt(expected * (1 - expected) / draws))


# -- tables and scores -----------------------------------------------------------------------------------------------


def test_cells_are_clipped_to_public_ranges() -> None:
    cells = np.array([[0.0, 7.0], [5.0, math.nan]])
    assert [[-1.0, 1.0], [0.0, 0.0]] == mapped(cells, [(0, 10), (0, 2)]).tolist()


def test_tables_that_are_not_there_are_named(tmp_path: Path) -> None:
    assert (["adult", "acs", "kdd", "mnist"], []) == (missing(tmp_path), list(shared(tmp_path)))
    random = np.random.default_rng(9)
    np.savez(tmp_path / "adult.npz", X=random.integers(0, 90, (30, 6)), y=random.integers(0, 2, 30))
    (table,) = shared(tmp_path)
    assert ("adult", (30, 7), ["acs", "kdd", "mnist"]) == (table.name, table.rows.shape, missing(tmp_path))
    assert np.abs(table.rows).max() <= 1


def test_every_column_has_a_range() -> None:
    assert (7, 23, 38) == (len(ADULT), len(ACS), len(KDD))
    expected = {"diabetes": 11, "wine": 13, "breast_cancer": 31, "digits": 64, "iris": 4}
    assert expected == {name: len(ranges) for name, (ranges, _) in BUNDLED.items()}
    for ranges in (ADULT, ACS, KDD, *(ranges for ranges, _ in BUNDLED.values())):
        assert all(low < high for low, high in ranges)


def test_the_truth_has_no_error_and_a_multiple_of_it_a_known_one() -> None:
    truth = Truth(covariance=np.cov(made_up(7, 500).T, bias=True), target=TARGET)
    none = np.zeros((DIM, DIM))
    assert all(error < 1e-9 for error in truth.of_covariance(truth.covariance, none).values())
    tripled = truth.of_covariance(3 * truth.covariance, none)
    assert 2 == pytest.approx(tripled[COVARIANCE])
    assert 2 == pytest.approx(tripled[EIGENVALUES])
    assert max(tripled[task] for task in (*SUBSPACES.values(), REGRESSION)) < 1e-9
    smallest = truth.vectors[:, :1]
    assert math.sqrt(2) == pytest.approx(truth.of_components(smallest))
    variance = truth.covariance[TARGET, TARGET]
    others = np.delete(np.delete(truth.covariance, TARGET, 0), TARGET, 1)
    products = np.delete(truth.covariance[TARGET], TARGET)
    explained = float(products @ np.linalg.solve(others, products)) / variance
    assert explained == pytest.approx(truth.of_slopes(np.zeros(DIM - 1)))


def test_a_made_up_table_gives_a_line_for_every_method_and_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "EPSILONS", (1.0,))
    monkeypatch.setattr(tables, "LOST", 0.0)  # every task counts as lost
    monkeypatch.setattr(tables, "MORE_SEEDS", 1)
    table = RealTable(name="made up", rows=made_up(8, 300), target=TARGET, shared=True)
    with progress("tables", Console(file=io.StringIO())) as bar:
        cells = list(tables._cells(table, range(1, 3), bar))
    assert ["made up, ε = 1, add-remove", "made up, ε = 1, replace"] == [cell.name for cell in cells]
    rows = [row for task in TASKS for row in tables._rows(task, cells)]
    whats = {row.what for row in rows}
    assert {f"{task}: {name}" for task in TASKS for name in (*tables.PLANS, tables.BEST, tables.LIMIT)} <= whats
    assert {f"regression: {name}" for name in REGRESSIONS} | {f"{COVARIANCE}: {name}" for name in COVARIANCES} <= whats
    assert {f"{task}: {name}" for task in SUBSPACES.values() for name in COMPONENTS} <= whats
    for row in rows:
        won, lost = row.figures["won"], row.figures["lost"]
        assert isinstance(won, float)
        assert isinstance(lost, float)
        assert won + lost <= len(cells)
        if row.what.endswith(f": {tables.PLAIN}"):
            assert (1.0, 1.0) == (row.figures["ratio"], row.figures["worst"])
    again = [row for cell in cells for row in tables._again(cell)]
    assert [f"{task}: adaptive, {cell.name}, again" for cell in cells for task in TASKS] == [row.what for row in again]
    first = cells[0].again
    assert again[0].figures["ratio"] == first[tables.ADAPTIVE][COVARIANCE] / first[tables.PLAIN][COVARIANCE]
    details = list(tables._details(cells))
    assert len(cells) * len(cells[0].medians) == len(details)
