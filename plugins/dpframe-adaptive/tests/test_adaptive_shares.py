"""The division of the budget."""

from __future__ import annotations

import math

import pytest

import dpframe.plugin as dp
from dpframe_adaptive.shares import Form, Pilot, divided, mean_error, whole


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("pilot", [None, "scale", "linear"])
@pytest.mark.parametrize("dim", [1, 2, 7, 50, 1000])
def test_all_shares_add_up_to_the_whole(dim: int, pilot: Pilot, neighbors: str) -> None:
    gaussian = divided("gaussian", dim=dim, neighbors=neighbors, pilot=pilot, clipped=3.0)
    radii = 2 if pilot else 1
    squares = gaussian.center**2 + (gaussian.pilot or 0.0) ** 2 + gaussian.moment**2 + radii * gaussian.radius**2 / 4
    assert squares == pytest.approx(1.0)
    pure = divided("pure", dim=dim, neighbors=neighbors, pilot=pilot, clipped=3.0)
    assert pure.center + (pure.pilot or 0.0) + pure.moment + radii * pure.radius == pytest.approx(1.0)
    assert gaussian.pilot is None is pure.pilot if pilot is None else gaussian.pilot and pure.pilot


@pytest.mark.parametrize("dim", [2, 5, 12])
def test_with_its_own_share_the_mean_is_known_as_well_as_the_deviation(dim: int) -> None:
    """In columns of deviation 1 with r² = 2d: the errors of both, from the noise of a moment and a sum."""
    shares = divided("gaussian", dim=dim, neighbors="add-remove", pilot=None, clipped=3.0, mean=True)
    assert shares.offset is not None
    assert shares.center**2 + shares.offset**2 + shares.moment**2 + shares.radius**2 / 4 == pytest.approx(1.0)
    radius, constant = math.sqrt(2 * dim), math.sqrt(2 * dim) / 4
    entry = (radius**2 + constant**2) / shares.moment  # on the diagonal
    by_moment = (entry / math.sqrt(2) / constant) ** -2
    by_sum = (math.hypot(radius, constant) / shares.offset) ** -2
    assert 1 / math.sqrt(by_moment + by_sum) == pytest.approx(entry / 2)
    assert 1 / math.sqrt(by_moment) == pytest.approx(mean_error(dim) * entry / 2)


def test_only_few_columns_and_squares_of_levels_leave_a_share_for_the_mean() -> None:
    assert divided("gaussian", dim=16, neighbors="replace", pilot=None, clipped=3.0, mean=True).offset is None
    assert divided("pure", dim=3, neighbors="replace", pilot=None, clipped=3.0, mean=True).offset is None


@pytest.mark.parametrize("form", ["gaussian", "pure"])
def test_more_rows_are_beyond_the_radius_where_noise_is_larger(form: Form) -> None:
    few, many = (divided(form, dim=dim, neighbors="replace", pilot=None, clipped=3.0) for dim in (5, 50))
    assert few.beyond < many.beyond
    assert few.beyond >= 3.0 * few.noise
    added = divided(form, dim=50, neighbors="add-remove", pilot=None, clipped=3.0)
    assert many.noise > 1.3 * added.noise


@pytest.mark.parametrize("accountant", ["auto", "zcdp", "pld"])
@pytest.mark.parametrize("form", ["gaussian", "pure"])
def test_the_whole_fits_into_a_budget(form: Form, accountant: str) -> None:
    shares = divided(form, dim=6, neighbors="add-remove", pilot="scale", clipped=6.0)
    level = whole(shares, dp.Budget(epsilon=1.0, delta=1e-6), accountant)
    scaled = [
        dp.losses.Gaussian(mu=level * loss.mu)
        if isinstance(loss, dp.losses.Gaussian)
        else type(loss)(epsilon=level * loss.epsilon)  # type: ignore[attr-defined, call-arg]
        for loss in shares.losses
    ]
    assert math.isclose(
        dp.accountant(accountant).epsilon(scaled, 1e-6), 1.0, rel_tol=0.1 if accountant == "auto" else 0.01
    )


def test_an_accountant_that_cannot_compose_leaves_nothing() -> None:
    shares = divided("gaussian", dim=6, neighbors="add-remove", pilot=None, clipped=3.0)
    assert whole(shares, dp.Budget(epsilon=1.0, delta=1e-6), "pure") < 1e-6


PILOTS: tuple[Pilot, ...] = ("scale", "linear")


def test_the_precision_of_a_pilot_that_counts_adds_to_that_of_the_moment() -> None:
    """Of Gaussian noise nothing is lost: what the pilot takes from the moment, it gives back."""
    with_scales, with_map = (
        divided("gaussian", dim=20, neighbors="replace", pilot=pilot, clipped=3.0) for pilot in PILOTS
    )
    assert with_map.noise * math.hypot(with_map.moment, with_map.pilot or 0.0) == pytest.approx(
        with_scales.noise * with_scales.moment
    )
    assert with_map.noise < 0.95 * with_scales.noise
