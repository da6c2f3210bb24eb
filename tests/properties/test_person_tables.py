"""A limit of rows per person through plans, files and data frames: the same rows count everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.auditing.neighbor_pairs import built_in, checked
from dpframe.cli.main import main
from dpframe.plan.json_schema import schema
from dpframe.sources import open_source
from dpframe.testing import check_statistic

pa: Any = pytest.importorskip("pyarrow")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
duckdb: Any = pytest.importorskip("duckdb")
pq: Any = pytest.importorskip("pyarrow.parquet")

COLUMNS = [dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"])]
ROWS = dp.Rows(columns=COLUMNS, neighbors="add-remove", contributions=2, person="id")
PROMISED = attrs.evolve(ROWS, person=None)
N = 300


def table() -> dict[str, Any]:
    """People with up to ten rows, some rows without a person; ids with a negative and a long one."""
    rng = np.random.default_rng(8)
    ids = [None if rng.random() < 0.1 else int(rng.choice([-7, 2**40, *range(50)])) for _ in range(N)]
    return {"age": rng.uniform(10, 95, N), "sex": rng.choice(["F", "M"], N), "id": ids}


def counting() -> dict[str, Any]:
    """The rows that count."""
    seen: dict[int, int] = {}
    chosen = []
    for each in table()["id"]:
        seen[each] = seen.get(each, 0) + 1
        chosen.append(each is not None and seen[each] <= 2)
    return {name: table()[name][chosen] for name in ("age", "sex")}


def words() -> dict[str, Any]:
    return {**table(), "id": [None if each is None else str(each) for each in table()["id"]]}


def arrow(kind: Any) -> Any:
    return pa.table({**words(), "id": pa.array(words()["id"]).cast(kind)})


def folder(path: Path) -> Path:
    """Files whose ids are of three types."""
    path.mkdir()
    kinds = [pa.int64(), pa.string(), pa.dictionary(pa.int32(), pa.string())]
    for number, kind in enumerate(kinds):
        ids = pa.array(table()["id"]) if kind == pa.int64() else pa.array(words()["id"])
        ids = ids.dictionary_encode() if pa.types.is_dictionary(kind) else ids.cast(kind)
        part = pa.table({**table(), "id": ids}).slice(number * 100, 100)
        pq.write_table(part, path / f"{number}.parquet", row_group_size=17)
    return path


def csv_file(path: Path) -> Path:
    pl.DataFrame(words()).write_csv(path)
    return path


def relation() -> Any:
    connection = duckdb.connect()
    connection.register("people", arrow(pa.string()))
    return connection.sql("SELECT * FROM people")


SOURCES: dict[str, Any] = {
    "words": lambda _: {**table(), "id": np.array([each or "" for each in words()["id"]])},
    "variable-width words": lambda _: {
        **table(), "id": np.array([each or "" for each in words()["id"]], dtype=np.dtypes.StringDType())
    },
    "chunks": lambda _: [{name: np.array(cells[i : i + 7]) for name, cells in {
        **table(), "id": [each or "" for each in words()["id"]]}.items()} for i in range(0, N, 7)],
    "arrow integers": lambda _: arrow(pa.int64()),
    "arrow text": lambda _: arrow(pa.large_string()),
    "arrow bytes": lambda _: arrow(pa.binary()),
    "arrow dictionary": lambda _: pa.table({**table(), "id": pa.array(words()["id"]).dictionary_encode()}),
    "arrow dictionary of integers": lambda _: pa.table({**table(), "id": pa.array(table()["id"]).dictionary_encode()}),
    "arrow batches": lambda _: pa.Table.from_batches(arrow(pa.string()).to_batches(max_chunksize=11)),
    "pandas objects": lambda _: pd.DataFrame({**table(), "id": pd.Series(table()["id"], dtype=object)}),
    "pandas integers": lambda _: pd.DataFrame({**table(), "id": pd.array(table()["id"], dtype="Int64")}),
    "pandas categories": lambda _: pd.DataFrame({**table(), "id": pd.Categorical(words()["id"])}),
    "polars": lambda _: pl.DataFrame(table()),
    "polars words": lambda _: pl.DataFrame(words()),
    "polars categories": lambda _: pl.DataFrame(words()).with_columns(pl.col("id").cast(pl.Categorical)),
    "polars lazy": lambda _: pl.DataFrame(table()).lazy(),
    "duckdb": lambda _: relation(),
    "csv": lambda path: csv_file(path / "people.csv"),
    "parquet": lambda path: folder(path / "people"),
}  # fmt: skip


def plan(rows: dp.Rows, *first: dp.Step) -> dp.Plan:
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    return dp.Plan(rows=rows, budget=budget, steps=[*first, dp.release("moment", "gaussian")])


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_rows_count_whatever_the_source(name: str, tmp_path: Path) -> None:
    expected = plan(PROMISED).run(counting(), insecure_seed=1)["moment"]
    assert expected.tobytes() == plan(ROWS).run(SOURCES[name](tmp_path), insecure_seed=1)["moment"].tobytes()


@pytest.mark.parametrize("ids", ["Int64", "object", "string[pyarrow]", "category"])
def test_the_same_rows_count_in_partitions(ids: str) -> None:
    frames = pytest.importorskip("dask.dataframe")
    plain = table() if ids == "Int64" else words()
    frame = pd.DataFrame({**plain, "id": pd.Series(plain["id"], dtype=ids)})
    expected = plan(PROMISED).run(counting(), insecure_seed=1)["moment"]
    for partitions in (1, 7):
        data = frames.from_pandas(frame, npartitions=partitions, sort=False)
        found = plan(ROWS).run(data, insecure_seed=1)["moment"]
        assert expected.tobytes() == found.tobytes()
    assert len(counting()["age"]) == N - (dp.check(data, ROWS).uncounted or 0)


def test_a_dask_array_has_no_ids() -> None:
    arrays = pytest.importorskip("dask.array")
    with pytest.raises(dp.DataError, match="an array has no column 'id'"):
        open_source(arrays.zeros((6, 2)), ROWS)


def test_a_connection_that_does_not_keep_the_order_is_refused() -> None:
    connection = duckdb.connect()
    connection.register("here", arrow(pa.string()))
    connection.execute("CREATE TABLE people AS SELECT * FROM here")
    for data in (connection.sql("SELECT * FROM people"), dp.query("SELECT * FROM people", connection)):
        connection.execute("SET preserve_insertion_order = true")
        open_source(data, ROWS)
        connection.execute("SET preserve_insertion_order = false")
        with pytest.raises(dp.DataError, match="the order of the rows decides which of them count"):
            open_source(data, ROWS)
        open_source(data, PROMISED)


def test_every_pass_makes_the_same_choice() -> None:
    radius = dp.release("radius", "private-quantile", quantile=0.5, high=2.0)
    norm = dp.ref("radius")
    expected = plan(attrs.evolve(PROMISED, norm=norm), radius).run(counting(), insecure_seed=1)
    found = plan(attrs.evolve(ROWS, norm=norm), radius).run(pl.DataFrame(words()).lazy(), insecure_seed=1)
    assert expected["radius"] == found["radius"]
    assert expected["moment"].tobytes() == found["moment"].tobytes()


def test_a_lazy_frame_is_read_in_its_order() -> None:
    """Many small batches on all cores would come in any order."""
    size = 40_000
    frame = pl.DataFrame({"age": np.linspace(17, 90, size), "id": np.arange(size) % 100})
    rows = dp.Rows(columns=COLUMNS[:1], neighbors="add-remove", contributions=3, person="id")
    lazy = pl.concat([frame[at : at + 500].lazy() for at in range(0, size, 500)])
    found = np.concatenate([np.asarray(block["age"]) for block in open_source(lazy, rows).blocks()])
    assert frame["age"][:300].to_list() == found.tolist()


def test_ids_that_are_no_text_neither_stop_a_run_nor_become_one() -> None:
    """Bytes that are not UTF-8, words that Arrow would not take, and words that NumPy would shorten."""
    broken = pa.array([b"\xff", b"\xfe", b"\xff"]).cast(pa.binary())
    unchecked = pa.Array.from_buffers(pa.string(), 3, broken.buffers())
    rows = dp.Rows(columns=COLUMNS[:1], neighbors="add-remove", person="id")

    def kept(data: Any) -> list[float]:
        return [age for block in open_source(data, rows).blocks() for age in np.asarray(block["age"]).tolist()]

    assert [20.0, 30.0] == kept(pa.table({"age": [20.0, 30.0, 40.0], "id": unchecked}))
    surrogates = pd.DataFrame(
        {"age": [20.0, 30.0, 40.0], "id": pd.Series(["\ud800", "\ud801", "\ud800"], dtype=object)}
    )
    assert [20.0, 30.0] == kept(surrogates)
    assert [20.0, 30.0] == kept(pa.table({"age": [20.0, 30.0, 40.0], "id": ["a", "a\0", "a"]}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((3, 2)), "an array has no column 'id' that tells who a row belongs to"),
        ({"age": np.zeros(3), "sex": np.array(["F"] * 3)}, "the table has no column 'id'"),
        (pd.DataFrame({**table(), "id": np.zeros(N)}), "holds double, but it tells who a row belongs to"),
        ({**table(), "id": np.zeros(N)}, "holds float64, but it tells who a row belongs to"),
        ({**table(), "id": np.array([True] * N)}, "holds bool, but it tells who a row belongs to"),
        ({**table(), "id": table()["id"]}, "column 'id' must be a one-dimensional array"),
        (pa.table({**table(), "id": pa.array([0] * N, pa.timestamp("s"))}), "holds TimestampType, but"),
        (pa.table({**table(), "id": pa.array([None] * N, pa.decimal128(5))}), "holds Decimal128Type"),
        ([{name: cells[:0] for name, cells in counting().items()}], "has no column 'id'"),
    ],
)
def test_what_cannot_tell_people_apart_is_refused_before_the_charge(data: Any, message: str) -> None:
    with pytest.raises(dp.DataError, match=message):
        open_source(data, ROWS)


def test_a_promise_must_make_sense() -> None:
    with pytest.raises(dp.PlanError, match="names a column of a table, but the rows are arrays of plain numbers"):
        dp.Rows(norm=1.0, neighbors="replace", person="id")
    with pytest.raises(dp.PlanError, match=r"Rows\.person='age' is one of Rows\.columns"):
        attrs.evolve(ROWS, person="age")
    with pytest.raises(dp.PlanError, match=r"Rows\.person must be a text"):
        attrs.evolve(ROWS, person=3)  # type: ignore[arg-type]


def test_plan_files_hold_it_and_the_hash_tells_it_from_a_promise(tmp_path: Path) -> None:
    plan(ROWS).dump(tmp_path / "plan.toml")
    assert plan(ROWS) == dp.Plan.load(tmp_path / "plan.toml")
    assert 'person = "id"' in (tmp_path / "plan.toml").read_text()
    assert plan(ROWS).content_hash != plan(PROMISED).content_hash
    assert {"type": "string"} == schema()["properties"]["rows"]["properties"]["person"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "each person, identified by 'id', of whose rows the first 2 count (enforced): whether they are in"),
        ({"contributions": 1}, "of whose rows the first counts (enforced)"),
        ({"neighbors": "replace"}, "what their rows say; the numbers of rows, of each person and in all, are public"),
        ({"person": None}, "each person, with up to 2 rows: whether they are in the data at all"),
    ],
)
def test_reports_tell_what_is_enforced_from_what_is_promised(changes: dict[str, Any], expected: str) -> None:
    assert expected in plan(attrs.evolve(ROWS, **changes)).explain().statement.protected


def test_a_check_tells_the_steward_how_many_rows_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = dp.check(pa.table(table()), ROWS)
    kept = len(counting()["age"])
    assert (N, N - kept) == (found.rows, found.uncounted)
    assert f"Left out            {N - kept} (without a person" in str(found)
    assert dp.check(counting(), PROMISED).columns == found.columns
    assert dp.check(counting(), PROMISED).uncounted is None
    plan(ROWS).dump(tmp_path / "plan.toml")
    main(["check", str(tmp_path / "plan.toml"), str(csv_file(tmp_path / "people.csv"))])
    assert f"Left out            {N - kept}" in capsys.readouterr().out


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_audits_give_a_person_more_rows_than_count(relation: str) -> None:
    rows = attrs.evolve(ROWS, neighbors=relation)
    for pair in built_in(rows):
        people = np.unique(pair.one["id"], return_counts=True)[1]
        assert 3 == people[-1]
        assert {1} == set(people[:-1].tolist()) or len(people) == 1
        if repr(pair.one) != repr(pair.other):
            assert pair is checked(pair, rows, 1)


def test_the_kit_takes_such_a_promise() -> None:
    check_statistic(dp.Moment(), rows=ROWS).assert_passed()


def test_forecasts_do_not_change_with_it() -> None:
    scenario = dp.Scenario(dim=3, n=1000, spectrum=[300.0, 200.0, 100.0])
    promised, enforced = (plan(rows).explain(scenario=scenario).forecasts for rows in (PROMISED, ROWS))
    assert len(promised["moment"]) > 0
    assert promised == enforced
