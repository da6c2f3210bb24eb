"""The experiments behind the results pages, on small runs.

Statistical assertions allow for six standard errors or more, or p-values of 1e-7: with their number, below 1e-6 in all.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats

from docs.experiments import covariances, digits, growth, heavy_tails, motion, shapes, spiked, wishart
from docs.experiments.__main__ import EXPERIMENTS, main

FALSE_ALARM = 1e-7


# -- gaps of Wishart matrices ----------------------------------------------------------------------------------------


def test_bidiagonal_draws_have_the_gaps_of_wishart_matrices() -> None:
    rng = np.random.default_rng(0)
    quick = wishart.smallest_gaps(7, 4, 6000, rng)
    direct = rng.standard_normal((6000, 7, 4))
    slow = np.diff(np.linalg.eigvalsh(direct.transpose(0, 2, 1) @ direct), axis=1).min(axis=1)
    assert stats.ks_2samp(quick, slow).pvalue > FALSE_ALARM
    assert stats.ks_2samp(1.15 * quick, slow).pvalue < FALSE_ALARM


def test_two_eigenvalues_have_the_mean_square_gap_of_the_closed_form() -> None:
    """E (tr² − 4 det) = 4m² + 4m − 4m(m − 1) = 8m."""
    squares = wishart.smallest_gaps(50, 2, 20_000, np.random.default_rng(1)) ** 2
    assert 8 * 50 == pytest.approx(squares.mean(), abs=6 * squares.std() / math.sqrt(len(squares)))


def test_a_fitted_power_is_the_one_that_was_put_in() -> None:
    sizes = [1.0, 3.0, 10.0, 50.0]
    found = wishart.exponent(sizes, [2 * size**0.7 for size in sizes], [0.01 * size**0.7 for size in sizes])
    assert 0.7 == pytest.approx(found.value)
    assert 0.005 / math.sqrt(np.var(np.log(sizes)) * 4) == pytest.approx(found.error)


@pytest.mark.parametrize(("sizes", "size"), [(wishart.FIRST[3:], "rows"), (wishart.SECOND[4:9], "dim")])
def test_smallest_gaps_grow_like_a_square_root(sizes: list[tuple[int, int]], size: str) -> None:
    found = wishart.gaps(sizes, trials=400, seed=5)
    power = wishart.exponent(
        [getattr(one, size) for one in found], [one.mean for one in found], [one.error for one in found]
    )
    assert 0.5 == pytest.approx(power.value, abs=0.02 + 6 * power.error)
    assert power.error < 0.03


def test_on_the_printed_axis_gaps_grow_faster_than_a_square_root() -> None:
    found = wishart.gaps(wishart.PRINTED, trials=1000, seed=6)
    power = wishart.exponent([one.rows for one in found], [one.mean for one in found], [one.error for one in found])
    assert 0.62 == pytest.approx(power.value, abs=0.01 + 6 * power.error)
    assert power.value - 6 * power.error > 0.55


# -- real data sets --------------------------------------------------------------------------------------------------


def test_adult_has_the_published_spectrum() -> None:
    adult = covariances.adult()
    assert (48_842, 6) == (adult.rows, len(adult.spectrum))
    assert 1194.893 == pytest.approx(adult.spectrum[0], abs=5e-4)  # printed as 1195
    assert [199.322, 488.685, 224.681, 103.859, 10.023] == [round(float(gap), 3) for gap in adult.gaps]
    assert ["51.79", "103.35"] == [f"{adult.threshold(4, root=root):.2f}" for root in (True, False)]
    assert (4, 4) == (adult.largest_rank(), adult.largest_rank(root=False))


def test_kdd_has_the_published_spectrum() -> None:
    kdd = covariances.kdd()
    if kdd is None:
        pytest.skip(f"{covariances.FOLDER} names no folder with kddcup99_10pct.npz")
    assert (494_020, 36) == (kdd.rows, len(kdd.spectrum))
    assert "7.267e+04" == f"{kdd.spectrum[0]:.3e}"  # printed as 72670
    assert 72_665.69 == pytest.approx(kdd.spectrum[0], abs=0.005)
    assert ["116.35", "242.63"] == [f"{kdd.threshold(7, root=root):.2f}" for root in (True, False)]
    assert (9, 7) == (kdd.largest_rank(), kdd.largest_rank(root=False))


def test_columns_of_the_acs_in_place_of_the_census() -> None:
    acs = covariances.acs()
    if acs is None:
        pytest.skip(f"{covariances.FOLDER} names no folder with acs2019_nist.npz")
    assert (44_163, 9) == (acs.rows, len(acs.spectrum))
    assert ["61.98", "125.12"] == [f"{acs.threshold(5, root=root):.2f}" for root in (True, False)]
    assert (5, 5) == (acs.largest_rank(), acs.largest_rank(root=False))


def test_the_printed_threshold_for_census_comes_from_a_missing_root() -> None:
    assert ["206.91", "441.29"] == [
        f"{covariances.threshold(124, 93_730, 11, root=root):.2f}" for root in (True, False)
    ]


# -- growth with k ---------------------------------------------------------------------------------------------------


def test_errors_grow_with_k_as_the_corollaries_say() -> None:
    ranks = (1, 4, 16)
    spread, tied = ([growth.simulated(s, k, 40, seed=0) for k in ranks] for s in (growth.spread, growth.tied))
    powers = {
        name: wishart.exponent(ranks, *zip(*pairs, strict=True)).value
        for name, pairs in {
            "low rank": [one.low_rank for one in spread],
            "subspace": [one.subspace for one in spread],
            "tied": [one.subspace for one in tied],
        }.items()
    }
    assert {"low rank": 0.5, "subspace": 0.0, "tied": 0.5} == pytest.approx(powers, abs=0.1)
    for one in spread:
        expected = growth.said("first-order", growth.spread(one.k), one.k, "leading")
        assert expected == pytest.approx(one.low_rank[0], abs=8 * one.low_rank[1] + 0.01 * expected)


# -- motion ----------------------------------------------------------------------------------------------------------


def test_the_error_along_time_lies_between_the_forecast_and_the_proved_bound() -> None:
    found = motion.along_time(paths=100, steps=2)  # standard errors of 2 %, bounds 20 and 35 % above the forecast
    assert found.forecast == pytest.approx(found.mean_square, rel=0.15)
    assert (found.mean_square[1:] < found.proved[1:]).all()
    assert (found.proved[1:] < 1.5 * found.forecast[1:]).all()


# -- shapes of noise -------------------------------------------------------------------------------------------------


def test_more_noise_is_more_error_in_proportion() -> None:
    data = shapes.directions()
    medians, noises = [], []
    for shape, curve in (("paper", "classical"), ("goe", "exact")):
        plan = shapes.plan(shape, curve, 0.9)
        noises.append(plan.explain(dim=shapes.DIM).statement.line("moment").noise["off-diagonal"])
        medians.append(float(np.median(shapes.errors(data, plan, 12))))
    assert noises[0] / noises[1] == pytest.approx(medians[0] / medians[1], rel=0.25)
    assert 2.5 == pytest.approx(noises[0] / noises[1], rel=0.02)


# -- spiked covariances ----------------------------------------------------------------------------------------------


def mean_errors(case: spiked.Case, what: str) -> dict[str, float]:
    return {method: float(errors.mean()) for method, errors in spiked.simulated(case, what, trials=3).items()}


def test_rounds_of_blocks_beat_the_published_methods_on_spiked_rows() -> None:
    """Errors scatter by 10 per cent and differ by more than a factor of two."""
    case = spiked.Case(n=10_000, p=50, r=3, spike=50.0)
    errors = mean_errors(case, "components")
    assert all(2 * errors[spiked.BLOCK] < errors[other] for other in (spiked.PAPER, spiked.GAUSS, spiked.EXACT))
    assert errors[spiked.PAPER] < errors[spiked.STARRED] < errors[spiked.GAUSS]
    covariance = mean_errors(case, "covariance")
    assert spiked.BLOCK == min(covariance, key=lambda method: covariance[method])


def test_with_more_coordinates_than_rows_only_the_model_helps() -> None:
    """Three directions of fifty at random are √(6·0.94) = 2.37 apart."""
    errors = mean_errors(spiked.Case(n=30, p=50, r=3, spike=1e6), "components")
    assert errors[spiked.PAPER] < 0.3
    assert all(2.0 < errors[method] for method in spiked.METHODS if method != spiked.PAPER)


def test_with_few_rows_and_many_coordinates_the_model_gives_the_better_covariance() -> None:
    """Figure 5 at n = 1000: like DP-Gauss* at p = 50, nearly twice as good at p = 100; means of 3 scatter by 10 %."""
    few, many = (mean_errors(spiked.Case(n=1000, p=p, r=3, spike=10.0), "covariance") for p in (50, 100))
    assert 0.7 < few[spiked.PAPER] / few[spiked.STARRED] < 1.5
    assert many[spiked.PAPER] < 0.8 * many[spiked.STARRED]


def test_dp_gauss_has_less_noise_where_rows_are_added() -> None:
    """The same draws with 1/√2 of the noise; without noise the error is 0.06, a third of it."""
    case = spiked.Case(n=10_000, p=50, r=3, spike=10.0)
    replaced, added = (
        mean_errors(case, "components"),
        mean_errors(attrs.evolve(case, counted="add-remove"), "components"),
    )
    assert replaced[spiked.PAPER] == added[spiked.PAPER]
    for method in (spiked.GAUSS, spiked.STARRED):
        assert 1.2 < replaced[method] / added[method] < math.sqrt(2)


def test_every_panel_has_one_thing_that_varies() -> None:
    for panels in spiked.FIGURES.values():
        for panel in panels:
            assert panel.what in ("components", "covariance")
            assert len(panel.cases) == len(set(spiked.varying(panel.cases)))


def test_private_directions_of_digits() -> None:
    found = digits.mnist(trials=2)
    if found is None:
        pytest.skip(f"{covariances.FOLDER} names no folder with mnist_149.npz")
    assert 0.433 == pytest.approx(found.best, abs=5e-4)
    assert 0.41 < found.explained[spiked.BLOCK][1] < found.best


def test_standardized_pixels_leave_dp_gauss_with_the_largest_radius_two_per_cent() -> None:
    found = digits.mnist(trials=2, standardized=True)
    if found is None:
        pytest.skip(f"{covariances.FOLDER} names no folder with mnist_149.npz")
    assert 0.01 < found.explained[spiked.STARRED][1] < 0.025
    assert found.explained[spiked.PAPER][1] > 0.19


# -- heavier tails ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_noise_of_the_model_covers_normal_rows_and_not_those_with_a_finite_fourth_moment(seed: int) -> None:
    normal, heavier = (heavy_tails.beyond(heavy_tails.Tails(degrees=degrees), seed) for degrees in (math.inf, 5.0))
    assert max(normal) < 0.7
    assert heavier[1] > 1.2


def test_adaptive_finds_directions_under_heavy_tails() -> None:
    """Errors scatter by 20 per cent; without privacy they are 0.023."""
    normal, heavier = (
        np.median(heavy_tails.errors(heavy_tails.Tails(degrees=degrees), "adaptive", 3), axis=0)
        for degrees in (math.inf, 5.0)
    )
    assert heavier[0] < 2 * normal[0] < 0.1
    assert normal[1] < heavier[1] < 0.1  # what is cut off is missing from the covariance


# -- one figure at a time --------------------------------------------------------------------------------------------


def test_a_figure_is_drawn_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("matplotlib", reason="figures are drawn where the documentation is built")
    from docs.experiments import figures

    monkeypatch.setattr(figures, "HERE", tmp_path)
    main(["001-5"])
    assert ["001-5.svg"] == [path.name for path in tmp_path.iterdir()]
    assert "## 001-5" in capsys.readouterr().out


def test_names_of_figures() -> None:
    with pytest.raises(SystemExit, match=r"no figure is named '004-9'; there are 001-1, .*004-5"):
        main(["004-9"])
    here = Path(covariances.__file__).parent
    for module, function in EXPERIMENTS.values():
        source = (here / f"{module}.py").read_text(encoding="utf-8")
        assert f"def {function}(" in source or f"{function}, " in source or f", {function} = " in source
    assert [name for name in EXPERIMENTS if name.startswith("004") and name != "004-4"] == list(spiked.FIGURES)


def test_every_figure_has_its_command_on_the_pages() -> None:
    pages = [
        Path(covariances.__file__).parent / name for name in ("re-analyze-gauss.md", "spiked.md", "heavy-tails.md")
    ]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for name in EXPERIMENTS:
        assert f"`make experiments FIGURE={name}`" in text
