"""Plans whose steps see rows about different points: every part of a run uses the rows of its own step."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.auditing.neighbor_pairs import built_in
from dpframe.auditing.trials import Experiment
from dpframe.forecast.error_norms import CAPTURED, FROBENIUS
from dpframe.forecast.population import Sample, population
from dpframe.forecast.simulation import one_release, simulate
from dpframe.run.runner import draw_and_derive
from dpframe.sources import open_source
from dpframe.testing import seeded
from tests.support.mechanisms import registered

COLUMNS = tuple(dp.Column(f"x{i}", 0, 100) for i in range(4))
DATA = np.random.default_rng(5).uniform(0, 60, (400, 4))
AMPLE = dp.Budget(epsilon=1e4, delta=1e-6)
RADIUS = dp.release("radius", "private-quantile", quantile=0.9, high=2.0, level=0.1)
CENTER = (dp.release("sum", "gaussian-sum", level=1.0), dp.derive("center", "mean", of="sum"))
MOMENT = dp.release("m", "gaussian", level=1.0)


def plan(*steps: dp.Step, budget: dp.Budget = AMPLE, **rows: Any) -> dp.Plan:
    return dp.Plan(rows=dp.Rows(columns=COLUMNS, neighbors="add-remove", **rows), budget=budget, steps=[*steps])


def quantile(name: str, **more: Any) -> dp.Step:
    return dp.release(name, "private-quantile", quantile=0.5, high=4.0, level=0.1, **more)


ABOUT: dict[str, Any] = {"about": (0.5,) * 4}
PLANS = {
    "a sum beside a released norm": plan(RADIUS, CENTER[0], MOMENT, norm=dp.ref("radius")),
    "a sum before the norm": plan(CENTER[0], RADIUS, MOMENT, norm=dp.ref("radius")),
    "a sum whose step has a released norm": plan(
        RADIUS, dp.release("s", "gaussian-sum", level=1.0, rows={"norm": dp.ref("radius")})
    ),
    "lengths about another point, after the norm was released": plan(
        RADIUS, quantile("q", rows=ABOUT), MOMENT, norm=dp.ref("radius")
    ),
    "lengths about another point, before": plan(quantile("q", rows=ABOUT), RADIUS, MOMENT, norm=dp.ref("radius")),
    "lengths whose step has a released norm": plan(RADIUS, quantile("q", rows={"norm": dp.ref("radius")})),
    "a column whose step has a released norm": plan(
        RADIUS,
        dp.release(
            *("q", "private-quantile"),
            quantile=0.5,
            column="x0",
            low=0,
            high=100,
            level=0.1,
            rows={"norm": dp.ref("radius")},
        ),
    ),
    "a norm that is negative": plan(
        dp.release("radius", "private-quantile", quantile=0.5, column="x0", low=-10, high=0, level=0.1),
        MOMENT,
        norm=dp.ref("radius"),
    ),
    "scales": plan(
        dp.release("first", "gaussian", level=1.0),
        dp.derive("cov", "covariance", of="first"),
        dp.derive("scales", "scales", of="cov"),
        dp.release("second", "gaussian", level=1.0, rows={"scale": dp.ref("scales")}),
        center=True,
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_it_runs_whatever_is_released_meanwhile(name: str) -> None:
    found = PLANS[name].run(DATA, insecure_seed=3)
    assert {step.name for step in PLANS[name].steps} == set(found)


def test_a_statistic_is_read_once_all_that_it_needs_is_released_and_not_later() -> None:
    column = dp.release("column", "private-quantile", quantile=0.5, column="x0", low=0, high=100, level=0.1)
    lengths = quantile("lengths", rows={"scale": dp.ref("scales")})
    found = plan(*PLANS["scales"].steps[:3], lengths, center=True)
    assert {"first": 1, "cov": 1, "scales": 1, "lengths": 2} == found.passes
    found = plan(*CENTER, column, quantile("lengths"), MOMENT, about=dp.ref("center"), norm=dp.ref("lengths"))
    assert {"sum": 1, "center": 1, "column": 1, "lengths": 2, "m": 3} == found.passes


def test_released_radii_equal_to_a_public_one() -> None:
    """The same norm by coincidence: what was read is found again."""
    fixed = dp.release("radius", "private-quantile", quantile=0.5, high=2.0, low=1.9999999, points=2, level=0.1)
    for norm in (1.9999999, 2.0):
        steps = (fixed, MOMENT, dp.release("same", "gaussian", level=1.0, rows={"norm": norm}))
        assert {"radius", "m", "same"} == set(plan(*steps, norm=dp.ref("radius")).run(DATA, insecure_seed=1))


@pytest.mark.parametrize("norm", [10.0, dp.ref("radius")])
def test_arrays_are_summed_within_the_norm_of_the_step(norm: Any) -> None:
    """The same integers, in the same units, as for a plan of that norm alone."""
    total = dp.release("s", "gaussian-sum", level=1.0)
    steps = [RADIUS, attrs.evolve(total, rows={"norm": 2.0}), dp.derive("mean", "mean", of="s")]
    found = dp.Plan(rows=dp.Rows(norm=norm, neighbors="add-remove"), budget=AMPLE, steps=steps).run(
        DATA / 40, insecure_seed=1
    )
    expected = dp.Plan(rows=dp.Rows(norm=2.0, neighbors="add-remove"), budget=AMPLE, steps=[total]).run(
        DATA / 40, insecure_seed=1
    )
    assert expected["s"].tolist() == found["s"].tolist()
    assert expected.record("s").line.noise == found.record("s").line.noise


@pytest.mark.parametrize("norm", [10.0, dp.ref("radius")])
def test_lengths_of_arrays_do_not_wait_for_a_released_norm(norm: Any) -> None:
    steps = [RADIUS, quantile("q", rows={"norm": dp.ref("radius")})]
    found = dp.Plan(rows=dp.Rows(norm=norm, neighbors="add-remove"), budget=AMPLE, steps=steps)
    assert {"radius": 1, "q": 1} == found.passes
    assert {"radius", "q"} == set(found.run(DATA, insecure_seed=1))


def test_scales_in_units_are_those_of_the_coordinates() -> None:
    """Rows divided by their standard deviations have variances near 1, whatever units the deviations are in."""
    for of in ("cov", "units"):
        steps = (
            dp.release("first", "gaussian", level=50.0),
            dp.derive("cov", "covariance", of="first"),
            dp.derive("units", "to-units", of="cov"),
            dp.derive("scales", "scales", of=of),
            dp.release("second", "gaussian", level=50.0, rows={"scale": dp.ref("scales"), "norm": 6.0}),
            dp.derive("scaled", "covariance", of="second"),
        )
        found = plan(*steps, center=True).run(DATA, insecure_seed=3)
        assert np.diag(found["scaled"]) == pytest.approx([1.0] * 4, abs=0.05)


def test_arrays_need_a_public_norm_for_sums() -> None:
    rows = dp.Rows(norm=dp.ref("radius"), neighbors="add-remove")
    with pytest.raises(dp.PlanError, match=r"step 'sum': a sum of rows needs public ranges, columns=\[\.\.\.\], or a"):
        dp.Plan(rows=rows, budget=AMPLE, steps=[RADIUS, CENTER[0]])


def test_a_center_of_another_length_is_refused_when_the_plan_is_built() -> None:
    mean = dp.derive("center", "mean", of=dp.AugmentedMoment(np.eye(3), constant=1.0))
    with (
        registered(Short),
        pytest.raises(dp.PlanError, match="the about of rows must be 4 numbers, one per coordinate"),
    ):
        plan(dp.release("s", "gaussian-sum"), dp.derive("center", "short-mean", of="s"), MOMENT, about=dp.ref("center"))
    with pytest.raises(dp.ReleaseFailed, match=r"Rows\.about has 2 numbers, but the columns make 4 coordinates"):
        plan(mean, MOMENT, about=dp.ref("center")).run(DATA, insecure_seed=1)  # its length is not declared


@attrs.frozen(kw_only=True)
class Short(dp.PostProcessor):
    """A mean of two coordinates."""

    name = "short-mean"
    gives = dp.Mean

    of: Any = dp.input(dp.AugmentedSum)

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (2,)

    def apply(self) -> dp.Mean:
        return dp.Mean(self.of.array[:2])


@attrs.frozen(kw_only=True)
class ByLength(dp.Mechanism):
    """Its loss, least level and noise depend on the rows that its step sees."""

    name = "by-length"
    unit = "mu"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level * rows.length)

    def check_level(self, rows: dp.Rows, level: float) -> None:
        if rows.length > 50.0:
            raise dp.PlanError("these rows are too long.")

    def noise(self, rows: dp.Rows, level: float) -> dict[str, float]:
        return {"each": rows.length}

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.Scalar(data.rows.length)


def test_losses_levels_and_noise_are_those_of_the_rows_of_the_step() -> None:
    with registered(ByLength):
        step = dp.release("x", "by-length", level=0.1, rows={"norm": 30.0})
        found = plan(step)
        assert (dp.losses.Gaussian(mu=0.1 * 30.0),) == found.pricing.losses["x"]
        result = found.run(DATA, insecure_seed=1)
        assert (30.0, {"each": 30.0}) == (float(result["x"]), result.record("x").line.noise)
        assert {"rows.norm": "30.0"} == result.record("x").line.parameters
        with pytest.raises(dp.PlanError, match="step 'x': these rows are too long"):
            plan(attrs.evolve(step, rows={"norm": 51.0}))


def test_plans_that_differ_in_the_rows_of_a_step_have_different_hashes() -> None:
    found = [
        plan(attrs.evolve(MOMENT, rows=rows))
        for rows in (
            None,
            {"norm": 1.0},
            {"norm": 2.0},
            {"scale": (2.0,) * 4},
            {"about": (0.5,) * 4},
            {"norm": 1.0, **ABOUT},
        )
    ]
    assert len(found) == len({each.content_hash for each in found}) == len({repr(each.steps) for each in found})
    assert all(each == dp.Plan.loads(each.dumps()) for each in found)
    unwritable = dp.derive(
        "v", "eigenvalues", of=dp.SymmetricMatrix(np.eye(2), axes=dp.Axes(("a", "b"), (1.0,) * 2, (0.0,) * 2))
    )
    hashes = {plan(each.steps[0], unwritable).content_hash for each in found}
    assert len(found) == len(hashes)


def test_a_parameter_cannot_have_the_name_of_a_part_of_a_step() -> None:
    @attrs.frozen(kw_only=True)
    class Shadowing(ByLength):
        name = "shadowing"
        rows: float = 1.0

    with pytest.raises(dp.PluginError, match="Shadowing has a parameter 'rows', which every step has"):
        dp.register(Shadowing)


@pytest.mark.parametrize("part", ["about", "scale", "norm"])
def test_a_model_that_a_part_rests_on_is_not_forgotten(part: str) -> None:
    """Rows about what has no worst-case guarantee give a release that has none either."""
    gives = {"about": dp.Mean([0.1] * 4), "scale": dp.Scales([0.5] * 4), "norm": dp.Scalar(1.0)}[part]
    rows = dp.Rows(columns=COLUMNS, neighbors="replace")
    with registered(RestsOnAModel):
        modeled = dp.release("part", "rests-on-a-model", value=gives)
        found = dp.Plan(
            rows=rows,
            budget=AMPLE,
            steps=[modeled, attrs.evolve(MOMENT, rows={part: dp.ref("part")}), attrs.evolve(MOMENT, name="plain")],
            accept=[dp.model("spiked-covariance")],
        )
        assert {"part", "m"} == found.modeled
        assert {"part": 1, "m": 2, "plain": 1} == found.passes


@attrs.frozen(kw_only=True)
class RestsOnAModel(dp.Mechanism):
    """A fixed value that is said to rest on a model."""

    name = "rests-on-a-model"
    unit = "mu"
    gives = dp.Kind

    value: dp.Kind

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return type(self.value)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.ModelBased(loss=dp.losses.Gaussian(mu=level), model="spiked-covariance", failure="none")

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return self.value


def test_the_density_is_that_of_the_rows_of_the_step() -> None:
    """An audit of two promises in one plan has the likelihood ratios of two plans, one for each."""
    a, b = (dp.release(name, "gaussian", level=0.5) for name in ("a", "b"))
    both, first, second = plan(a, attrs.evolve(b, rows=ABOUT)), plan(a), plan(b, **ABOUT)
    experiments = [Experiment(each, tuple(built_in(each.rows))) for each in (both, first, second)]
    values = experiments[0].released(0, False, seeded(1))
    ratios = [each._log_ratio(0, values) for each in experiments]
    assert ratios[0] == pytest.approx(sum(filter(None, ratios[1:])))
    assert abs(ratios[1] or 0.0) > 1e-6 < abs(ratios[2] or 0.0)


TABLE = dp.Scenario(dim=4, n=3000, model="table", shape="off-center")
PLACED = {
    "a public center": plan(attrs.evolve(MOMENT, level=60.0), **ABOUT),
    "a public center of the step": plan(attrs.evolve(MOMENT, level=60.0, rows=ABOUT)),
    "a released center": plan(
        *(attrs.evolve(CENTER[0], level=60.0), CENTER[1], attrs.evolve(MOMENT, level=60.0)), about=dp.ref("center")
    ),
}


@pytest.mark.parametrize("built", PLACED.values(), ids=PLACED)
def test_placed_rows_are_simulated_in_their_own_coordinates(built: dp.Plan) -> None:
    """With hardly any noise nothing is left of the error: the truth is about the same point."""
    assert simulate(built, TABLE, draws=3, seed=1).of("m")[FROBENIUS].max() < 1.0  # of a moment of some hundreds
    sample = population(built, TABLE, 1)
    moment = sample.spread(built.rows.unplaced)
    assert np.linalg.norm(moment) > 1000.0


def test_released_scales_are_the_units_of_the_truth() -> None:
    """The scales of each release differ by their noise, and the moments in these scales do not."""
    with registered(AboutItsMean):
        steps = [
            *(attrs.evolve(CENTER[0], level=60.0), CENTER[1]),
            dp.release("around", "test-about", level=0.05),
            dp.derive("scale", "scales", of="around"),
            attrs.evolve(MOMENT, level=60.0),
        ]
        built = plan(*steps, about=dp.ref("center"), scale=dp.ref("scale"))
        simulated = simulate(built, TABLE, draws=4, seed=1)
    assert simulated.of("scale")[FROBENIUS].min() > 1e-3
    assert simulated.of("m")[FROBENIUS].max() < 1.0  # of a moment of thousands


@attrs.frozen(kw_only=True)
class AboutItsMean(dp.Mechanism):
    """The covariance of rows with noise, from nowhere: a table of deviations that differ."""

    name = "test-about"
    unit = "mu"
    gives = dp.Covariance

    def reads(self) -> tuple[dp.Statistic, ...]:
        return ()

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.Covariance(np.diag(1.0 + 1e-7 * np.abs(random.gaussian(1e6, 4))))


def test_captured_variance_is_about_the_mean_where_the_exact_center_is_not_known() -> None:
    """A share of the best is at most 1, up to rounding: `adaptive` derives its center from lengths as well."""
    built = plan(
        dp.release("cov", "adaptive"), dp.derive("top", "top-subspace", of="cov", k=2), budget=dp.Budget(epsilon=9.0)
    )
    found = simulate(built, TABLE, draws=3, seed=1).of("top")
    assert found[CAPTURED].max() <= 1.0 + 1e-9
    assert found[CAPTURED].min() > 0.2


def test_what_is_simulated_is_what_a_run_gives_for_the_same_rows() -> None:
    """The same randomness gives the same values, bit for bit: released centers, norms and blocks about them."""
    columns = [dp.Column(f"x{i}", -1, 1) for i in range(6)]
    built = dp.Plan(
        rows=dp.Rows(columns=columns, neighbors="replace"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("cov", "spiked-block", rank=2, release_center=True)],
    )
    sample = population(built, dp.Scenario(dim=6, n=2000, model="table", shape="skewed"), 3)
    assert isinstance(sample, Sample)
    simulated, _ = one_release(built, sample, seeded(4))
    ran = draw_and_derive(built, open_source(sample.values, built.rows), seeded(4)).values
    assert list(simulated) == list(ran)
    for name, value in ran.items():
        np.testing.assert_array_equal(value.array, simulated[name].array)


def test_placed_rows_need_rows() -> None:
    with pytest.raises(dp.PlanError, match="so a simulation needs rows"):
        plan(MOMENT, **ABOUT).explain(scenario=dp.Scenario(dim=4, spectrum=[4, 3, 2, 1]), simulations=200)


@pytest.mark.parametrize("norm", [1.0, 3.0])
def test_the_truth_of_a_comparison_does_not_depend_on_the_norm(norm: float) -> None:
    """At a budget of a thousand almost nothing but scaling down is left of the error."""
    scenario = dp.Scenario(dim=3, n=2000, spectrum=[0.3, 0.2, 0.1], model="gaussian")  # rows far within the norm
    found = dp.compare(
        task="moment",
        rows=dp.Rows(norm=norm, neighbors="replace"),
        budget=dp.Budget(epsilon=1000.0, delta=1e-6),
        scenario=scenario,
    )
    assert found.candidates[0].error < 1.0


@pytest.mark.parametrize(
    ("rows", "point", "at"),
    [
        ({"about": (-0.999,) * 4}, "center", 0.0),
        ({"about": (-0.999,) * 4, "scale": (0.5,) * 4}, "center", 0.0),
        ({"scale": (0.5,) * 4}, "middle of the range", 50.0),
        ({}, "middle of the range", 50.0),
    ],
)
def test_warnings_speak_of_the_point_that_squares_are_about(rows: dict[str, Any], point: str, at: float) -> None:
    data = np.full((2000, 4), at)
    data[:, 0] = np.linspace(0, 100, 2000)
    (warning,) = plan(attrs.evolve(MOMENT, rows=rows or None)).run(data, insecure_seed=1).warnings
    assert warning.startswith(f"'m': the sum of squares about the {point} of columns 'x1', 'x2', 'x3' is not")
