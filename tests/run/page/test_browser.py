"""Pages in a real Chromium: the path of a newcomer, and what a reader needs on any screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.forecast import column_margins
from tests.support.browser import PHONE, axe, chromium, resized, violations
from tests.support.pages_of_plans import HOSTILE, charged, hostile_plan
from tests.support.shell import dpframe

COLUMNS = {"age": (0, 100), "hours": (0, 80), "income": (0, 200_000)}


def dirty_table(path: Path) -> None:
    """Rows of which some have cells that are missing, words, far out, or written in another way."""
    rng = np.random.default_rng(0)
    lines = ["age,hours,income"]
    for row in range(4000):
        age, hours, income = rng.uniform(20, 80), rng.uniform(0, 60), rng.uniform(0, 90_000)
        cells = [f"{age:.0f}", f"{hours:.1f}", f"{income:.0f}"]
        if row % 50 == 0:
            cells[row // 50 % 3] = ("", "n/a", "unknown", "1e9", "-5", '"12,5"')[row // 50 % 6]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def filled_in(text: str) -> str:
    """The plan as a newcomer leaves it."""
    text = re.sub(r"^#: (?=neighbors)", "", text, flags=re.M)
    text = re.sub(r"^#:.*\n", "", text, flags=re.M)
    for name, (low, high) in COLUMNS.items():
        line = f'name = "{name}"\n'
        text = text.replace(line, f"{line}low = {low}\nhigh = {high}\nmissing = {(low + high) // 2}\n")
    return text


def opened(browser: Any, path: Path) -> str:
    """The visible text of a page, which must be whole: no error, nothing from elsewhere, no sideways scrolling."""
    browser.get(path.resolve().as_uri())
    assert [] == browser.get_log("browser")
    assert [] == browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    for screen in (PHONE, None):
        resized(browser, screen)
        room, needed = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
        assert needed <= room
    return str(browser.execute_script("return document.body.innerText"))


def test_from_a_dirty_table_to_a_page_with_every_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(column_margins, "DRAWS", 100)  # the forecast is tested elsewhere
    with chromium() as browser:
        dirty_table(Path("people.csv"))
        assert 0 == dpframe("init", "people.csv", capsys=capsys)[0]
        Path("plan.toml").write_text(filled_in(Path("plan.toml").read_text(encoding="utf-8")), encoding="utf-8")
        assert "± " in dpframe("explain", "plan.toml", "--rows", "4000", capsys=capsys)[1]
        assert (0, "") == dpframe("run", "plan.toml", "people.csv", "-o", "out", capsys=capsys)[::2]
        text = opened(browser, Path("out/report.html"))
        result = dp.Result.load("out/result.json")
        means, interval = result["mean_in_units"], result.interval("mean_in_units")
        for place, name in enumerate(COLUMNS):
            shown = re.findall(rf"^{name}\s+(\S+) ± (\S+)$", text, flags=re.M)
            reach = float(max(interval.high[place] - means[place], means[place] - interval.low[place]))
            near = [abs(float(value) - means[place]) < float(error) < 1.1 * reach for value, error in shown]
            assert True in near, (name, shown)
        table = browser.find_element("css selector", "[aria-label='Table of mean_in_units']")
        assert 3 == table.text.count(" ± ")


def test_pages_are_readable_by_everyone(tmp_path: Path) -> None:
    script = axe()
    plan = hostile_plan()
    charged(tmp_path, plan).to_html(tmp_path / "result.html")
    plan.explain(rows=3000).to_html(tmp_path / "plan.html", epsilons=[0.5])
    with chromium() as browser:
        for name, looks in (("result.html", [(None, False), (PHONE, True)]), ("plan.html", [(PHONE, False)])):
            text = opened(browser, tmp_path / name)
            assert HOSTILE in text
            assert browser.execute_script("return typeof stolen") == "undefined"
            for screen, dark in looks:
                resized(browser, screen, dark=dark)
                assert [] == violations(browser, script)
        shown = "[...document.querySelectorAll('[data-epsilon]')].filter(panel => panel.offsetHeight)"
        panels = f"return {shown}.map(panel => panel.dataset.epsilon)"
        assert ["1"] == browser.execute_script(panels)
        slider = browser.find_element("id", "slider")
        slider.send_keys("\ue012")  # the key to the left
        assert ["0.5"] == browser.execute_script(panels)
        assert "epsilon 0.5" == slider.get_attribute("aria-valuetext")
        assert "ε = 0.5" == browser.find_element("id", "chosen").text
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        browser.refresh()
        assert ["0.5", "1"] == browser.execute_script(panels)
        assert not browser.find_element("id", "slider").is_displayed()
