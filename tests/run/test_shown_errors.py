"""No value is shown without its error where one is known: every kind, mechanism and derivation that is shipped."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import kinds, registry
from dpframe.run.value_text import REDRAWN
from tests.support.everything import plans, released

NUMBER = r"-?[\d.]+(?:e[-+]\d+)?"
WITH_ERROR = re.compile(rf"{NUMBER} (?:± {NUMBER}|\[{NUMBER}, {NUMBER}\])")


def expected(result: dp.Result, step: str) -> tuple[int, str]:
    """How many numbers of a value have an error to show, and the words that are shown below them."""
    found = result.known_interval(step)
    if found is None:
        return 0, "its error is not known: "
    value = result[step]
    reach = np.maximum(found.high - value, value - found.low)
    number = int(((reach > 0.0) & np.isfinite(reach) & found.determined).sum())
    if found.angle_degrees is not None:
        return number, "the span is "
    if not found.determined.any():
        return number, found.method
    return number, REDRAWN if found.approximate else ""


def sections(text: str, result: dp.Result) -> dict[str, str]:
    """The part of a text that is about each value: from its heading to the next one, on one line."""
    text = " ".join(text.split())
    starts = {step: text.index(f" {step}: {result.record(step).line.kind}, ") for step in result}
    ends = [*list(starts.values())[1:], len(text)]
    return {step: text[start:end] for (step, start), end in zip(starts.items(), ends, strict=True)}


def bare(text: str, result: dp.Result) -> Iterator[str]:
    """The values that a text shows without their errors."""
    for step, section in sections(text, result).items():
        number, words = expected(result, step)
        if number != len(WITH_ERROR.findall(section)) or " ".join(words.split()) not in section:
            yield step


def plain(html: str) -> str:
    """The text of HTML, with a space for each tag, without pictures."""
    shown = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", shown)).split())


@pytest.mark.parametrize("name", plans())
def test_no_value_is_shown_without_its_error(name: str, tmp_path: Path) -> None:
    result = released(name)
    assert {} == result.failed
    result.save(tmp_path / "out")
    report = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    loaded = dp.Result.load(tmp_path / "out" / "result.json")
    for text in (report, str(loaded), plain(result._repr_html_()), plain(loaded._repr_html_())):
        assert [] == list(bare(text, result))
    errors = sum(expected(result, step)[0] for step in result)
    assert errors == len(WITH_ERROR.findall(plain(result.to_html())))  # the page has headings of its own
    for step in result:
        found = result.known_interval(step)
        with open(tmp_path / "out" / "tables" / f"{step}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        frame = result.frame(step)
        if found is None:
            assert step in result.to_dict()["without_interval"]
            assert loaded.known_interval(step) is None
            assert "low" not in frame
            continue
        for end in ("low", "high"):
            exact = getattr(found, end).ravel().tolist()
            assert exact == getattr(loaded.interval(step), end).ravel().tolist()
            assert exact == [float(row[end]) for row in rows]
            assert exact == frame[end].tolist()


def test_everything_that_is_shipped_is_looked_at() -> None:
    used = {step.action.name for plan in plans().values() for step in (*plan.steps, *plan.declared)}
    for role in ("mechanism", "postprocessor"):
        assert set() == {each.name for each in registry.classes(role)} - used
    values = {result.record(step).kind for result in map(released, plans()) for step in result}
    general = {kinds.Kind, kinds.Vector}  # each value is of a kind of its own
    assert (
        set()
        == {each for each in vars(kinds).values() if isinstance(each, type) and attrs.has(each)}
        & set(subclasses(kinds.Kind)) - values - general
    )


def subclasses(kind: type[dp.Kind]) -> Iterator[type[dp.Kind]]:
    yield kind
    for each in kind.__subclasses__():
        yield from subclasses(each)


def test_a_value_without_its_error_is_found() -> None:
    result = released("every derivation")
    text = str(result)
    assert [] == list(bare(text, result))
    assert ["count"] == list(bare(text.replace(f"{result['count']:.0f} ± ", ""), result))
    assert "classes" in list(bare(text.replace("± is approximate", ""), result))


def test_other_confidences_of_a_loaded_result_are_refused(tmp_path: Path) -> None:
    """Rather than shown without an interval."""
    released("gaussian").to_json(tmp_path / "result.json")
    loaded = dp.Result.load(tmp_path / "result.json")
    assert "low" in loaded.frame("value")
    with pytest.raises(dp.PlanError, match=r"holds intervals at confidence=0\.95"):
        loaded.frame("value", confidence=0.9)


@attrs.frozen(kw_only=True)
class Slow(dp.PostProcessor):
    """Takes long, as the clock says."""

    name = "test-slow"
    gives = dp.Scalar

    of: dp.SymmetricMatrix = dp.input(dp.SymmetricMatrix)

    def apply(self) -> dp.Kind:
        CLOCK.append(CLOCK[-1] + 1.0)
        return dp.Scalar(np.trace(self.of.array))


CLOCK = [0.0]


def test_what_takes_long_is_found_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpframe.run.error_bars.time.perf_counter", lambda: CLOCK[-1])
    dp.register(Slow)
    try:
        steps = [dp.release("moment", "gaussian"), dp.derive("slow", "test-slow", of="moment")]
        rows = dp.Rows(norm=1.0, neighbors="replace")
        plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
        result = plan.run([np.eye(3)], insecure_seed=1)
        before = len(CLOCK)
        told = "its error is not shown: finding it takes long. result.interval('slow') finds it."
        for _ in range(2):
            assert told in " ".join(str(result).split())
        assert len(CLOCK) - before < 10
        assert result.interval("slow").approximate
        assert told not in " ".join(str(result).split())
    finally:
        dp.unregister(Slow)
