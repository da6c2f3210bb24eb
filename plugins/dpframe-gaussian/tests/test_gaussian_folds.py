"""Moments of folds: disjoint, at the price of one moment, with independent noise of the stated scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpframe.plugin as dp
from dpframe.testing import seeded
from dpframe_gaussian import GaussianFolds, SymmetricGaussian

RELATIONS = ("add-remove", "replace")
FALSE_ALARM = 1e-6


def plan(action: str, neighbors: str, **parameters: Any) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(norm=2.0, neighbors=neighbors, dim=3, center=True),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", action, **parameters)],
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_all_folds_cost_and_suffer_what_one_moment_does(relation: str) -> None:
    one, folds = plan("gaussian", relation), plan("gaussian-folds", relation, folds=7)
    assert one.spent == folds.spent
    (losses,) = folds.pricing.losses.values()
    assert folds.spent.epsilon == dp.accountant("gdp").epsilon(losses, delta=1e-6) <= 1.0
    assert SymmetricGaussian().noise(one.rows, 0.3) == GaussianFolds(folds=7).noise(folds.rows, 0.3)
    assert folds == dp.Plan.loads(folds.dumps())
    assert (28, 4) == folds.shapes["moment"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("contributions", [1, 3])
def test_noise_has_the_stated_scale_and_is_independent(relation: str, contributions: int) -> None:
    # 60,000 normals of each kind: a variance 4 % off is rejected at a false-alarm rate of 1e-6.
    folds, width = 6, 141
    rows = dp.Rows(norm=3.0, neighbors=relation, dim=width, contributions=contributions)
    mechanism = GaussianFolds(folds=folds)
    data = dp.PrivateData(
        rows, statistics={dp.FoldMoments(folds=folds): {"moments": np.zeros((folds, width, width), dtype=np.int64)}}
    )
    value = mechanism.release(data, 0.25, seeded(4))
    assert isinstance(value, dp.FoldedMoment)
    noise = value.moments / rows.step**2
    scale = contributions * (math.sqrt(2) if relation == "replace" else 1.0) * dp.lattice.RADIUS**2 / 0.25
    upper = noise[:, *np.triu_indices(width, 1)]
    diagonal = np.diagonal(noise, axis1=1, axis2=2)
    assert mechanism.noise(rows, 0.25)["diagonal"] == pytest.approx(scale * rows.step**2)
    for samples, deviation in ((upper.ravel(), scale / math.sqrt(2)), (diagonal.ravel(), scale)):
        assert _accepts(samples, deviation)
    for wrong in (0.96, 1.04):
        assert not _accepts(upper.ravel(), wrong * scale / math.sqrt(2))
    shared = np.asarray(np.corrcoef(upper))[np.triu_indices(folds, 1)]
    assert np.abs(shared).max() < 5.5 / math.sqrt(upper.shape[1])  # beyond for one of 15 pairs at a rate of 6e-7


def _accepts(samples: Any, deviation: float) -> bool:
    statistic, count = float((samples**2).sum()) / deviation**2, samples.size
    tail = min(stats.chi2.cdf(statistic, count), stats.chi2.sf(statistic, count))
    return bool(2 * tail > FALSE_ALARM)


def test_folds_are_disjoint_and_add_up_to_the_moment() -> None:
    data = np.random.default_rng(0).standard_normal((3000, 3))
    made = dp.Plan(
        rows=dp.Rows(norm=5.0, neighbors="add-remove", center=True),
        budget=dp.Budget(epsilon=9e5, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian", level=100.0),
            dp.release("folds", "gaussian-folds", folds=5, level=100.0),
        ],
    )
    result = made.run(data, insecure_seed=1)
    value = result.record("folds").value
    assert isinstance(value, dp.FoldedMoment)
    assert value.constant is not None
    assert result["moment"] == pytest.approx(value.moments.sum(axis=0), abs=15.0)
    counts = value.moments[:, -1, -1] / value.constant**2
    assert 3000 == pytest.approx(counts.sum(), abs=30.0)
    assert counts.min() > 500  # 600 expected, with a deviation of 22


@pytest.mark.parametrize("changed", [{"folds": 1}, {"folds": 101}, {"folds": 2.0}, {"key": -1}])
def test_refusals(changed: dict[str, Any]) -> None:
    with pytest.raises(dp.PlanError, match="FoldMoments"):
        dp.release("folds", "gaussian-folds", **changed)
