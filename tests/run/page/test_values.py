"""Values of every kind have a section; none is shown without its error where that is known."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import numpy as np
import pytest

import dpframe as dp
from dpframe import kinds
from dpframe.kinds import Kind
from tests.support.pages_of_plans import DATA, hostile_plan

SQUARE = np.array([[2.0, 0.5], [0.5, 1.0]])
COMPLEX = np.array([[2.0, 0.5j], [-0.5j, 1.0]])
VALUES: list[Kind] = [
    kinds.HermitianMatrix(COMPLEX),
    kinds.SymmetricMatrix(SQUARE),
    kinds.Covariance(SQUARE),
    kinds.AugmentedMoment(SQUARE, constant=1.0),
    kinds.FoldedMoment(np.vstack([SQUARE, SQUARE]), folds=2),
    kinds.AugmentedSum([1.0, 2.0], constant=1.0),
    kinds.Spectrum([3.0, 1.0]),
    kinds.Spectrum([0.0, 0.0]),
    kinds.ComplexSubspace(np.array([[1.0], [1.0j]]) / np.sqrt(2)),
    kinds.Subspace([[1.0], [0.0]]),
    kinds.Loadings(SQUARE),
    kinds.Vector([1.0, 2.0]),
    kinds.Vector([]),
    kinds.Scales([1.0, 2.0]),
    kinds.LinearMap(SQUARE),
    kinds.Radii([1.0, 2.0]),
    kinds.Mean([1.0, 2.0]),
    kinds.LinearModel([1.0, 2.0], target="y", penalty=0.0, r_squared=0.5),
    kinds.Discriminant(SQUARE, features=("x",), shares=(0.5, 0.5)),
    kinds.Scalar(7.25),
]
GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.result.json"))


@pytest.fixture(scope="module")
def result() -> dp.Result:
    return hostile_plan().run(DATA, insecure_seed=1)


def test_no_kind_is_forgotten() -> None:
    known = {each for each in vars(kinds).values() if isinstance(each, type) and issubclass(each, Kind)}
    assert known - {Kind} == {type(value) for value in VALUES}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}{list(value.array.shape)}")
def test_a_value_of_any_kind_has_a_section(value: Kind, result: dp.Result) -> None:
    record = attrs.evolve(result.record("moment"), value=value)
    page = attrs.evolve(result, records={"moment": record}, bars=None).to_html()
    assert "could not be drawn" not in page
    assert "nan" not in re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S).lower()
    if value.array.size:
        assert "Its error is not known: " in page
        assert f"{value.array.flat[0]:.4g}" in page
    else:
        assert "It is empty." in page


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_results_of_earlier_versions_have_a_page(path: Path) -> None:
    loaded = dp.Result.load(path)
    page = loaded.to_html()
    assert "could not be drawn" not in page
    assert all(f"<code>{name}</code>" in page for name in loaded)
