"""Linear discriminant analysis from a covariance: against the textbook, and in a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.postprocess import DiscriminantOf

LEVELS = ("a", "b", "c")


def table(count: int = 3000) -> tuple[NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(2)
    group = random.choice(3, count, p=[0.5, 0.3, 0.2])
    shifts = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [-1.0, 2.0, 0.5]])
    root = np.array([[1.0, 0.3, 0.0], [0.0, 1.2, 0.4], [0.0, 0.0, 0.8]])
    return shifts[group] + random.standard_normal((count, 3)) @ root + [10.0, 20.0, 30.0], group


def textbook(rows: NDArray[Any], group: NDArray[Any]) -> NDArray[Any]:
    """Slopes and intercept of the score of each class."""
    shares = np.array([(group == k).mean() for k in range(3)])
    means = np.array([rows[group == k].mean(axis=0) for k in range(3)])
    within = sum(share * np.cov(rows[group == k].T, bias=True) for k, share in enumerate(shares))
    slopes = np.linalg.solve(within, means.T).T
    return np.column_stack([slopes, np.log(shares) - np.einsum("ij,ij->i", slopes, means) / 2])


def given(rows: NDArray[Any], group: NDArray[Any]) -> dict[str, Any]:
    scale, offset = np.array([2.0, 5.0, 0.5, 1.0, 1.0, 1.0]), np.array([1.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    axes = dp.Axes(("x", "y", "z", "k=a", "k=b", "k=c"), tuple(scale), tuple(offset))
    whole = (np.column_stack([rows, np.eye(3)[group]]) - offset) / scale
    matrix = np.cov(whole.T, bias=True)
    return {"of": dp.Covariance((matrix + matrix.T) / 2, axes=axes), "mean": dp.Mean(whole.mean(axis=0), axes=axes)}


def test_without_noise_scores_differ_as_those_of_the_textbook() -> None:
    rows, group = table()
    found = DiscriminantOf(**given(rows, group), target="k", penalty=0.0).apply()
    expected = textbook(rows, group)
    assert np.allclose(expected[1:] - expected[0], found.array[1:] - found.array[0], rtol=1e-6, atol=1e-8)
    assert ("x", "y", "z") == found.features
    assert found.axes is not None
    assert ("k=a", "k=b", "k=c") == found.axes.labels
    assert [(group == k).mean() for k in range(3)] == pytest.approx(found.shares)
    some = DiscriminantOf(**given(rows, group), target="k", features=["z", "x"], penalty=0.0).apply()
    two = textbook(rows[:, [2, 0]], group)
    assert np.allclose(two[1:] - two[0], some.array[1:] - some.array[0], rtol=1e-6, atol=1e-8)


def test_a_run_tells_classes_apart_nearly_as_well() -> None:
    rows, group = table(20_000)
    columns: list[Any] = [dp.Column(name, 0, 60) for name in "xyz"]
    columns.append(dp.Category("k", list(LEVELS)))
    plan = dp.Plan(
        rows=dp.Rows(columns=columns, neighbors="replace"),
        budget=dp.Budget(epsilon=2.0, delta=1e-6),
        steps=[
            dp.release("cov", "adaptive", goal="regression", target="k"),
            dp.derive("classes", "discriminant", of="cov", target="k"),
        ],
    )
    data = dict(zip("xyz", rows.T, strict=True)) | {"k": np.array(LEVELS)[group]}
    result = plan.run(data, insecure_seed=1)

    def right(scores: NDArray[Any]) -> float:
        return float((np.argmax(rows @ scores[:, :-1].T + scores[:, -1], axis=1) == group).mean())

    assert right(result["classes"]) > right(textbook(rows, group)) - 0.02
    assert (3, 4) == plan.shapes["classes"]
    assert plan == dp.Plan.loads(plan.dumps())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"target": "x"}, "must be a category of at least two levels"),
        ({"target": "k", "features": ["k=a"]}, "the target 'k=a' is among the features"),
        ({"target": "k", "features": ["x", "k=b"]}, "none that is a level of its target"),
        ({"target": "k", "features": ["w"]}, "features='w' is not a column"),
    ],
)
def test_refusals(parameters: dict[str, Any], words: str) -> None:
    rows = dp.Rows(columns=[dp.Column("x", 0, 1), dp.Category("k", ["a", "b"])], neighbors="replace")
    steps = [dp.release("cov", "adaptive"), dp.derive("classes", "discriminant", of="cov", **parameters)]
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0), steps=steps)
