"""The demonstration: one screen, on which every released number stands beside its forecast and the truth."""

from __future__ import annotations

import re

import pytest

from dpframe.demo import release
from dpframe.demo.datasets import ADULT_COLUMNS, adult

SCREEN = (80, 45)


def test_the_story_fits_on_one_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    release.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN[1]
    assert max(map(len, lines)) <= SCREEN[0]
    text = "\n".join(lines)
    for word in ("Data", "Plan", "Protected", "Forecast", "Charged", "Components", "NOT PRIVATE"):
        assert word in text
    for column in ADULT_COLUMNS:
        found = [line for line in lines if line.startswith(f"{column.name} ({column.unit})")]
        assert [2, 2] == [line.count("±") for line in found]  # forecast and release, of mean and standard deviation


def test_the_truth_is_that_of_the_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    release.main()
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("age (years)"))
    _, released, reach, exact = re.findall(r"\d+\.\d+", line)
    assert f"{adult()['age'].mean():.6g}" == exact
    assert abs(float(released) - float(exact)) < 4 * float(reach)  # about 8 standard deviations of the noise
