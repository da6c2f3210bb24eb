"""What the oracles of the Gaussian mechanism say of a plan; test_gaussian_bounds.py has their formulas."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe_gaussian import Dyson, FirstOrder, OneGap, PrintedRates, first_order, rates
from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Target

SPECTRUM = np.array([5000.0, 4000.0, 3000.0, 1000.0, 500.0, 400.0, 300.0, 200.0])
WANTED = [9.0, 4.0, 4.0]
BASES = 4000
DEVIATIONS = 6.0  # of a mean over draws: a false alarm of 2e-9 each


def plan(noise: str = "goe", **rows: Any) -> dp.Plan:
    return dp.Plan(
        rows=dp.Rows(**{"norm": 1.0, "neighbors": "add-remove", **rows}),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian", noise=noise),
            dp.derive("components", "top-subspace", of="moment", k=3),
            dp.derive("leading", "rank-k", of="moment", k=3),
            dp.derive("shaped", "with-spectrum", of="moment", spectrum=WANTED),
            dp.derive("values", "eigenvalues", of="moment"),
        ],
    )


def bounds(
    oracle: dp.BoundOracle, step: str, spectrum: Any = SPECTRUM, chosen: dp.Plan | None = None
) -> list[dp.Bound]:
    scenario = dp.Scenario(dim=len(spectrum), spectrum=spectrum)
    return oracle.bounds(chosen or plan(), step, scenario)


def simulated(noise: str) -> dict[str, np.ndarray[Any, Any]]:
    """Squared errors of all steps, in a random basis each, since triangular noise is not the same in all of them."""
    scales = plan(noise).explain(dim=8).statement.line("moment").noise
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((BASES, 8, 8)))[0]
    draws = np.triu(rng.standard_normal((BASES, 8, 8)), 1) * scales["off-diagonal"]
    draws = draws + draws.transpose(0, 2, 1) + np.eye(8) * rng.standard_normal((BASES, 1, 8)) * scales["diagonal"]
    values, vectors = np.linalg.eigh(bases * SPECTRUM @ bases.transpose(0, 2, 1) + draws)
    noisy, true, found = values[:, :-4:-1], SPECTRUM[:3], vectors[:, :, :-4:-1]

    def squares(here: Any, there: Any) -> np.ndarray[Any, Any]:
        exact = bases[:, :, :3] * there @ bases[:, :, :3].transpose(0, 2, 1)
        made = found * np.broadcast_to(here, (BASES, 3))[:, None, :] @ found.transpose(0, 2, 1)
        summed: np.ndarray[Any, Any] = np.square(made - exact).sum(axis=(1, 2))
        return summed

    return {
        "moment": np.square(draws).sum(axis=(1, 2)),
        "spectral": np.square(np.abs(np.linalg.eigvalsh(draws)).max(axis=1)),
        "components": squares(np.ones(3), np.ones(3)),
        "leading": squares(noisy, true),
        "shaped": squares(np.array(WANTED), np.array(WANTED)),
    }


@pytest.mark.parametrize("noise", ["goe", "paper", "triangular"])
def test_all_that_is_said_agrees_with_simulation(noise: str) -> None:
    errors = simulated(noise)
    compared = 0
    for step in ("moment", "components", "leading", "shaped"):
        for bound in (*bounds(FirstOrder(), step, chosen=plan(noise)), *bounds(Dyson(), step, chosen=plan(noise))):
            squares = errors["spectral" if bound.norm.startswith("spectral") else step]
            mean, doubt = squares.mean(), DEVIATIONS * squares.std() / math.sqrt(BASES)
            if bound.value is None:
                assert "triangular" == noise
                continue
            compared += 1
            if bound.kind == "forecast":
                assert bound.valid
                # For a random basis the variances that triangular noise lacks are a share of about 1/d.
                exact = noise != "triangular" or step == "moment"
                assert bound.value**2 <= (1.02 if exact else 1.3) * (mean + doubt)
                assert bound.value**2 >= (0.98 if exact else 1.0) * (mean - doubt)
            elif bound.confidence is None:
                assert bound.value**2 >= mean - doubt  # an equality for the sum of variances
            else:
                share = float(np.mean(squares > bound.value**2))
                assert share <= 0.05 + DEVIATIONS * math.sqrt(0.05 * 0.95 / BASES)
    assert (17 if noise == "triangular" else 26) == compared


def test_proved_bounds_for_noise_with_a_preferred_direction_are_those_that_need_none() -> None:
    for bound in bounds(Dyson(), "components", chosen=plan("triangular")):
        assert bound.name.startswith("any gap") == bound.valid
        if not bound.valid:
            assert bound.value is None
            assert ["the noise has no preferred direction; noise='triangular' has"] == [
                assumption.text for assumption in bound.assumptions if not assumption.holds
            ]


def test_nothing_is_said_of_other_results() -> None:
    oracles: list[dp.BoundOracle] = [FirstOrder(), Dyson(), OneGap(), PrintedRates()]
    chosen = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.release("spectrum", "laplace-eigenvalues", k=2),
            dp.release("other", "orbit", spectrum=[1.0, 1.0]),
            dp.derive("shaped", "with-spectrum", of="moment", spectrum=dp.ref("spectrum")),
            dp.derive("positive", "psd", of="moment"),
            dp.derive("of_positive", "top-subspace", of="positive", k=1),
            dp.derive("of_other", "top-subspace", of="other", k=1),
        ],
    )
    for oracle in oracles:
        for step in ("spectrum", "other", "shaped", "positive", "of_positive", "of_other"):
            assert [] == bounds(oracle, step, chosen=chosen)
        assert [] == bounds(oracle, "values")
        assert [] == oracle.bounds(plan(), "components", dp.Scenario(dim=8))
    centered = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove", center=True),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.derive("covariance", "covariance", of="moment"),
            dp.derive("components", "top-subspace", of="covariance", k=3),
        ],
    )
    for oracle in oracles:
        for step in ("moment", "covariance", "components"):
            assert [] == bounds(oracle, step, chosen=centered)


def test_near_ties_are_flagged_and_capped() -> None:
    tied = plan().explain(spectrum=[10.0] * 8)
    bound = tied.bounds("components")[0]
    assert bound.value == pytest.approx(math.sqrt(6.0))
    assert [("the gap below eigenvalue 3 is at least 10 s√d", False)] == [(a.text, a.holds) for a in bound.assumptions]
    assert "does not hold" in str(tied)
    for step in ("leading", "shaped"):
        for each in tied.bounds(step):
            assert each.value is None or math.isfinite(each.value)
    shaped = bounds(FirstOrder(), "shaped", [10.0] * 8)[0]
    assert shaped.value == pytest.approx(math.sqrt(2 * (81 + 16 + 16)))
    nothing = plan().explain(spectrum=[0.0] * 8)
    for step in ("components", "leading", "shaped"):
        assert all(each.value is None or math.isfinite(each.value) for each in nothing.bounds(step))


def test_too_small_a_gap_is_named_with_what_it_must_be() -> None:
    spectrum = [900.0, 800.0, 112.0, 100.0, 50.0, 0.0]
    motion, markov, concentration, *any_gap = bounds(Dyson(), "components", spectrum)
    scale = plan().explain(dim=6).statement.line("moment").noise["diagonal"]
    needed = 2 * math.sqrt(2) * scale * math.sqrt(6)
    text = f"the gap below eigenvalue 3 is 12; it must be above {needed:.4g} (2√2·s√d)"
    for bound in (motion, markov, concentration):
        assert (None, False) == (bound.value, bound.valid)
        assert [(text, False)] == [(a.text, a.holds) for a in bound.assumptions]
    assert all(bound.valid and bound.value == pytest.approx(math.sqrt(6)) for bound in any_gap)
    # Just above, there is a number, and only 95 % cannot be promised yet.
    spectrum[:3] = [900.0, 800.0, 101.0 + needed]
    motion, markov, concentration, *_ = bounds(Dyson(), "components", spectrum)
    assert (True, True, False) == (motion.valid, markov.valid, concentration.valid)
    assert motion.value == pytest.approx(math.sqrt(6))
    # There is a number for 95 % exactly where the assumption says so.
    for step in ("components", "leading"):
        needed = float(re.findall(r"above (\S+) \(for 95%", bounds(Dyson(), step, spectrum)[2].assumptions[0].text)[0])
        for gap, promised in ((0.999 * needed, False), (1.001 * needed, True)):
            sure = bounds(Dyson(), step, [900.0, 800.0, 100.0 + gap, 100.0, 50.0, 0.0])[2]
            assert (promised, promised) == (sure.valid, sure.value is not None)


def test_only_the_gaps_that_matter_count() -> None:
    """For subspaces and rank-k parts the one below k; for a spectrum, those where it falls."""
    spectrum = [3000.0, 3000.0, 3000.0, 500.0, 500.0, 499.0, 499.0, 499.0]
    assert all(bounds(Dyson(), step, spectrum)[0].valid for step in ("components", "leading"))
    (assumption,) = bounds(Dyson(), "shaped", spectrum)[0].assumptions
    assert assumption.text.startswith("the gap below eigenvalue 1 is 0;")
    spectrum[0] = 4000.0
    assert bounds(Dyson(), "shaped", spectrum)[0].valid


def test_bounds_scale_with_the_rows() -> None:
    """Rows twice as long with a spectrum four times as large have four times the error, and the same subspace."""
    for oracle in (FirstOrder(), Dyson(), OneGap(), PrintedRates()):
        for step, factor in (("components", 1.0), ("leading", 4.0)):
            short = bounds(oracle, step)
            long = bounds(oracle, step, 4 * SPECTRUM, plan(norm=2.0))
            assert [b.value is None for b in short] == [b.value is None for b in long]
            factors = [4.0 if "inner product" in b.name else factor for b in short]  # a variance
            expected = [each * (b.value or 0.0) for each, b in zip(factors, short, strict=True)]
            assert [b.value or 0.0 for b in long] == pytest.approx(expected, rel=1e-9)


# -- printed rates -----------------------------------------------------------------------------------------------------

ONE = {"epsilon": 1.0, "delta": 0.01}


def test_rates_as_printed() -> None:
    sigma, root = [100.0, 80.0, 50.0, 10.0], math.sqrt(math.log(100.0))
    squares = 9 / 20**2 + (25 + 25) / 50**2 + (4 + 4) / 30**2  # λ = 5, 2: (5−2)/20; 5/(100−50) twice; 2/(80−50) twice
    assert rates.theorem_2_2(sigma, [5.0, 2.0], **ONE) == pytest.approx(math.sqrt(squares) * root)
    assert rates.corollary_2_3(sigma, 2, **ONE) == pytest.approx(math.sqrt(8) * 80 / 30 * root)
    assert rates.corollary_2_4(sigma, 2, **ONE) == pytest.approx(math.sqrt(8) / 30 * root)
    assert rates.corollary_2_4_even(sigma, 2, **ONE) == pytest.approx(2 / 30 * root)
    assert rates.analyze_gauss_low_rank(4, 2, **ONE) == pytest.approx(4 * root)
    assert rates.telescoped(sigma, 2, **ONE) == pytest.approx((2**1.5 * 2 + math.sqrt(8) * 80 / 30) * root)
    assert rates.corollary_2_3(sigma, 4, **ONE) == pytest.approx(4 * root)


def test_assumption_2_1_and_the_thresholds_of_appendix_b() -> None:
    for dim, k, largest, printed, true in ((6, 4, 1195, 103.35, 51.79), (36, 7, 72670, 242.63, 116.35)):
        assert true == pytest.approx(rates.needed_gap(dim, k, largest, **ONE), abs=0.005)
        without_root = 8 * math.log(125) * math.sqrt(dim) + 3 * math.sqrt(math.log(largest * k))
        assert printed == pytest.approx(without_root, abs=0.005)
    adult = np.array([1195.0, 996.0, 507.0, 282.0, 178.0, 168.0])
    assert [True, True, True, True, False] == [rates.assumption_2_1(adult, k, 1195.0, **ONE) for k in range(1, 6)]


def test_rates_name_what_they_rest_on() -> None:
    found = bounds(PrintedRates(), "components", [1195, 996, 507, 282, 178, 168])
    one, two = found[1:3]
    assert ["rate"] * 5 == [bound.kind for bound in found]
    assert not any(bound.explicit for bound in found)
    assert (None, True) == (two.value, one.valid)
    even = bounds(PrintedRates(), "components", [2000, 1500, 1000, 500, 178, 168])
    assert even[1].value == pytest.approx(math.sqrt(3) * (even[2].value or 0.0))
    assert ["no gap above the one below eigenvalue 3 is smaller"] == [a.text for a in two.assumptions if not a.holds]
    names = [bound.name for bound in bounds(PrintedRates(), "leading")]
    assert ["rate, Corollary 2.3", "rate, telescoped Davis–Kahan", "rate, Analyze Gauss"] == names
    assert "rate, inner product" == found[-1].name
    for bound in bounds(PrintedRates(), "components", [10.0] * 6)[:-1]:  # the inner product needs no gap
        assert (None, False) == (bound.value, bound.valid)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spectrum", [[1.0, 2.0], [2.0, -1.0], [], [[1.0]], [2.0, math.nan]])
def test_no_other_spectra(spectrum: Any) -> None:
    for asked in (
        lambda: Target.subspace(spectrum, 1),
        lambda: Target.rank_k(spectrum, 1),
        lambda: Target.with_spectrum(spectrum, [1.0]),
        lambda: Target.with_spectrum([2.0, 1.0], spectrum),
        lambda: rates.corollary_2_3(spectrum, 1, **ONE),
        lambda: plan().explain(spectrum=spectrum),
    ):
        with pytest.raises(dp.PlanError, match="a spectrum must have"):
            asked()


def test_no_spectra_of_another_length() -> None:
    with pytest.raises(dp.PlanError, match="has 2 values, but the rows have 3"):
        plan().explain(dim=3, spectrum=[2.0, 1.0])
    with pytest.raises(dp.PlanError, match="k must be at least 1 and at most the 2 eigenvalues"):
        Target.with_spectrum([2.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(dp.PlanError, match="the promise says dim=8; got dim=2"):
        FirstOrder().bounds(plan(dim=8), "moment", dp.Scenario(dim=2))


@pytest.mark.parametrize("k", [0, -1, 4])
def test_no_other_ranks(k: int) -> None:
    sigma = [3.0, 2.0, 1.0]
    for asked in (
        lambda: Target.subspace(sigma, k),
        lambda: Target.rank_k(sigma, k),
        lambda: rates.corollary_2_3(sigma, k, **ONE),
        lambda: rates.corollary_2_4(sigma, k, **ONE),
        lambda: rates.smallest_gap(sigma, k),
    ):
        with pytest.raises(dp.PlanError, match=f"k must be at least 1 .* got k={k}"):
            asked()


def test_no_forecast_of_all_eigenvectors() -> None:
    sigma = [3.0, 2.0, 1.0]
    for asked in (
        lambda: Target.subspace(sigma, 3),
        lambda: Target.rank_k(sigma, 3),
        lambda: rates.corollary_2_4(sigma, 3, **ONE),
    ):
        with pytest.raises(dp.PlanError, match="below the 3 eigenvalues there are; got k=3"):
            asked()


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_no_rates_without_privacy(epsilon: float, delta: float) -> None:
    with pytest.raises(dp.PlanError, match="rates need epsilon above 0"):
        rates.corollary_2_3([2.0, 1.0], 1, epsilon=epsilon, delta=delta)


def test_the_forecast_of_the_formula_is_that_of_the_plan() -> None:
    scales = plan().explain(dim=8).statement.line("moment").noise
    expected = first_order.forecast(Target.subspace(SPECTRUM, 3), Noise(scales["diagonal"], scales["off-diagonal"]))
    assert expected == bounds(FirstOrder(), "components")[0].value


def test_rows_that_cannot_fit_into_the_norm_leave_nothing_proved() -> None:
    steps = [dp.release("moment", "gaussian"), dp.derive("top", "top-subspace", of="moment", k=1)]
    spectrum = [900.0, 300.0, 100.0]
    for norm, count, fits in ((0.3, 2000, False), (1.0, 1300, True), (1.0, 1299, False)):
        built = dp.Plan(
            rows=dp.Rows(norm=norm, neighbors="add-remove"), budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps
        )
        told = built.explain(scenario=dp.Scenario(dim=3, n=count, spectrum=spectrum))
        for step in ("moment", "top"):
            assert fits == (told.tightest(step) is not None)
            refused = [bound for bound in told.bounds(step) if "no row is scaled down" in str(bound.assumptions)]
            assert fits == (not refused)
            assert all(bound.value is None for bound in refused if bound.kind != "forecast")


def test_a_rate_whose_assumption_fails_has_no_number() -> None:
    built = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove"),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[dp.release("moment", "gaussian"), dp.derive("top", "top-subspace", of="moment", k=2)],
    )
    close = built.explain(spectrum=[100.0, 99.0, 98.0, 97.0]).bounds("top")
    (rate,) = [bound for bound in close if bound.name == "rate, Theorem 2.2"]
    assert rate.value is None
    assert "Assumption 2.1" in rate.assumptions[0].text
