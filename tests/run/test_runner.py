"""A run: charge before read before draw, the same bits from any source, nothing about the data in an error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe import noise, registry
from dpframe.reading.process_state import blas_libraries
from dpframe.run import derivations, runner
from tests.support.mechanisms import Failing, GivingUp, NoisySignal, NoisyTrace, ShiftedTrace, registered

DIM = 6
ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=DIM)
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)


@pytest.fixture(autouse=True)
def _third_parties() -> Iterator[None]:
    with registered(NoisyTrace, ShiftedTrace, NoisySignal, Failing, GivingUp):
        yield


def plan(*steps: dp.Step, rows: dp.Rows = ROWS) -> dp.Plan:
    return dp.Plan(rows=rows, budget=BUDGET, steps=list(steps))


def two_pass_plan() -> dp.Plan:
    return plan(
        dp.release("moment", "gaussian"),
        dp.derive("basis", "top-subspace", of="moment", k=2),
        dp.release("signal", "noisy-signal", basis="basis"),
    )


def data(n: int = 3000, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((n, DIM)) * 0.5


@pytest.mark.parametrize("dim", [runner.SMALL, runner.SMALL + 1])
def test_small_matrices_are_decomposed_with_one_blas_thread(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def derived(*given: Any) -> Any:
        seen.extend(library.num_threads for library in blas_libraries())
        return derivations.derived(*given)

    monkeypatch.setattr(runner, "derived", derived)
    before = [library.num_threads for library in blas_libraries()]
    rows = attrs.evolve(ROWS, dim=dim)
    derive = dp.derive("psd", "psd", of="moment")
    plan(dp.release("moment", "gaussian"), derive, rows=rows).run(np.zeros((1, dim)))
    assert ([1] * len(before) if dim <= runner.SMALL else before) == seen
    assert [library.num_threads for library in blas_libraries()] == before


def test_the_first_plan_of_the_documentation_runs_as_written() -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.derive("components", "top-subspace", of="moment", k=3),
        ],
    )
    assert "epsilon = 1" in str(plan.explain(dim=6, spectrum=[1195, 996, 507, 282, 178, 168]))
    result = plan.run(data())
    assert (DIM, 3) == result["components"].shape
    assert not result["components"].flags.writeable
    assert dp.Subspace is result.record("components").kind
    assert "exact" == result.record("components").numerics
    assert plan.spent == result.spent
    assert result.spent.epsilon <= 1.0


def test_every_source_and_chunking_gives_the_same_lattice_values(tmp_path: Path) -> None:
    values = data(4099)
    expected = plan(dp.release("moment", "gaussian")).run(values, insecure_seed=7)["moment"]
    mapped = np.lib.format.open_memmap(tmp_path / "rows.npy", mode="w+", dtype=np.float64, shape=values.shape)
    mapped[:] = values
    sources: list[Any] = [mapped, np.asfortranarray(values), [values]]
    for size in (1, 7, 64, 1000, 5000):
        chunks = [values[i : i + size] for i in range(0, len(values), size)]
        sources += [chunks, iter(chunks), (chunk for chunk in chunks)]
    for source in sources:
        found = plan(dp.release("moment", "gaussian")).run(source, insecure_seed=7)["moment"]
        assert np.array_equal(expected, found)


def test_zero_rows_and_non_finite_rows_give_a_noisy_answer_not_an_error() -> None:
    one = plan(dp.release("moment", "gaussian"))
    nothing = one.run(np.zeros((0, DIM)), insecure_seed=3)["moment"]
    assert np.array_equal(nothing, one.run(np.full((50, DIM), np.nan), insecure_seed=3)["moment"])
    assert np.array_equal(nothing, one.run(iter(()), insecure_seed=3)["moment"])
    assert np.array_equal(nothing, one.run(np.zeros((9, DIM)), insecure_seed=3)["moment"])
    assert nothing.any()


class Journal:
    """What happened in which order: an instrumented source, keystream and hook write to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        take = noise.Keystream.take

        def counted(stream: noise.Keystream, count: int) -> Any:
            self.events.append("draw")
            return take(stream, count)

        monkeypatch.setattr(noise.Keystream, "take", counted)

    @dp.hookimpl
    def dpframe_before_charge(self, plan: dp.Plan, losses: Any) -> None:
        self.events.append("charge")

    def chunks(self, values: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        for start in range(0, len(values), 500):
            self.events.append("read")
            yield values[start : start + 500]


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    journal = Journal(monkeypatch)
    manager = registry._registry._manager
    registry.plugins()
    manager.register(journal, name="journal")
    try:
        yield journal
    finally:
        manager.unregister(name="journal")


def test_nothing_is_read_or_drawn_before_the_charge(journal: Journal) -> None:
    plan(dp.release("a", "gaussian"), dp.release("b", "gaussian")).run(journal.chunks(data()))
    assert "charge" == journal.events[0]
    assert 1 == journal.events.count("charge")
    last_read = len(journal.events) - 1 - journal.events[::-1].index("read")
    assert 6 == journal.events.count("read")
    assert last_read < journal.events.index("draw")


def test_refused_runs_neither_read_nor_draw(journal: Journal) -> None:
    with pytest.raises(dp.DataError, match="reads the data 2 times"):
        two_pass_plan().run(journal.chunks(data()))
    with pytest.raises(dp.DataError, match="does not have the 6 columns"):
        two_pass_plan().run(data()[:, :4])
    assert [] == journal.events


def test_a_veto_before_the_charge_stops_the_run(journal: Journal) -> None:
    class Veto:
        @dp.hookimpl
        def dpframe_before_charge(self, plan: dp.Plan, losses: Any) -> None:
            raise dp.PlanError("not on a Sunday")

    manager = registry._registry._manager
    manager.register(Veto(), name="veto")
    try:
        with pytest.raises(dp.PlanError, match="not on a Sunday"):
            plan(dp.release("moment", "gaussian")).run(journal.chunks(data()))
    finally:
        manager.unregister(name="veto")
    assert not {"read", "draw"} & set(journal.events)


def test_a_failing_draw_stays_charged_and_tells_nothing_of_the_data(journal: Journal) -> None:
    values = data()
    with pytest.raises(dp.ReleaseFailed) as caught:
        plan(dp.release("moment", "gaussian"), dp.release("bad", "failing")).run(values)
    error = caught.value
    assert ("bad", plan(dp.release("moment", "gaussian"), dp.release("bad", "failing")).spent) == (
        error.step,
        error.spent,
    )
    assert "stands" in str(error)
    assert "trace" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(repr(trace.tb_frame.f_locals) if "dpframe" in trace.tb_frame.f_code.co_filename else "")
        trace = trace.tb_next
    assert str(int(np.trace(dp.Moment().partial(dp.Chunk(ROWS, values))["moment"]))) not in "".join(frames)
    assert ["charge", "draw"] == [event for event in dict.fromkeys(journal.events) if event != "read"]


def test_a_sampler_that_gives_up_keeps_its_own_words_and_the_charge() -> None:
    values = data()
    with pytest.raises(dp.SamplingError, match="limit of 10 sweeps") as caught:
        plan(dp.release("bad", "giving-up")).run(values)
    assert plan(dp.release("bad", "giving-up")).spent == caught.value.spent
    assert "bad" == caught.value.step
    assert (None, None) == (caught.value.__cause__, caught.value.__context__)
    frames, trace = [], caught.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "_run" in frames
    assert "release" not in frames  # its frame would hold the exact moment


def test_a_broken_chunk_in_the_middle_leaves_the_charge_standing(journal: Journal) -> None:
    chunks = [data(10), data(10)[:, :4]]
    with pytest.raises(dp.ReleaseFailed, match=r"does not have the 6 columns.* stands"):
        plan(dp.release("moment", "gaussian")).run(iter(chunks))
    assert "charge" == journal.events[0]


def test_two_passes_read_the_data_twice_and_adapt() -> None:
    result = two_pass_plan().run(data(), insecure_seed=1)
    assert (2, 2) == result["signal"].shape
    assert 2 == result.statement.passes

    class Chunks:
        reads = 0

        def __iter__(self) -> Iterator[NDArray[np.float64]]:
            self.reads += 1
            yield from np.array_split(data(), 4)

    chunks = Chunks()
    again = two_pass_plan().run(chunks, insecure_seed=1)
    assert 2 == chunks.reads
    assert np.array_equal(result["signal"], again["signal"])


def test_an_input_from_the_same_pass_needs_no_second_one() -> None:
    chained = plan(
        dp.release("first", "noisy-trace"),
        dp.release("second", "shifted-trace", by="first"),
        dp.release("third", "shifted-trace", by=dp.Scalar(1000.0)),
    )
    assert {"first": 1, "second": 1, "third": 1} == chained.passes
    result = chained.run(iter([data()]), insecure_seed=4)
    assert float(result["second"]) > float(result["first"]) > 100


def test_steps_draw_from_streams_of_their_own_names() -> None:
    values = data()
    both = plan(dp.release("a", "gaussian", level=0.1), dp.release("b", "gaussian", level=0.1)).run(
        values, insecure_seed=5
    )
    alone = plan(dp.release("b", "gaussian", level=0.1)).run(values, insecure_seed=5)
    assert np.array_equal(both["b"], alone["b"])
    assert not np.array_equal(both["a"], both["b"])


def test_runs_differ_unless_seeded() -> None:
    one = plan(dp.release("moment", "gaussian"))
    values = data()
    assert not np.array_equal(one.run(values)["moment"], one.run(values)["moment"])
    seeded = one.run(values, insecure_seed=5)
    assert np.array_equal(seeded["moment"], one.run(values, insecure_seed=5)["moment"])
    assert not seeded.private
    assert one.run(values).private
    with pytest.raises(dp.PlanError, match="insecure_seed must be an integer"):
        one.run(values, insecure_seed=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("center", [False, True])
def test_tables_run_by_name_with_missing_cells(center: bool) -> None:
    rng = np.random.default_rng(2)
    table = {
        "sex": rng.choice(["F", "M", "?"], size=4000),
        "age": rng.uniform(17, 90, 4000),
        "unused": rng.uniform(0, 1, 4000),
        "hours": np.where(rng.random(4000) < 0.1, np.nan, rng.uniform(1, 99, 4000)),
    }
    columns: list[Any] = [
        dp.Column("age", 17, 90),
        dp.Column("hours", 1, 99, missing=40),
        dp.Category("sex", ["F", "M"]),
    ]
    rows = dp.Rows(columns=columns, neighbors="replace", center=center)
    result = plan(dp.release("moment", "gaussian"), rows=rows).run(table, insecure_seed=1)
    structured = np.array(
        list(zip(*(table[name] for name in ("hours", "sex", "age")), strict=True)),
        dtype=[("hours", float), ("sex", "U1"), ("age", float)],
    )
    assert np.array_equal(
        result["moment"], plan(dp.release("moment", "gaussian"), rows=rows).run(structured, insecure_seed=1)["moment"]
    )
    assert ("age", "hours", "sex=F", "sex=M") == result.record("moment").columns


def test_importing_dpframe_is_light() -> None:
    heavy = [
        "scipy",
        "scipy.stats",
        "numba",
        "rich",
        "pandas",
        "polars",
        "pyarrow",
        "flint",
        "cryptography",
        "psycopg",
        "sqlite3",
        "dpframe_gaussian",
    ]
    code = f"import sys, dpframe; print([name for name in {heavy!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "[]" == printed.strip()
