"""Error bars of results: chains of steps, what is refused, and derivations that state no law."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.run.error_bars import ErrorBars
from tests.support.noisy import covered
from tests.support.released import STEPS, run, table


def test_every_value_has_an_interval() -> None:
    result = run()
    for name in result:
        found, error = result.interval(name), result.standard_error(name)
        assert found.low.shape == found.high.shape == error.shape == result[name].shape, name
        assert (found.low <= found.high).all()
        assert found.determined.all()
        assert not found.low.flags.writeable
        assert not error.flags.writeable
        assert result.interval(name) is found
        wider = result.interval(name, confidence=0.999)
        assert (wider.high - wider.low >= found.high - found.low).all()


def test_intervals_in_units_are_those_of_coordinates() -> None:
    result = run()
    ours, theirs = result.interval("mean"), result.interval("mean_in_units")
    assert theirs.low == pytest.approx(np.array([5.0, 0.0]) + np.array([5.0, 1.0]) * ours.low)
    scale = np.outer([5.0, 1.0], [5.0, 1.0])
    assert result.interval("covariance_in_units").high == pytest.approx(scale * result.interval("covariance").high)


@pytest.mark.parametrize("name", ["mean_in_units", "covariance_in_units", "correlation", "eigenvalues"])
def test_releases_are_covered(name: str) -> None:
    """60 releases: a share below 0.8 has a probability below 1e-6, also if all numbers of a value go together."""
    exact = table()
    data = np.column_stack([exact["a"], exact["b"]])
    truth: Any = {
        "mean_in_units": data.mean(axis=0),
        "covariance_in_units": np.cov(data.T, bias=True),
        "correlation": np.corrcoef(data.T),
        "eigenvalues": np.linalg.eigvalsh(np.cov((data / [5.0, 1.0]).T, bias=True))[-1:],
    }[name]
    assert np.mean([covered(run(seed=seed).interval(name), truth) for seed in range(60)]) > 0.8


def test_pure_releases_have_intervals() -> None:
    steps = [dp.release("moment", "matrix-laplace"), *STEPS[1:]]
    result = run(steps, epsilon=1.0)
    gaussian = run()
    assert all(result.interval(name).determined.all() for name in result)
    assert result.interval("mean").method == gaussian.interval("mean").method


def test_what_is_refused() -> None:
    result = run()
    for wrong in (0.0, 1.0, 95, "0.95", float("nan")):
        with pytest.raises(dp.PlanError, match="confidence must be a number between 0 and 1"):
            result.interval("mean", confidence=wrong)  # type: ignore[arg-type]
    with pytest.raises(dp.PlanError, match="sampling must be None, or 'normal'"):
        result.interval("mean", sampling="poisson")
    with pytest.raises(KeyError, match="there is no result 'nothing'"):
        result.interval("nothing")


def test_sampling_error_widens_intervals() -> None:
    result = run()
    for name in ("mean", "covariance", "correlation", "eigenvalues", "scales"):
        ours, theirs = result.interval(name), result.interval(name, sampling="normal")
        different = ours.high > ours.low
        assert (theirs.high - theirs.low > ours.high - ours.low)[different].all()
        assert "assumption" in theirs.method
    with pytest.raises(dp.PlanError, match="the sampling error"):
        result.interval("count", sampling="normal")


@attrs.frozen(kw_only=True)
class Doubled(dp.PostProcessor):
    """Twice a mean; it states no law."""

    name = "doubled"
    gives = dp.Vector

    of: Any = dp.input(dp.Mean)

    def apply(self) -> dp.Vector:
        return dp.Vector(2 * self.of.array)


def test_a_derivation_without_a_law_is_redrawn() -> None:
    dp.register(Doubled)
    try:
        result = run([*STEPS[:3], dp.derive("double", "doubled", of="mean")])
        found = result.interval("double")
    finally:
        dp.unregister(Doubled)
    assert "drawn again" in found.method
    ours = result.interval("mean")
    assert found.high - found.low == pytest.approx(2 * (ours.high - ours.low), rel=0.2)
    assert result.standard_error("double") == pytest.approx(2 * result.standard_error("mean"), rel=0.2)
    with pytest.raises(dp.PlanError, match="the sampling error of a value without a stated law"):
        result.interval("double", sampling="normal")


def test_results_with_error_bars_can_be_pickled() -> None:
    result = run()
    found = result.interval("mean")
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.interval("mean").low, found.low)


def test_files_hold_intervals(tmp_path: Path) -> None:
    result = run([*STEPS, dp.derive("components", "top-subspace", of="covariance", k=1)])
    result.to_json(tmp_path / "result.json")
    loaded = dp.Result.load(tmp_path / "result.json")
    for name in result:
        ours, theirs = result.interval(name), loaded.interval(name)
        assert np.array_equal(ours.low, theirs.low)
        assert np.array_equal(ours.determined, theirs.determined)
        assert (ours.method, ours.angle_degrees) == (theirs.method, theirs.angle_degrees)
        assert np.array_equal(result.standard_error(name), loaded.standard_error(name))
    assert str(loaded) == str(result)
    assert loaded.fingerprint == result.fingerprint
    with pytest.raises(
        dp.PlanError, match=r"holds intervals at confidence=0\.95 for the noise alone; got confidence=0\.9"
    ):
        loaded.interval("mean", confidence=0.9)


def test_files_of_earlier_versions_hold_none(tmp_path: Path) -> None:
    content = run().to_dict()
    del content["intervals"]
    (tmp_path / "result.json").write_text(json.dumps(content))
    loaded = dp.Result.load(tmp_path / "result.json")
    with pytest.raises(dp.PlanError, match="written without error bars"):
        loaded.interval("mean")
    assert "±" not in str(loaded)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": [1.0]}, "intervals.mean has parts that are not like the value"),
        ({"determined": [0, 1]}, "intervals.mean has parts that are not like the value"),
        ({"confidence": 2.0}, "intervals.mean.confidence is not between 0 and 1"),
        ({"method": 3}, "intervals.mean.method"),
        ({"more": 3}, "intervals.mean.more is not a field of Interval"),
    ],
)
def test_files_with_wrong_intervals_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    content = run().to_dict()
    content["intervals"]["mean"] |= change
    (tmp_path / "result.json").write_text(json.dumps(content))
    with pytest.raises(dp.DataError, match=message):
        dp.Result.load(tmp_path / "result.json")


@pytest.mark.parametrize("mechanism", ["gaussian", "matrix-laplace"])
@pytest.mark.parametrize("cells", [np.zeros((0, 3)), np.full((1, 3), 4.0), np.full((500, 3), 3.0)], ids=len)
def test_no_table_is_too_odd_for_intervals_and_reports(cells: Any, mechanism: str) -> None:
    """No row, one row, and constant columns: counts and variances are within noise of zero."""
    plan = dp.Plan(
        rows=dp.Rows(columns=[dp.Column(name, 0, 10) for name in "abc"], neighbors="replace", center=True),
        budget=dp.Budget(epsilon=1.0, delta=1e-6 if mechanism == "gaussian" else 0.0),
        steps=[
            dp.release("moment", mechanism),
            dp.derive("covariance", "covariance", of="moment"),
            dp.derive("correlation", "correlation", of="covariance"),
            dp.derive("components", "top-subspace", of="covariance", k=2),
            dp.derive("explained", "explained-variance", of="covariance", components="components"),
        ],
    )
    for seed in range(8):
        result = plan.run(dict(zip("abc", cells.T, strict=True)), insecure_seed=seed)
        for name in result:
            found = result.interval(name)
            assert not np.isnan([found.low, found.high, result.standard_error(name)]).any()
            assert (found.low <= found.high).all()
        assert "nan" not in str(result)


def test_nothing_is_computed_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(ErrorBars, "_law", lambda self, step: asked.append(step.name))
    result = run()
    assert result["mean"].shape == (2,)
    assert result.fingerprint
    assert [] == asked
    str(result)
    assert asked
