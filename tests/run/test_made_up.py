"""Made-up values: of the kind and shape that is asked for, always the same, and noise that looks like noise."""

from __future__ import annotations

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.run.made_up import IMAGINED, NOISE, NOTHING, PLAUSIBLE, made_up

SHAPES: list[tuple[type[dp.Kind], tuple[int, ...]]] = [
    (dp.SymmetricMatrix, (1, 1)),
    (dp.SymmetricMatrix, (6, 6)),
    (dp.Covariance, (6, 6)),
    (dp.HermitianMatrix, (6, 6)),
    (dp.AugmentedMoment, (2, 2)),
    (dp.AugmentedMoment, (7, 7)),
    (dp.Spectrum, (1,)),
    (dp.Spectrum, (5,)),
    (dp.Subspace, (6, 2)),
    (dp.ComplexSubspace, (6, 6)),
    (dp.Loadings, (6, 2)),
    (dp.Vector, (6,)),
    (dp.Mean, (6,)),
    (dp.Radii, (2,)),
    (dp.Scalar, ()),
]


@pytest.mark.parametrize("imagined", [*IMAGINED, NOTHING])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_every_kind_of_the_core_can_be_made_up(kind: type[dp.Kind], shape: tuple[int, ...], imagined: object) -> None:
    value, again = (made_up(kind, shape, imagined, length=2.0) for _ in range(2))  # type: ignore[arg-type]
    assert isinstance(value, dp.Kind)
    assert (kind, shape) == (type(value), value.array.shape)
    assert value == again


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (dp.SymmetricMatrix, (3, 2)),
        (dp.SymmetricMatrix, (3,)),
        (dp.SymmetricMatrix, (None, 3)),
        (dp.SymmetricMatrix, None),
        (dp.AugmentedMoment, (1, 1)),
        (dp.Subspace, (2, 3)),
        (dp.Radii, (3,)),
        (dp.Spectrum, (0,)),
        (dp.Kind, (2, 2)),
    ],
)
def test_nothing_is_made_up_where_no_such_value_is_known(kind: type[dp.Kind], shape: dp.Shape | None) -> None:
    assert None is made_up(kind, shape, PLAUSIBLE)


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 40])
def test_noise_has_negative_eigenvalues_and_plausible_data_has_none(dim: int) -> None:
    noise, plausible = (made_up(dp.SymmetricMatrix, (dim, dim), imagined) for imagined in (NOISE, PLAUSIBLE))
    assert noise is not None
    assert plausible is not None
    assert np.linalg.eigvalsh(noise.array)[0] < 0.0 < np.linalg.eigvalsh(plausible.array)[0]


def test_counts() -> None:
    counts = []
    for imagined in (PLAUSIBLE, NOISE):
        moment = made_up(dp.AugmentedMoment, (4, 4), imagined, constant=0.25)
        assert isinstance(moment, dp.AugmentedMoment)
        counts.append(float(moment.array[-1, -1]) / moment.constant**2)
        assert np.linalg.eigvalsh(moment.array)[0] > 0 or imagined is NOISE
    assert [100_000.0, 0.0] == counts


def test_names_of_coordinates_are_used_where_they_fit() -> None:
    axes = dp.Axes(("a", "b"), (1.0, 1.0), (0.0, 0.0))
    for kind, shape, expected in [
        (dp.SymmetricMatrix, (2, 2), axes),
        (dp.AugmentedMoment, (3, 3), axes),
        (dp.Subspace, (2, 1), axes),
        (dp.SymmetricMatrix, (3, 3), None),
        (dp.Spectrum, (2,), None),
        (dp.Scalar, (), None),
    ]:
        value = made_up(kind, shape, PLAUSIBLE, axes=axes)
        assert value is not None
        assert expected == value.axes
