"""Complex rows: exact Hermitian moments, their sensitivities, what is refused, and what is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import registry, sensitivity
from dpframe.lattice import RADIUS, inner_radius
from dpframe.reading.mapper import mapper
from dpframe.reading.scratch import Scratch
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source
from tests.support.compiled import NASTY, reference_integers
from tests.support.neighbors import moved, neighbor
from tests.support.shipped import DRAWN_ELSEWHERE, MODEL_BASED, NEED_COLUMNS, PARAMETERS

Complex = NDArray[np.complex128]
RELATIONS = ("add-remove", "replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DIM = 5
R = float(RADIUS)


def promise(dim: int = DIM, relation: str = "add-remove", norm: float = 1.0, **others: Any) -> dp.Rows:
    return dp.Rows(norm=norm, neighbors=relation, dim=dim, complex=True, **others)


def complex_rows(count: int, dim: int = DIM, seed: int = 0, size: float = 1.0) -> Complex:
    random = np.random.default_rng(seed)
    found: Complex = random.standard_normal((count, 2 * dim)).view(np.complex128) * (size / np.sqrt(2 * dim))
    return found


def from_parts(real: NDArray[Any], imaginary: NDArray[Any]) -> Complex:
    """A product with i would turn an infinite imaginary part into a real part that is not a number."""
    found: Complex = np.empty(real.shape, dtype=np.complex128)
    found.real, found.imag = real, imaginary
    return found


def nasty_rows(count: int, dim: int = DIM, seed: int = 1) -> Complex:
    """Rows with nasty cells in their real and imaginary parts, and some of all lengths without any."""
    random = np.random.default_rng(seed)
    parts = complex_rows(count, dim, seed).view(np.float64) * random.choice([0.3, 1.0, 3.0, 1e3, 1e151], (count, 1))
    chosen = random.random(parts.shape) < np.where(np.arange(count) % 3, 0.05, 0.0)[:, None]
    parts[chosen] = random.choice(NASTY, chosen.sum())
    return from_parts(parts[:, ::2], parts[:, 1::2])


def reference_moment(values: Complex, norm: float) -> list[list[list[int]]]:
    """Real and imaginary part of Σ z zᴴ in Python's integers, one row after the other."""
    dim = values.shape[1]
    real = [[0] * dim for _ in range(dim)]
    imaginary = [[0] * dim for _ in range(dim)]
    for row in values:
        both = np.column_stack([row.real, row.imag]).reshape(1, -1)
        integers = [int(entry) for entry in reference_integers(both, norm)[0]]
        a, b = integers[::2], integers[1::2]
        for i in range(dim):
            for j in range(dim):
                real[i][j] += a[i] * a[j] + b[i] * b[j]
                imaginary[i][j] += b[i] * a[j] - a[i] * b[j]
    return [real, imaginary]


def moment(data: Any, rows: dp.Rows) -> list[list[list[int]]]:
    found: list[list[list[int]]] = accumulate(open_source(data, rows).blocks(), [dp.Moment()], rows)[dp.Moment()][
        "moment"
    ].tolist()
    return found


# -- exact integers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, DIM, 9])
def test_moments_are_those_of_the_reference_whatever_the_cells(dim: int) -> None:
    for norm in (1.0, 0.7, 1e-140, 1e140):
        values = nasty_rows(300, dim)
        if norm not in (1.0, 0.7):
            with np.errstate(all="ignore"):
                values = from_parts(values.real * norm, values.imag * norm)
        assert reference_moment(values, norm) == moment(values, promise(dim, norm=norm))


def test_chunks_order_and_layout_change_no_bit() -> None:
    values, rows = nasty_rows(3000), promise()
    expected = moment(values, rows)
    for size in (1, 13, 256):
        subset = values[:300] if size == 1 else values
        whole = moment(subset, rows) if size == 1 else expected
        assert whole == moment([subset[i : i + size] for i in range(0, len(subset), size)], rows)
    assert expected == moment(np.asfortranarray(values), rows)
    assert expected == moment(values[::-1], rows)
    assert expected == moment(values.astype(">c16"), rows)
    spread = np.zeros((2 * len(values), 2 * DIM), dtype=np.complex128)
    spread[::2, ::2] = values
    assert expected == moment(spread[::2, ::2], rows)
    assert expected == moment(iter([values[:1000], values[1000:]]), rows)


@pytest.mark.parametrize("dtype", [np.complex64, np.clongdouble])
def test_other_precisions_are_rounded_as_their_numbers(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        values = nasty_rows(200).astype(dtype)
        assert moment(values.astype(np.complex128), promise()) == moment(values, promise())


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_not_finite_in_either_part_loses_its_row_and_no_other(part: str, bad: float) -> None:
    values = complex_rows(50)
    expected = moment(np.delete(values, [0, 20], axis=0), promise())
    getattr(values, part)[[0, 20], [0, DIM - 1]] = bad
    assert expected == moment(values, promise())


def test_a_statistic_of_others_counts_and_adds_up_both_parts() -> None:
    values = complex_rows(50)
    values[0] = complex(1.0, np.nan)
    (chunk,) = mapper(promise(), Scratch())(values)
    assert chunk.count() == 49
    assert np.array_equal(chunk.total(), chunk.integers().sum(axis=0))
    assert chunk.total().shape == (2 * DIM,)


def test_a_memory_map_and_a_dask_array_are_read_alike(tmp_path: Path) -> None:
    values, rows = nasty_rows(700), promise()
    expected = moment(values, rows)
    np.save(tmp_path / "rows.npy", values)
    assert expected == moment(np.load(tmp_path / "rows.npy", mmap_mode="r"), rows)
    dask = pytest.importorskip("dask.array", reason="Dask is not installed")
    partitions = open_source(dask.from_array(values, chunks=(100, 3)), rows)
    assert partitions.partitions is not None
    found = partitions.partitions.accumulate([dp.Moment()], rows, partitions.meter)
    assert expected == found[dp.Moment()]["moment"].tolist()


def test_complex_rows_are_real_ones_of_twice_the_coordinates() -> None:
    assert 2 * DIM == promise().real_dim == promise().width
    assert promise().as_real == dp.Rows(norm=1.0, neighbors="add-remove", dim=2 * DIM)
    assert promise().step == promise().as_real.step  # lengths are rounded on the lattice of 2d real coordinates


# -- sensitivities -----------------------------------------------------------------------------------------------------

HARD = st.sampled_from([0.0, 0.5, -0.5, 1.0, R, -R, R + 1, -R - 1, 1e7, -1e7, 1e151, 5e-324, np.nan, -np.inf])
PARTS = hnp.arrays(np.float64, (6, 6), elements=st.one_of(HARD, st.floats(-2 * R, 2 * R)))


def lattice_promise(dim: int, relation: str, contributions: int) -> dp.Rows:
    """Rows whose lattice step is one."""
    return promise(dim, relation, norm=float(inner_radius(2 * dim)), contributions=contributions)


@settings(max_examples=150, deadline=None)
@given(
    real=PARTS, imaginary=PARTS, at=st.integers(0, 3), relation=st.sampled_from(RELATIONS), m=st.sampled_from([1, 3])
)
def test_neighbors_never_move_a_moment_farther_than_declared(
    real: NDArray[Any], imaginary: NDArray[Any], at: int, relation: str, m: int
) -> None:
    values = from_parts(real, imaginary)
    for dim in (1, 3):
        one, other = values[:, :dim], neighbor(values[:, :dim], relation, values[:m, 3 : 3 + dim], at)
        rows = lattice_promise(dim, relation, m)
        ((_, squared),) = moved(dp.Moment(), rows, one, other).values()  # both parts, each entry once
        assert squared <= dp.Moment().sensitivity(rows)["moment"].l2_squared
        first, second = (
            dp.hermitian.as_complex(dp.Moment().partial(dp.Chunk(rows, v))["moment"]) for v in (one, other)
        )
        eigenvalues = np.linalg.eigvalsh(first - second)
        rounding = 1e-12 * (np.linalg.norm(first) + RADIUS**2)
        assert np.abs(eigenvalues).sum() <= sensitivity.moment_trace_norm(rows) + rounding
        apart = np.abs(np.linalg.eigvalsh(first) - np.linalg.eigvalsh(second)).sum()
        assert apart <= (sensitivity.eigenvalues(rows).l1 or 0) + rounding
        spread = max(eigenvalues.max(), 0.0) - min(eigenvalues.min(), 0.0) if dim > 1 else np.abs(eigenvalues).max()
        assert spread <= sensitivity.score(rows) + rounding


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("dim", [1, 4])
def test_the_declared_sensitivity_is_reached_along_the_imaginary_axis(dim: int, relation: str, m: int) -> None:
    """Rows (R/√2)(1, i) and (R/√2)(1, −i) are orthogonal in C², but their products with each other's phases are not."""
    rows, half = lattice_promise(dim, relation, m), 2.0**15
    first, second = np.zeros((2, m, dim), dtype=np.complex128)
    if dim == 1:
        first[:, 0] = R * 1j
    else:  # |1|² + |1|² + |1|² + |1|² in units of R/2
        first[:] = half * np.array([1, 1j, -1, -1j])
        second[:] = half * np.array([1, -1j, -1, 1j])
        assert 0.0 == np.vdot(first[0], second[0])
    other = neighbor(first, relation, second, 0)
    ((_, squared),) = moved(dp.Moment(), rows, first, other).values()
    declared = dp.Moment().sensitivity(rows)["moment"].l2_squared
    assert declared == squared
    assert declared == (2 if relation == "replace" and dim > 1 else 1) * (m * RADIUS**2) ** 2


# -- the price and what is told ----------------------------------------------------------------------------------------

TAKEN: dict[str, dict[str, Any]] = {
    name: PARAMETERS[name]
    for name in ("gaussian", "laplace-eigenvalues", "orbit", "orbit-low-rank", "private-quantile")
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", TAKEN)
def test_the_stated_epsilon_is_what_the_accountant_computes(name: str, relation: str, tmp_path: Path) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, complex=True, contributions=2)
    plan = dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("value", name, **TAKEN[name])])
    losses: list[dp.PrivacyLoss] = []
    for step, action in plan.releases:
        loss = action.loss(rows, plan.pricing.levels[step.name])
        losses += loss if isinstance(loss, tuple) else [loss]
    computed = dp.accountant("auto").epsilon(losses, BUDGET.delta)
    assert (1 - 1e-9) * BUDGET.epsilon <= computed <= BUDGET.epsilon
    result = plan.run(complex_rows(60, 3))
    plan.dump(tmp_path / "plan.toml")
    again = dp.Plan.load(tmp_path / "plan.toml")
    assert again == plan
    assert again.content_hash == plan.content_hash
    result.to_json(tmp_path / "result.json")
    loaded = dp.Result.load(tmp_path / "result.json")
    figures = [plan.spent, result.spent, again.spent, loaded.spent, plan.explain(dim=3).statement.spent]
    assert [computed] * 5 == [each.epsilon for each in figures]
    assert np.array_equal(result["value"], loaded["value"])
    assert result["value"].dtype == loaded["value"].dtype


def test_every_other_mechanism_and_recipe_is_refused_before_the_charge() -> None:
    others = set(PARAMETERS) - set(TAKEN)
    assert DRAWN_ELSEWHERE | set(PARAMETERS) == {cls.name for cls in registry.classes("mechanism")}
    for name in others:
        budget = dp.Budget(epsilon=1.0, delta=1e-6)
        models = [dp.model("spiked-covariance")] if name in MODEL_BASED else []
        words = "public ranges" if name in NEED_COLUMNS else r"is not defined for complex rows \(complex=True\)"
        rows = dp.Rows(norm=1.0, neighbors="replace", complex=True)
        with pytest.raises(dp.PlanError, match=words):
            dp.Plan(rows=rows, budget=budget, steps=[dp.release("v", name, **PARAMETERS[name])], accept=models)


def test_a_mechanism_of_others_is_refused_unless_it_says_that_it_takes_complex_rows() -> None:
    assert not dp.Mechanism.takes_complex
    assert not dp.Statistic.takes_complex


def plan(*steps: dp.Step, **changes: Any) -> dp.Plan:
    rows = dp.Rows(**{"norm": 1.0, "neighbors": "add-remove", "complex": True, **changes})
    return dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("m", "gaussian"), *steps])


COLUMN = dp.Column("a", 0.0, 1.0)
SPECTRUM = dp.Scenario(dim=3, spectrum=[300.0, 200.0, 100.0])
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "columns": (lambda: plan(norm=None, columns=[COLUMN]), "it takes no columns=. Leave columns= out, or declare real"),
    "a constant": (lambda: plan(center=True), "it takes no center=. Leave center= out"),
    "a center of a step": (lambda: plan(dp.release("n", "gaussian", rows={"center": True})), "it takes no center="),
    "a point": (lambda: plan(about=[0.0]), "needs public ranges"),
    "people": (lambda: plan(person="id"), "names a column of a table"),
    "no norm": (lambda: plan(norm=None), "needs a public bound"),
    "a number": (lambda: plan(complex=1), "Rows.complex must be True or False; got 1"),
    "too many": (lambda: plan(dim=2**19 + 1), "Rows.dim must be at most 524288"),
    "noise of a paper": (lambda: plan(dp.release("n", "gaussian", noise="paper")), "noise='paper' is for real rows"),
    "a covariance": (lambda: plan(dp.derive("c", "covariance", of="m")), "needs an augmented moment"),
    "a correlation": (lambda: plan(dp.derive("c", "correlation", of="m")), "needs a covariance matrix"),
    "units": (lambda: plan(dp.derive("c", "to-units", of="m")), "gives a Hermitian matrix"),
    "simulations": (lambda: plan().explain(scenario=SPECTRUM, simulations=200), "simulations are of real rows"),
    "a target": (lambda: plan().require(frobenius=5.0, scenario=SPECTRUM), "simulations are of real rows"),
    "columns in forecasts": (lambda: plan().explain(rows=100), "forecasts for columns need public ranges"),
    "real rows": (lambda: plan().run(np.ones((3, 3))), "holds real numbers, but the promise is complex=True"),
    "integers": (lambda: plan().run(np.ones((3, 3), dtype=int)), "holds real numbers"),
    "a table": (lambda: plan().run({"a": np.ones(3, dtype=complex)}), "are read from NumPy arrays, Dask arrays"),
    "complex for real": (
        lambda: plan(complex=False).run(np.ones((3, 3), dtype=complex)),
        r"holds complex numbers; rows are real: dp.Rows\(..., complex=True\) is for complex ones",
    ),
    "intervals": (lambda: plan().run(complex_rows(9)).interval("m"), "intervals are of real numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_defined_is_refused_in_words(name: str) -> None:
    act, words = REFUSED[name]
    with pytest.raises((dp.PlanError, dp.DataError), match=words):
        act()


def test_a_refused_source_is_not_charged(tmp_path: Path) -> None:
    ledger = dp.Ledger.create(tmp_path / "l.db")
    ledger.add("d", budget=dp.Budget(epsilon=3.0, delta=1e-5), neighbors="add-remove")
    for data in (np.ones((4, 3)), {"a": np.ones(3)}):
        with pytest.raises(dp.DataError):
            plan().run(data, ledger=ledger, dataset="d")
    assert 0 == ledger.dataset("d").runs
    plan().run(complex_rows(5, 3), ledger=ledger, dataset="d")
    assert 1 == ledger.dataset("d").runs


# -- forms that hashes rest on, and what users read --------------------------------------------------------------------


def test_forms_of_real_promises_are_as_they_were() -> None:
    real = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)
    said = "neighbors='add-remove', norm=1.0, columns=None, center=False, contributions=1, person=None, dim=3"
    assert f"Rows({said})" == repr(real)
    assert f"Rows({said}, complex=True)" == repr(dp.Rows(norm=1.0, neighbors="add-remove", dim=3, complex=True))
    assert real != promise(3)
    assert "complex" not in plan(complex=False).dumps()
    assert "complex = true" in plan().dumps()
    assert plan().content_hash != plan(complex=False).content_hash
    hashed = "f24bee6841046a2f98ba2489b980e1a9cf051ec4c2970a290a726bd531f7e8d3"  # before there were complex rows
    assert hashed == plan(complex=False).content_hash


def test_reports_files_and_displays_show_complex_results(tmp_path: Path) -> None:
    wanted = plan(
        dp.derive("components", "top-subspace", of="m", k=2),
        dp.derive("values", "eigenvalues", of="m", k=2),
        dp.derive("part", "rank-k", of="m", k=2),
        dp.derive("positive", "psd", of="m"),
        dp.derive("joined", "with-spectrum", of="components", spectrum="values"),
        dp.derive("shares", "explained-variance", of="m", components="components"),
        dp.derive("real", "real-part", of="m"),
    )
    result = wanted.run(complex_rows(5000, 4) * np.array([1.0, 0.7, 0.3, 0.1]), insecure_seed=3)
    assert "complex numbers; longer rows scaled down to length 1" in str(result)
    assert "intervals are of real numbers, and it is complex" in " ".join(str(result).split())
    result.save(tmp_path / "out")
    loaded = dp.Result.load(tmp_path / "out" / "result.json")
    for name in result:
        assert np.array_equal(result[name], loaded[name]), name
        assert result.record(name).kind is loaded.record(name).kind
    kinds = {name: result.record(name).kind.__name__ for name in result}
    assert {"HermitianMatrix"} == {kinds[name] for name in ("m", "part", "positive", "joined")}
    assert ("ComplexSubspace", "SymmetricMatrix") == (kinds["components"], kinds["real"])
    head = (tmp_path / "out" / "tables" / "m.csv").read_text().splitlines()[0]
    assert re.search("real", head)
    assert re.search("imag", head)
    assert json.loads((tmp_path / "out" / "result.json").read_text())["statement"]["rows"]
    assert "<html" in result.to_html()
    assert set(result) == set(loaded)


def test_a_released_radius_is_that_of_complex_lengths() -> None:
    values = complex_rows(4000, 3, size=2.0)
    radius = dp.release("radius", "private-quantile", quantile=0.9, high=10.0, level=5.0)
    rows = dp.Rows(norm=dp.ref("radius"), neighbors="replace", complex=True)
    steps = [radius, dp.release("m", "gaussian", level=20.0)]
    result = dp.Plan(rows=rows, budget=dp.Budget(epsilon=400.0, delta=1e-6), steps=steps).run(values, insecure_seed=1)
    lengths = np.linalg.norm(values, axis=1)
    assert float(result["radius"]) == pytest.approx(np.quantile(lengths, 0.9), rel=0.05)
    assert float(np.trace(result["m"]).real) == pytest.approx(
        float((np.minimum(lengths, float(result["radius"])) ** 2).sum()), rel=0.05
    )


def test_a_moment_that_cannot_be_told_from_zero_is_warned_of() -> None:
    wanted = plan(dim=3)
    (warning,) = wanted.run(np.zeros((5, 3), dtype=complex), insecure_seed=1).warnings
    assert "the sum of all squares" in warning
    assert () == wanted.run(complex_rows(5000, 3), insecure_seed=1).warnings


def test_the_steward_sees_complex_lengths() -> None:
    values = complex_rows(100, 3)
    values[3, 1] = np.nan
    report = dp.check(values, dp.Rows(norm=0.5, neighbors="replace", complex=True))
    lengths = np.linalg.norm(np.delete(values, 3, axis=0), axis=1)
    assert (100, 1) == (report.rows, report.dropped)
    assert int((lengths > 0.5).sum()) == report.shortened
    assert report.norms[1.0] == pytest.approx(lengths.max())
