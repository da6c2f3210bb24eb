"""`explanation.to_html`: forecasts for several budgets, all of them readable without a script, and no diagnostics."""

from __future__ import annotations

import html
import re
from pathlib import Path

import attrs
import pytest

import dpframe as dp

PLAN = dp.Plan(
    rows=dp.Rows(norm=1.0, neighbors="replace"),
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("moment", "gaussian"), dp.derive("top", "top-subspace", of="moment", k=1)],
)
SPECTRUM = [1195.25, 996.0, 507.0]


def budgets(page: str) -> list[str]:
    return re.findall(r'data-epsilon="([^"]*)"', page)


def noise(page: str) -> list[float]:
    return [float(scale) for scale in re.findall(r"<td>diagonal ([\d.]+),", page)]


def test_other_budgets_are_forecast_too(tmp_path: Path) -> None:
    page = PLAN.explain(spectrum=SPECTRUM).to_html(tmp_path / "plan.html")
    assert page == (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert ["0.25", "0.5", "1", "2", "4"] == budgets(page)
    scales = noise(page)[:5]
    assert sorted(scales, reverse=True) == scales
    assert 5 == page.count("Error to expect, for the assumed spectrum (clipping bias not included)</p>")
    assert 'value="2">' in page  # of the slider: this plan
    assert "ε = 1, this plan" in page


def test_without_a_script_all_budgets_are_shown_and_no_control_is() -> None:
    page = PLAN.explain(dim=3).to_html(epsilons=[2.0])
    assert not re.search(r"<div data-epsilon=[^>]*hidden", page)
    controls = re.findall(r"<[^>]*data-script[^>]*>", page)
    assert len(controls) == 3
    assert all(" hidden " in each for each in controls)


def test_the_plan_is_the_one_that_was_declared() -> None:
    explanation = PLAN.explain(dim=3)
    page = explanation.to_html(epsilons=[])
    assert ["1"] == budgets(page)
    assert "slider" not in re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S)
    (text,) = re.findall(r'id="plan-file">(.*?)</pre>', page, flags=re.S)
    assert PLAN.content_hash == dp.Plan.loads(html.unescape(text)).content_hash
    assert PLAN.content_hash in page
    assert "stated once dim and norm are known" not in page
    assert "stated once dim and norm are known" in PLAN.explain().to_html(epsilons=[])


def test_diagnostics_are_left_out() -> None:
    page = PLAN.explain(scenario=dp.Scenario(dim=3, spectrum=SPECTRUM, source="true")).to_html(epsilons=[2.0])
    assert "1195" not in page
    assert "as private as the data and not shown" in page
    assert ["1", "2"] == budgets(page)


def test_budgets_that_a_plan_cannot_have_are_left_out_unless_asked_for() -> None:
    fixed = attrs.evolve(PLAN, steps=[dp.release("moment", "gaussian", level=0.2)])
    explanation = fixed.explain(dim=3)
    assert "0.25" not in budgets(explanation.to_html())
    assert "4" in budgets(explanation.to_html())
    for epsilon in (0.25, -1.0):
        with pytest.raises(dp.PlanError):
            explanation.to_html(epsilons=[epsilon])
