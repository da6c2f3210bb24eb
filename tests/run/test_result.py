"""Results: read-only, told by name, and the same after a round trip through JSON."""

import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.display.redacted import Redacted
from dpframe.sources import open_source

SECRET = 1234.5678
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DATA = np.random.default_rng(5).normal(scale=0.3, size=(50, 3))

HERMITIAN = np.array(
    [
        [0.1 + 0.2, 5e-324 - 1e300j, complex(-0.0, 0.1)],
        [5e-324 + 1e300j, -0.0, complex(1 / 3, -0.0)],
        [complex(-0.0, -0.1), complex(1 / 3, 0.0), 1.7976931348623157e308],
    ]
)


@attrs.frozen(kw_only=True)
class Fixed(dp.Mechanism):
    """A release of a fixed value, which costs next to nothing."""

    name = "test-fixed"
    unit = "mu"
    gives = dp.HermitianMatrix

    value: Any = attrs.field(eq=False, repr=False)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return type(self.value)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        value: dp.Kind = self.value
        return value


@pytest.fixture(autouse=True)
def fixed() -> Iterator[None]:
    dp.register(Fixed)
    yield
    dp.unregister(Fixed)


def plan(*steps: dp.Step, **promise: Any) -> dp.Plan:
    rows = dp.Rows(**{"norm": 1.0, "neighbors": "add-remove", **promise})
    return dp.Plan(rows=rows, budget=BUDGET, steps=[dp.release("moment", "gaussian"), *steps])


def many_kinds() -> dp.Result:
    """Every kind of the core in one result, with names of columns."""
    columns = [dp.Column("age", 17, 90, missing=40), dp.Column("hours", 1, 99), dp.Category("sex", ["F", "M"])]
    steps = [
        dp.release("hermitian", "test-fixed", value=dp.HermitianMatrix(HERMITIAN)),
        dp.release("real-hermitian", "test-fixed", value=dp.HermitianMatrix(np.eye(2))),
        dp.release("radii", "test-fixed", value=dp.Radii([2.0, 0.5])),
        dp.release("map", "test-fixed", value=dp.LinearMap([[1.0, 0.5], [0.5, 1 / 3]])),
        dp.release("folds", "test-fixed", value=dp.FoldedMoment(np.vstack([np.eye(2)] * 3), folds=3, constant=0.25)),
        dp.release("model", "test-fixed", value=dp.LinearModel([0.1, 2.0], target="age", penalty=1 / 3, r_squared=0.5)),
        dp.release(
            "classes",
            "test-fixed",
            value=dp.Discriminant([[0.1, 2.0], [-0.1, 1.0]], features=("age",), shares=(0.25, 0.75)),
        ),
        dp.release("sum", "gaussian-sum"),
        dp.derive("count", "count", of="moment"),
        dp.derive("mean", "mean", of="moment"),
        dp.derive("mean-in-units", "to-units", of="mean"),
        dp.derive("covariance", "covariance", of="moment"),
        dp.derive("covariance-in-units", "to-units", of="covariance"),
        dp.derive("correlation", "correlation", of="covariance"),
        dp.derive("scales", "scales", of="covariance"),
        dp.derive("positive", "psd", of="covariance"),
        dp.derive("components", "top-subspace", of="covariance", k=2),
        dp.derive("loadings", "to-units", of="components"),
        dp.derive("spectrum", "eigenvalues", of="covariance"),
        dp.derive("explained", "explained-variance", of="covariance", components="components"),
        dp.derive("complex-components", "top-subspace", of=dp.HermitianMatrix([[2.0, 1j], [-1j, 2.0]]), k=1),
        dp.derive("real", "real-part", of="hermitian"),
    ]
    table = {"age": np.array([30.0, np.nan]), "hours": np.array([40.0, 50.0]), "sex": np.array(["F", "M"])}
    return plan(*steps, norm=None, columns=columns, center=True, neighbors="replace").run(table, insecure_seed=7)


def saved(result: dp.Result, folder: Path) -> dp.Result:
    path = folder / "result.json"
    text = result.to_json(path)
    assert text + "\n" == path.read_text(encoding="utf-8")
    return dp.Result.load(path)


# -- a mapping of read-only arrays -----------------------------------------------------------------------------------


def test_a_result_is_a_mapping() -> None:
    result = plan(dp.derive("values", "eigenvalues", of="moment")).run(DATA)
    assert isinstance(result, Mapping)
    assert ["moment", "values"] == list(result) == list(result.keys())
    assert 2 == len(result)
    assert ("moment" in result, "x" in result) == (True, False)
    assert result.get("x") is None
    assert result["values"] is dict(result)["values"]
    assert (3, 3) == result["moment"].shape


def test_an_unknown_name() -> None:
    result = plan().run(DATA)
    for look_up in (result.__getitem__, result.record):
        with pytest.raises(KeyError, match=r"there is no result 'x'; there is: moment"):
            look_up("x")


def test_records() -> None:
    result = plan(dp.derive("components", "top-subspace", of="moment", k=2)).run(DATA)
    record = result.record("moment")
    assert ("moment", dp.SymmetricMatrix, None, "exact") == (record.name, record.kind, record.columns, record.numerics)
    assert "epsilon=1 at delta=1e-06" in record.guarantee
    assert record.value.array is result["moment"]
    assert dp.Subspace is result.record("components").kind
    assert "free" in result.record("components").guarantee
    assert plan().spent == result.spent
    assert BUDGET == result.statement.budget
    assert {"dpframe", "dpframe-gaussian"} <= set(result.versions)


def test_columns_travel_with_results() -> None:
    result = many_kinds()
    for name in ("moment", "mean", "covariance", "components", "loadings", "correlation"):
        assert ("age", "hours", "sex=F", "sex=M") == result.record(name).columns, name
    axes = result.record("moment").value.axes
    assert axes is not None
    assert ((36.5, 49.0, 1.0, 1.0), (53.5, 50.0, 0.0, 0.0)) == (axes.scale, axes.offset)


def test_arrays_are_read_only(tmp_path: Path) -> None:
    result = many_kinds()
    for each in (result, saved(result, tmp_path)):
        for name, array in each.items():
            assert not array.flags.writeable, name
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0


def test_a_value_is_a_copy() -> None:
    mine = np.eye(2)
    kind = dp.SymmetricMatrix(mine)
    mine[0, 0] = 5.0
    assert 1.0 == kind.array[0, 0]


def test_a_result_cannot_be_changed() -> None:
    result = plan().run(DATA)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.private = False  # type: ignore[misc]


def test_results_can_be_compared() -> None:
    one, same, other = (plan().run(DATA, insecure_seed=seed) for seed in (7, 7, 8))
    assert one == same
    assert one != other
    assert one != object()
    assert one != plan().run(DATA)


def test_results_can_be_pickled() -> None:
    result = many_kinds()
    back = pickle.loads(pickle.dumps(result))
    assert result.statement == back.statement
    assert [result.record(name) for name in result] == [back.record(name) for name in back]
    assert (result.private, result.versions) == (back.private, back.versions)


# -- JSON ------------------------------------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    result = many_kinds()
    back = saved(result, tmp_path)
    assert list(result) == list(back)
    for name in result:
        before, after = result.record(name), back.record(name)
        assert before == after
        assert before.kind is after.kind
        assert before.value.axes == after.value.axes
        assert before.value.array.dtype == after.value.array.dtype
        assert before.value.array.shape == after.value.array.shape
        assert before.value.array.tobytes() == after.value.array.tobytes(), name
        assert before.line == after.line
    assert result.statement == back.statement
    assert (result.private, result.spent, result.versions) == (back.private, back.spent, back.versions)
    assert str(result) == str(back)
    assert result.to_json() == back.to_json()


def test_round_trip_has_every_kind() -> None:
    every = {kind for kind in vars(dp).values() if isinstance(kind, type) and issubclass(kind, dp.Kind)}
    assert every - {dp.Kind} == {many_kinds().record(name).kind for name in many_kinds()}


def test_round_trip_of_an_augmented_moment(tmp_path: Path) -> None:
    result = many_kinds()
    before, after = result.record("moment").value, saved(result, tmp_path).record("moment").value
    assert isinstance(before, dp.AugmentedMoment)
    assert isinstance(after, dp.AugmentedMoment)
    assert before.constant == after.constant


def test_round_trip_of_awkward_numbers(tmp_path: Path) -> None:
    result = many_kinds()
    assert "complex128" == str(result["hermitian"].dtype)
    assert HERMITIAN.tobytes() == result["hermitian"].tobytes()
    assert HERMITIAN.tobytes() == saved(result, tmp_path)["hermitian"].tobytes()


def test_round_trip_of_single_precision(tmp_path: Path) -> None:
    result = plan(dp.release("single", "test-fixed", value=dp.Vector(np.array([0.1, 0.2], np.float32)))).run(DATA)
    back = saved(result, tmp_path)
    assert result.record("single") == back.record("single")
    assert result["single"].dtype == back["single"].dtype


@pytest.mark.parametrize("insecure_seed", [None, 7])
def test_privacy_is_kept(tmp_path: Path, insecure_seed: int | None) -> None:
    result = plan().run(DATA, insecure_seed=insecure_seed)
    back = saved(result, tmp_path)
    private = insecure_seed is None
    assert (private, private) == (result.private, back.private)
    assert (private, private) == ("NOT PRIVATE" not in str(back), "NOT PRIVATE" not in back._repr_html_())
    assert private is json.loads(back.to_json())["private"]


def test_json_is_plain() -> None:
    content = json.loads(many_kinds().to_json(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    bars = ["intervals", "without_interval"]
    assert ["format", "private", "warnings", "statement", "versions", "charge", "results", *bars] == list(content)
    assert 1 == content["format"]
    assert "AugmentedMoment" == content["results"]["moment"]["kind"]


def content(**changes: Any) -> dict[str, Any]:
    good: dict[str, Any] = json.loads(plan().run(DATA, insecure_seed=7).to_json())
    return {**good, **changes}


def moment(**changes: Any) -> dict[str, Any]:
    good = content()
    good["results"]["moment"].update(changes)
    return good


def spent(epsilon: Any) -> dict[str, Any]:
    good = content()
    good["statement"]["spent"]["epsilon"] = epsilon
    return good


def renamed() -> dict[str, Any]:
    good = content()
    good["results"] = {"another": good["results"]["moment"]}
    return good


def test_the_unchanged_content_loads(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(content()))
    assert ["moment"] == list(dp.Result.load(path))
    assert ["moment"] == list(dp.Result.load(str(path)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"",
        lambda: b"hello",
        lambda: b"[]",
        lambda: b"{}",
        lambda: b"null",
        lambda: b'{"format": 1}',
        lambda: {key: value for key, value in content().items() if key != "private"},
        lambda: content(private="false"),
        lambda: content(statement={}),
        lambda: content(statement=5),
        lambda: content(results=[]),
        lambda: content(results={"moment": 5}),
        lambda: moment(kind="Zzz"),
        lambda: moment(array="zzz"),
        lambda: moment(array=[[1.0], [1.0, 2.0]]),
        lambda: moment(array=[[1.0, 2.0], [3.0, 4.0]]),
        lambda: moment(array=None),
        lambda: moment(extra=5),
        lambda: moment(axes={"labels": 5}),
        lambda: spent(-1.0),
        lambda: spent("zzz"),
        renamed,
    ],
    ids=[
        "empty",
        "text",
        "list",
        "empty object",
        "null",
        "format alone",
        "no mark of privacy",
        "mark of privacy a word",
        "no statement",
        "statement a number",
        "results a list",
        "result a number",
        "unknown kind",
        "array a word",
        "array ragged",
        "array not of its kind",
        "array null",
        "unknown field",
        "axes",
        "epsilon negative",
        "epsilon a word",
        "result without a line",
    ],
)
def test_not_a_result(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "garbage.json"
    made = make()
    path.write_bytes(made if isinstance(made, bytes) else json.dumps(made).encode())
    with pytest.raises(dp.DataError, match=r"garbage\.json is not a result written by dpframe"):
        dp.Result.load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_format(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(content(format=version)))
    with pytest.raises(dp.DataError) as caught:
        dp.Result.load(path)
    assert f"has result format {version!r}; this version reads 1" in str(caught.value)


# -- nothing private is printed --------------------------------------------------------------------------------------


def test_private_objects_do_not_show_themselves() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)
    table = np.full((7919, 2), SECRET)
    parts: dict[dp.Statistic, Any] = {dp.Moment(): {"moment": np.full((2, 2), 12345678)}}
    hidden = [
        open_source(table, rows),
        open_source([table], rows),
        dp.Chunk(rows, table),
        dp.PrivateData(rows, statistics=parts),
    ]
    assert ["<Source: private>", "<Source: private>", "<Chunk: private>", "<PrivateData: private>"] == list(
        map(repr, hidden)
    )
    for each in hidden:
        assert isinstance(each, Redacted)
        assert repr(each) == str(each) == f"{each}"


def test_a_failure_after_the_charge_withholds_what_it_saw() -> None:
    @dp.register
    @attrs.frozen(kw_only=True)
    class Leaky(dp.Mechanism):
        name = "test-leaky"
        unit = "mu"
        gives = dp.Scalar

        def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
            return dp.losses.Gaussian(mu=level)

        def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
            raise RuntimeError(f"trace {np.trace(data.moment)} and {SECRET}")

    try:
        leaky = plan(dp.release("leak", "test-leaky"))
        with pytest.raises(dp.ReleaseFailed, match=r"step 'leak' failed after the charge \(RuntimeError\)") as caught:
            leaky.run(DATA)
        assert "1234" not in str(caught.value)
        assert "trace" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert ("leak", leaky.spent) == (caught.value.step, caught.value.spent)
        with pytest.raises(dp.ReleaseFailed) as shown:
            leaky.run(DATA, insecure_seed=7)
        assert isinstance(shown.value.__cause__, RuntimeError)
    finally:
        dp.unregister(Leaky)


def test_undeclared_statistics_are_not_handed_out() -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)
    with pytest.raises(dp.PlanError, match=r"Moment\(\) was not declared"):
        _ = dp.PrivateData(rows, statistics={}).moment
