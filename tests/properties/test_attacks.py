"""Attacks that once worked, or nearly did."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.noise import Keystream
from dpframe.noise.choice import _certain, _extended
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source

AGE = dp.Rows(columns=[dp.Column("age", 0, 100)], neighbors="add-remove", center=True)
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)


def count(path: Path) -> float:
    moment = accumulate(open_source(path, AGE).blocks(), [dp.Moment()], AGE)[dp.Moment()]["moment"]
    return float(moment[-1, -1]) / AGE.constant**2


def written(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["age", "note"], *rows])
    return path


@pytest.mark.parametrize("length", [1, 200_000, 2**26 + 1])
def test_one_csv_record_is_one_row_however_long(tmp_path: Path, length: int) -> None:
    base: list[list[Any]] = [[20 + i % 50, "hello"] for i in range(100)]
    assert 100 == count(written(tmp_path / "base.csv", base))
    evil = "x" * length + "\n" + "100,x\n" * 10_000 + "bye"
    assert 101 == count(written(tmp_path / "evil.csv", [*base, [100, evil]]))


class Large(dp.Statistic):
    """Parts as large as a block may have, and more."""

    name = "large"

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        return {"sum": dp.Sensitivity(l2_squared=1)}

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": np.array([2**62 * len(chunk.values), len(chunk.values)], dtype=np.int64)}


def test_totals_never_wrap_around() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=1)
    statistic = Large()
    blocks = [np.ones((1, 1))] * 40
    assert [40 * 2**62, 40] == accumulate(blocks, [statistic], rows)[statistic]["sum"].tolist()
    few = accumulate([np.zeros((1, 1))] * 40, [dp.Moment()], rows)[dp.Moment()]["moment"]
    assert np.int64 == few.dtype


def test_moments_beyond_64_bits_are_released() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)
    wide = np.array([[2**70, 0], [0, 2**69]], dtype=object)
    data = dp.PrivateData(rows, statistics={dp.Moment(): {"moment": wide}})
    each: list[tuple[str, dict[str, Any]]] = [
        ("gaussian", {}),
        ("laplace-eigenvalues", {"k": 2}),
        ("matrix-laplace", {}),
    ]
    for name, parameters in each:
        mechanism: Any = dp.release("x", name, **parameters).action
        released = mechanism.release(data, 1.0, dp.Random(Keystream.insecure(1))).array / rows.step**2
        assert 2.0**70 == pytest.approx(released.ravel()[0], rel=1e-6)
    sums = dp.PrivateData(rows, statistics={dp.RowSum(): {"sum": np.array([2**70, 0, 2**69], dtype=object)}})
    total: Any = dp.release("x", "gaussian-sum").action
    released = total.release(sums, 1.0, dp.Random(Keystream.insecure(1))).array / rows.step
    assert [2.0**70, 2.0**69] == pytest.approx(released[::2], rel=1e-6)


def test_no_cell_causes_a_warning_whatever_the_settings() -> None:
    signalling = np.array([[0x7FA00001]], dtype=np.uint32).view(np.float32)
    values = np.concatenate([np.full((5, 1), 0.5, dtype=np.float32), signalling])
    huge = np.array([[np.longdouble("1e400")], [np.longdouble(0.5)]])
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace"),
        budget=BUDGET,
        steps=[
            dp.release("moment", "gaussian"),
            dp.release("values", "laplace-eigenvalues", k=1),
            dp.release("radius", "private-quantile", quantile=0.5, high=2.0),
        ],
    )
    columns = dp.Plan(rows=AGE, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    with np.errstate(all="raise"):  # and pytest turns warnings into errors
        plan.run(values)
        plan.run(huge)
        columns.run({"age": values[:, 0]})


class Lazy(Mapping[str, Any]):
    """A table that reads, and fails with a cell in its words, when it is looked at."""

    reads = 0

    def __getitem__(self, name: str) -> Any:
        type(self).reads += 1
        raise ValueError("could not convert 'HIV+ Alice'")

    def __iter__(self) -> Iterator[str]:
        return iter(["age"])

    def __len__(self) -> int:
        return 1


def test_tables_that_read_when_looked_at_are_refused_unread(tmp_path: Path) -> None:
    plan = dp.Plan(rows=AGE, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    np.savez(tmp_path / "table.npz", age=np.arange(5.0))
    with np.load(tmp_path / "table.npz") as archive, pytest.raises(dp.DataError, match=r"pass dict\(\.\.\.\) of it"):
        plan.run(archive)
    with pytest.raises(dp.DataError, match=r"pass dict\(\.\.\.\) of it"):
        plan.run(Lazy())
    assert 0 == Lazy.reads


@pytest.mark.parametrize("cell", [2**64 - 1, 2**64 - 2, 2**63])
def test_a_choice_among_vanishing_weights_ends(cell: int) -> None:
    more, bits = iter([2**64 - 1, 2**63] * 10), 64
    costs = [0, 100, 100, 100, 100, 100]
    for _ in range(6):
        if (index := _certain(costs, Fraction(1), cell, bits)) is not None:
            break
        cell, bits = _extended(cell, bits, more)
    assert index is not None


def test_levels_cannot_be_changed_after_pricing() -> None:
    plan = dp.Plan(rows=AGE, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    with pytest.raises(TypeError):
        plan.pricing.levels["moment"] = 1e9  # type: ignore[index]


def test_the_words_of_a_failing_source_are_withheld() -> None:
    def chunks() -> Iterator[Any]:
        yield {"age": np.array([30.0])}
        raise dp.DataError("row 17: 'Alice, HIV+'")

    plan = dp.Plan(rows=AGE, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    with pytest.raises(dp.ReleaseFailed) as caught:
        plan.run(chunks())
    assert "Alice" not in str(caught.value)
    assert "stands" in str(caught.value)


def test_a_failing_progress_bar_loses_nothing() -> None:
    def broken(phase: str) -> None:
        raise RuntimeError(phase)

    plan = dp.Plan(rows=AGE, budget=BUDGET, steps=[dp.release("moment", "gaussian")])
    assert (2, 2) == plan.run({"age": np.arange(50.0)}, progress=broken)["moment"].shape


def test_a_transposed_array_does_not_tell_the_number_of_rows() -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=3), budget=BUDGET, steps=[dp.release("m", "gaussian")]
    )
    with pytest.raises(dp.DataError) as caught:
        plan.run(np.zeros((3, 7919)))
    assert "7919" not in str(caught.value)


def test_a_tiny_loss_is_not_nothing() -> None:
    tiny = [dp.losses.Gaussian(mu=1e-170)]
    assert np.isinf(dp.accountant("zcdp").epsilon(tiny, 0.0))
