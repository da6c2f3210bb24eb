"""OpenDP's measurements as mechanisms: their maps give the loss, and the relation must agree."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import opendp.prelude as opendp
import pytest
from opendp import mod

import dpframe.plugin as dp
from dpframe_opendp import MeasuredMechanism, OpenDPGaussian, OpenDPLaplace
from dpframe_opendp.measured import contributed

X = np.random.default_rng(4).standard_normal((400, 3)) / 2


def plan(neighbors: str, mechanism: str = "opendp-gaussian", **rows: Any) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors=neighbors, **rows),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("value", mechanism, neighbors=neighbors)],
    )


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("kind", [OpenDPGaussian, OpenDPLaplace])
def test_the_map_of_the_measurement_is_the_loss(
    kind: type[MeasuredMechanism], contributions: int, neighbors: str
) -> None:
    """Never above the level, and no smaller noise would do."""
    mechanism: Any = kind(neighbors=neighbors)
    built = plan(neighbors, mechanism.name, dim=3, contributions=contributions)
    level = built.pricing.levels["value"]
    scale = mechanism.scale(built.rows, level)
    (statistic,) = mechanism.reads()
    moved = statistic.sensitivity(built.rows)[mechanism.part]
    distance = moved.l1 if kind is OpenDPLaplace else math.sqrt(moved.l2_squared)
    with contributed():
        assert level * (1 - 1e-9) <= mechanism.measurement(scale).map(distance) <= level
        assert mechanism.measurement(scale * (1 - 1e-9)).map(distance) > level
    closed = distance / level if kind is OpenDPLaplace else distance / math.sqrt(2 * level)
    assert closed == pytest.approx(scale, rel=1e-9)


def test_noise_has_the_stated_size() -> None:
    """40 releases of 10 × 10 entries: variances within 6 deviations of an estimate, for a false alarm below 1e-7."""
    built, releases, dim = plan("replace", dim=10), 40, 10
    noise = built.explain().statement.lines[0].noise
    values = np.array([built.run(np.zeros((1, dim)))["value"] for _ in range(releases)])
    on, off = np.diagonal(values, axis1=1, axis2=2), values[:, *np.triu_indices(dim, 1)]
    for drawn, stated in ((on, noise["diagonal"]), (off, noise["off-diagonal"])):
        variance, error = np.square(drawn).mean(), 6 * math.sqrt(2 / drawn.size)
        assert abs(variance / stated**2 - 1) < error
        assert abs(variance / (1.4 * stated) ** 2 - 1) > error / 1.4**2  # another scale would be found
    assert (values == values.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("mechanism", ["opendp-gaussian", "opendp-laplace"])
def test_another_relation_than_declared_is_refused(mechanism: str) -> None:
    with pytest.raises(dp.PlanError, match="declared for 'replace' neighbors, but the promise is about 'add-remove'"):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="add-remove"),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("value", mechanism, neighbors="replace")],
        )
    with pytest.raises(dp.PlanError, match="neighbors"):
        dp.release("value", mechanism)


def test_reports_say_who_draws_and_no_seed_is_taken() -> None:
    built = plan("replace")
    with pytest.raises(dp.PlanError, match="'value' is drawn inside OpenDP, which insecure_seed= cannot seed"):
        built.run(X, insecure_seed=1)
    result = built.run(X)
    assert "the noise of 'value' is drawn inside OpenDP" in result.statement.against
    assert "drawn inside OpenDP" in " ".join(str(result).split())
    assert "the noise of 'value' is drawn inside OpenDP" in result.to_registry().partition("mechanisms:")[2]
    assert "OpenDP" not in plan_of_ours().explain().statement.against


def plan_of_ours() -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("value", "gaussian")],
    )


def test_opendp_is_left_as_it_was_found() -> None:
    from opendp import mod

    before = set(mod.GLOBAL_FEATURES)
    mod.disable_features("contrib")
    try:
        plan("replace").run(X)
        assert "contrib" not in mod.GLOBAL_FEATURES
    finally:
        mod.enable_features(*before)


def test_too_small_a_level_is_refused_before_the_charge() -> None:
    with pytest.raises(dp.PlanError, match="would need noise of a scale above"):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace", dim=3),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("value", "opendp-laplace", neighbors="replace", level=1e-12)],
        )


@attrs.frozen(kw_only=True)
class Mismatched(MeasuredMechanism):
    """A measurement that the statistic has no sensitivity for, or that promises another measure than its unit."""

    name = "mismatched"
    unit = "epsilon"
    gives = dp.Vector
    part = "moment"
    gaussian: bool = False

    def measurement(self, scale: float) -> Any:
        integers = opendp.vector_domain(opendp.atom_domain(T="i64"))
        if self.gaussian:
            return opendp.m.make_gaussian(integers, opendp.l2_distance(T="f64"), scale=scale)
        return opendp.m.make_laplace(integers, opendp.l1_distance(T="i64"), scale=scale)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.Vector(self.measured(data, level).ravel().astype(np.float64))


@pytest.mark.parametrize(
    ("gaussian", "reason"), [(True, "must have the output measure MaxDivergence"), (False, "states no sensitivity")]
)
def test_a_measurement_that_does_not_fit_is_refused(gaussian: bool, reason: str) -> None:
    with pytest.raises(dp.PlanError, match=reason):
        dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace", dim=3),
            budget=dp.Budget(epsilon=1.0),
            steps=[dp.Step(name="value", action=Mismatched(neighbors="replace", gaussian=gaussian))],
        )


def test_the_first_thread_to_finish_leaves_the_features_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the process: a release that builds its measurement then would fail after the charge."""
    monkeypatch.setattr(mod, "GLOBAL_FEATURES", set())
    first, second = contributed(), contributed()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert {"contrib"} == mod.GLOBAL_FEATURES
    second.__exit__(None, None, None)
    assert set() == mod.GLOBAL_FEATURES
    mod.enable_features("contrib")
    with contributed():
        pass
    assert {"contrib"} == mod.GLOBAL_FEATURES
