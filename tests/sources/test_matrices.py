"""A matrix as data: checked by shape and type before the charge; and a covariance that is passed for rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.plan.file import loads

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
STEPS = [dp.release("matrix", "gaussian")]


def plan(relation: str = "replace", **promise: Any) -> dp.Plan:
    rows = dp.Matrix(neighbors=relation, **{"frobenius": 1.0, **promise})
    return dp.Plan(rows=rows, budget=BUDGET, steps=STEPS)


def of_rows(relation: str) -> dp.Plan:
    return dp.Plan(rows=dp.Rows(norm=1.0, neighbors=relation), budget=BUDGET, steps=STEPS)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], "a list is not a matrix"),
        ("matrix.npy", "a str is not a matrix"),
        (iter([np.eye(2)]), "is not a matrix"),
        ({"a": np.ones(2), "b": np.ones(2)}, "a dict is not a matrix"),
        (np.zeros(2, dtype=[("a", "f8"), ("b", "f8")]), "is not a matrix"),
        (np.ma.masked_array(np.eye(2)), "masked"),
        (np.eye(2) * 1j, "complex numbers"),
        (np.eye(2, dtype=bool), "holds bool"),
        (np.eye(2, dtype=np.longdouble), "at most 64"),
        (np.array([["a", "b"], ["c", "d"]]), "the matrix holds"),
        (np.eye(2).astype(object), "the matrix holds"),
        (np.zeros((7919, 2)), "no square matrix"),
        (np.zeros((2, 2, 2)), "no square matrix"),
        (np.zeros((0, 0)), "no square matrix"),
        (np.zeros(4), "no square matrix"),
    ],
)
def test_what_is_refused_before_the_charge(data: Any, words: str, tmp_path: Path) -> None:
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    ledger.add("sums", budget=BUDGET, neighbors="replace")
    with pytest.raises(dp.DataError, match=words) as caught:
        plan().run(data, ledger=ledger, dataset="sums")
    assert "7919" not in str(caught.value)
    assert ledger.dataset("sums").runs == 0


def test_a_matrix_of_another_size() -> None:
    with pytest.raises(dp.DataError, match="of 3 by 3, as the plan says"):
        plan(dim=3).run(np.eye(4))
    assert plan().run(np.eye(4), insecure_seed=1)["matrix"].shape == (4, 4)


@pytest.mark.parametrize(
    "data",
    [
        np.full((3, 3), np.nan),
        np.full((3, 3), -np.inf),
        np.full((3, 3), 1.7e308),
        np.array([[np.nan, 1e300, -1e300], [5e-324, 1.0, np.inf], [0.0, 2.0, -np.inf]]),
        np.full((3, 3), -(2**63)),
        np.full((3, 3), 2**64 - 1, dtype=np.uint64),
        np.zeros((3, 3), dtype=np.float16),
    ],
    ids=range(7),
)
@pytest.mark.parametrize("norm", [1e-140, 1.0, 1e140])
def test_nothing_that_a_matrix_holds_stops_a_run(data: Any, norm: float, recwarn: Any) -> None:
    steps = [
        dp.release("matrix", "gaussian"),
        dp.release("pure", "matrix-laplace"),
        dp.release("spectrum", "laplace-eigenvalues", k=2),
        dp.release("direction", "bingham"),
        dp.derive("components", "top-subspace", of="matrix", k=1),
        dp.derive("positive", "psd", of="pure"),
    ]
    made = dp.Plan(rows=dp.Matrix(trace_norm=norm, neighbors="add-remove"), budget=BUDGET, steps=steps)
    result = made.run(data, insecure_seed=2)
    assert len(result) == len(steps)
    assert not result.failed
    assert not recwarn.list


@pytest.mark.parametrize("complex_", [False, True])
def test_orbits_of_matrices_at_the_limit_are_drawn(complex_: bool) -> None:
    """The solver's error is above what is allowed for rows, and within what is paid for here."""
    random = np.random.default_rng(1)
    data = random.choice([-1e300, 1e300], (40, 40)) + (1j * random.choice([-1e300, 1e300], (40, 40)) if complex_ else 0)
    made = dp.Plan(
        rows=dp.Matrix(trace_norm=1.0, neighbors="replace", complex=complex_),
        budget=BUDGET,
        steps=[dp.release("estimate", "orbit", spectrum=[1.0])],
    )
    assert made.run(data, insecure_seed=1)["estimate"].shape == (40, 40)


def test_the_lower_and_the_upper_triangle_count_alike() -> None:
    values = [
        np.array([[1.0, 6.0], [2.0, 3.0]]),
        np.array([[1.0, 2.0], [6.0, 3.0]]),
        np.array([[1.0, 4.0], [4.0, 3.0]]),
    ]
    released = [plan().run(each, insecure_seed=8)["matrix"] for each in values]
    assert np.array_equal(released[0], released[1])
    assert np.array_equal(released[0], released[2])


def test_a_hermitian_matrix() -> None:
    values = np.array([[2.0, 1.0 - 3.0j], [1.0 + 3.0j, -1.0]])
    steps = [
        dp.release("matrix", "gaussian"),
        dp.release("spectrum", "laplace-eigenvalues", k=1),
        dp.release("estimate", "orbit", spectrum=[1.0]),
    ]
    rows = dp.Matrix(trace_norm=1e-6, neighbors="replace", complex=True)
    made = dp.Plan(rows=rows, budget=BUDGET, steps=steps)
    result = made.run(values, insecure_seed=3)
    assert np.abs(result["matrix"] - values).max() < 1e-4
    assert result["spectrum"][0] == pytest.approx(np.linalg.eigvalsh(values)[-1], abs=1e-3)
    top = np.linalg.eigh(values)[1][:, -1]
    assert np.abs(result["estimate"] - np.outer(top, top.conj())).max() < 1e-2
    assert "Hermitian part" in result.statement.rows
    assert loads(made.dumps()) == made
    for wrong in (values.real, values.astype(np.clongdouble)):
        with pytest.raises(dp.DataError, match="as complex=True says"):
            made.run(wrong)
    for name in ("matrix-laplace", "bingham"):
        with pytest.raises(dp.PlanError, match="not defined for complex"):
            dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("release", name)])
    told = dp.check(np.array([[np.nan, 1j * np.inf], [1.0, 2.0]]), rows)
    assert told.lost >= 2


def test_a_memory_map(tmp_path: Path) -> None:
    np.save(tmp_path / "sums.npy", np.diag([3.0, 4.0]))
    mapped = np.load(tmp_path / "sums.npy", mmap_mode="r")
    assert np.array_equal(
        plan().run(mapped, insecure_seed=1)["matrix"], plan().run(np.diag([3.0, 4.0]), insecure_seed=1)["matrix"]
    )


SHORTER = """
import os
import numpy as np
import dpframe as dp
from dpframe.sources.matrices import open_matrix

for view in (lambda mapped: mapped, lambda mapped: np.asarray(mapped)[:, :]):
    np.save("sums.npy", np.zeros((1000, 1000)))
    data = view(np.load("sums.npy", mmap_mode="r"))
    os.truncate("sums.npy", 5_000)
    try:
        open_matrix(data, dp.Matrix(frobenius=1.0, neighbors="replace")).values.sum()
    except dp.DataError as error:
        assert "the file 'sums.npy' is shorter than when it was mapped into memory" in str(error), error
        print("refused")
"""


def test_a_memory_map_of_a_file_that_became_shorter(tmp_path: Path) -> None:
    """Reading it would kill the process by a signal; so it is refused before the charge."""
    done = subprocess.run([sys.executable, "-c", SHORTER], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.returncode) == (["refused", "refused"], 0), done.stderr


class Odd(np.ndarray):
    """An array with arithmetic of its own."""

    def __array_ufunc__(self, *arguments: Any, **named: Any) -> Any:
        raise ArithmeticError("private")


@pytest.mark.parametrize("kind", [np.matrix, Odd])
@pytest.mark.parametrize("entry", [2.0, 1e200])
def test_subclasses_of_arrays_are_read_as_arrays(kind: Any, entry: float) -> None:
    """The entry decides nothing: not whether the run fails after the charge either."""
    data = np.array([[1.0, 2.0], [2.0, entry]])
    released = [plan().run(each, insecure_seed=1)["matrix"] for each in (data, data.view(kind))]
    assert np.array_equal(released[0], released[1])


def test_a_covariance_is_not_taken_for_the_rows_of_three_people(tmp_path: Path) -> None:
    """Where the number of rows is public. Values decide nothing: an array that is not symmetric is refused as well."""
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    ledger.add("rows", budget=BUDGET, neighbors="replace")
    for data in (np.cov(np.eye(3)), np.arange(9.0).reshape(3, 3)):
        with pytest.raises(dp.DataError, match=r"3 rows and as many columns.*dp.Matrix.*pass them in a list"):
            of_rows("replace").run(data, ledger=ledger, dataset="rows")
    assert ledger.dataset("rows").runs == 0
    assert of_rows("replace").run([np.eye(3)], insecure_seed=1)["matrix"].shape == (3, 3)
    assert of_rows("replace").run(np.eye(1), insecure_seed=1)["matrix"].shape == (1, 1)


def test_where_the_number_of_rows_is_private_a_square_array_is_read_as_any_other() -> None:
    """A refusal would tell that there are as many rows as columns, which one person more or less changes."""
    assert of_rows("add-remove").run(np.eye(3), insecure_seed=1)["matrix"].shape == (3, 3)


def test_a_ledger_holds_a_matrix_to_the_relation_of_its_data_set(tmp_path: Path) -> None:
    ledger = dp.Ledger.create(tmp_path / "budget.db")
    ledger.add("sums", budget=dp.Budget(epsilon=2.0, delta=1e-6), neighbors="replace", contributions=3)
    result = plan("replace").run(np.eye(3), ledger=ledger, dataset="sums")
    assert result.charge is not None
    with pytest.raises(dp.PlanError, match=r"neighbors='replace'.*Use dp.Matrix\(neighbors='replace'"):
        plan("add-remove").run(np.eye(3), ledger=ledger, dataset="sums")
    assert ledger.dataset("sums").runs == 1
