"""Blocks about a released center, with radii that are shares of a released norm."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_spiked import BlockEstimate, BlockHistogram, BlockRadii, Blocks

RELATIONS = ("add-remove", "replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DIM, RANK = 9, 2
COLUMNS = tuple(dp.Column(f"x{i}", 0, 100) for i in range(DIM))
TABLE = dp.Rows(columns=COLUMNS, neighbors="add-remove")
BASIS = np.linalg.qr(np.random.default_rng(3).standard_normal((DIM, RANK)))[0]


def plan(rows: dp.Rows = TABLE, budget: dp.Budget = BUDGET, **given: Any) -> dp.Plan:
    step = dp.release("cov", "spiked-block", **{"rank": RANK, "release_center": True, **given})
    return dp.Plan(rows=rows, budget=budget, steps=[step])


def cells(count: int = 20_000) -> Any:
    """Rows far from the middle of their ranges, with two strong directions."""
    random = np.random.default_rng(4)
    strong = random.standard_normal((count, RANK)) * [8.0, 5.0]
    return np.clip(15 + strong @ BASIS.T + random.standard_normal((count, DIM)), 0, 100)


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_finds_the_covariance_of_a_table(relation: str) -> None:
    found, data = plan(attrs.evolve(TABLE, neighbors=relation)), cells()
    names = ["cov.sum", "cov.center", "cov.count", "cov.radius", "cov.moment", "cov.basis", "cov.radii", "cov.blocks"]
    assert [*names, "cov"] == [step.name for step in found.steps]
    assert dp.Covariance is found.kinds["cov"]
    assert 1.0 - 1e-6 < found.spent.epsilon <= 1.0
    result = found.run(data, insecure_seed=1)
    exact = np.cov(data.T, bias=True) / 50**2  # in coordinates from -1 to 1
    error = float(np.linalg.norm(result["cov"] - exact) / np.linalg.norm(exact))
    plain = dp.Plan(
        rows=attrs.evolve(found.rows, center=True),
        budget=BUDGET,
        steps=[dp.release("m", "gaussian"), dp.derive("cov", "covariance", of="m")],
    )
    by_plain = float(np.linalg.norm(plain.run(data, insecure_seed=1)["cov"] - exact) / np.linalg.norm(exact))
    assert error < 0.15
    assert error < 0.3 * by_plain  # measured: below a tenth
    assert result["cov.radii"].max() <= float(result["cov.radius"])
    units = dp.Plan(rows=found.rows, budget=BUDGET, steps=[*found.declared, dp.derive("u", "to-units", of="cov")])
    np.testing.assert_allclose(units.run(data, insecure_seed=1)["u"], result["cov"] * 50**2, rtol=1e-9)


def test_a_scenario_chooses_the_rounds_and_given_radii_are_used() -> None:
    scenario = dp.Scenario(model="spiked", dim=DIM, n=20_000, rank=RANK, spike=0.02, noise=0.0004)
    step = dp.release("cov", "spiked-block", rank=RANK, release_center=True)
    chosen = dp.Plan(rows=TABLE, budget=BUDGET, steps=[step], scenario=scenario)
    assert "cov.blocks-2" in chosen.kinds
    weak = dp.Plan(rows=TABLE, budget=BUDGET, steps=[step], scenario=attrs.evolve(scenario, spike=4e-6))
    assert plan().steps == weak.steps
    assert "cov.radii" not in plan(radii=(0.3, 0.1)).kinds
    assert 3 == sum(name.startswith("cov.blocks") for name in plan(shares=(0.1, 0.2, 0.3, 0.4)).kinds)
    assert plan() == dp.Plan.loads(plan().dumps())


@pytest.mark.parametrize("data", [np.zeros((0, DIM)), np.zeros((5, DIM)), np.full((5, DIM), np.nan), cells(3)])
def test_no_data_fails_it(data: Any) -> None:
    assert (DIM, DIM) == plan().run(data)["cov"].shape


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rows": attrs.evolve(TABLE, norm=1.0)}, "without about=, scale= and norm="),
        ({"rows": attrs.evolve(TABLE, about=(0.1,) * DIM)}, "without about=, scale= and norm="),
        ({"rows": dp.Rows(norm=1.0, neighbors="replace", dim=DIM)}, "needs dp.Rows"),
        ({"rows": attrs.evolve(TABLE, center=True)}, "With release_center=True it takes the rows of a table about"),
        ({"range_radii": True}, "takes radii= or released radii"),
        ({"shares": (1.0,)}, "at least one round"),
        ({"budget": dp.Budget(epsilon=1.0)}, "no pure guarantee"),
    ],
)
def test_refusals(given: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.PlanError, match=says):
        plan(**given)


def test_radii_are_released_with_a_released_norm() -> None:
    """As shares of it: for rows of a plan with a released norm, about a released center too."""
    rows = attrs.evolve(TABLE, about=dp.ref("center"), norm=dp.ref("radius"))
    steps = [
        dp.release("sum", "gaussian-sum", weight=0.3),
        dp.derive("center", "mean", of="sum"),
        dp.release("radius", "private-quantile", quantile=0.95, high=6.0, weight=0.25),
        dp.release("moment", "spiked-block", rank=RANK, release_radii=True, shares=(0.2, 0.8)),
    ]
    found = dp.Plan(rows=rows, budget=BUDGET, steps=steps)
    result, data = found.run(cells(), insecure_seed=1), cells()
    about = (data / 50 - 1) - result["center"]
    rotation = dp.BlockMoment.rotation(dp.Subspace(result["moment.basis"]))
    for radius, side in zip(result["moment.radii"], (rotation[:, :RANK], rotation[:, RANK:]), strict=True):
        assert float(np.quantile(np.linalg.norm(about @ side, axis=1), 0.95)) == pytest.approx(radius, rel=0.2)


@pytest.mark.parametrize("norm", [1e-140, 1e-3, 2.5, 1e140])
def test_shares_of_the_norm_are_the_lengths_that_they_stand_for(norm: float) -> None:
    """The same counts, and the same draw, as with the lengths themselves, wherever these are numbers."""
    rows = dp.Rows(norm=norm, neighbors="replace", dim=DIM)
    chunk = dp.Chunk(rows, np.random.default_rng(1).standard_normal((500, DIM)) * norm)
    shares = BlockRadii(basis=BASIS, quantile=0.9)
    statistic = shares.reads()[0]
    data = dp.PrivateData(rows, statistics={statistic: statistic.partial(chunk)})
    released = shares.release(data, 5.0, seeded(2)).array
    assert np.all((released >= 1e-140) & (released <= norm))
    assert np.isfinite(shares.log_density(dp.Radii(released), data, 5.0))
    assert isinstance(statistic, BlockHistogram)
    if 1e-100 < norm < 1e100:
        lengths = BlockRadii(basis=BASIS, quantile=0.9, high=norm)
        (other,) = lengths.reads()
        parts = other.partial(chunk)
        for part, counts in statistic.partial(chunk).items():
            np.testing.assert_array_equal(counts, parts[part])
        again = lengths.release(dp.PrivateData(rows, statistics={other: parts}), 5.0, seeded(2)).array
        np.testing.assert_allclose(again, released, rtol=1e-12)


def test_the_residual_of_an_earlier_estimate_is_kept_with_the_new_trace() -> None:
    rotation = dp.BlockMoment.rotation(dp.Subspace(BASIS))
    within = np.diag([9.0, 8.0, 3.0, 2.0, 1.0, 1.0, 0.5, 0.3, 0.2])
    prior = rotation @ within @ rotation.T
    prior = (prior + prior.T) / 2
    blocks = np.diag([9.5, 8.5, *[2.0] * 7])
    given: dict[str, Any] = {"of": Blocks(blocks, basis=BASIS), "prior": prior}
    found = rotation.T @ BlockEstimate(**given, residual="prior").apply().array @ rotation
    np.testing.assert_allclose(np.diag(found)[2:], np.diag(within)[2:] + (14.0 - 8.0) / 7, atol=1e-9)
    assert np.trace(found[2:, 2:]) == pytest.approx(14.0)
    divided = BlockEstimate(**given, count=10.0).apply()
    assert dp.Covariance is type(divided)
    np.testing.assert_allclose(divided.array, BlockEstimate(**given).apply().array / 10, atol=1e-12)
    none = BlockEstimate(**given, count=-3.0).apply()  # a noisy count
    np.testing.assert_allclose(none.array, BlockEstimate(**given).apply().array, atol=1e-12)
    with pytest.raises(dp.PlanError, match="needs an earlier estimate"):
        BlockEstimate(of=given["of"], residual="prior")
