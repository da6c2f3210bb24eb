"""Figures show what the numbers are: values, error bars, what is within noise of zero, and that a seed was fixed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import attrs
import matplotlib
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.plots import ComparisonDisplay, EpsilonsDisplay, MatrixDisplay, PointsDisplay, ScreeDisplay
from dpframe.run.value_text import with_interval
from tests.support.everything import plans, released
from tests.support.released import run

matplotlib.use("agg")

import matplotlib.pyplot as plt

EVERY = "every derivation"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def hatched(ax: Any, hatch: str) -> set[tuple[int, int]]:
    """The rows and columns of the cells with a hatch."""
    found = set()
    for collection in ax.collections:
        if collection.get_hatch() == hatch:
            for path in collection.get_paths():
                column, row = path.vertices[:4].mean(axis=0)
                found.add((int(row), int(column)))
    return found


def segments(ax: Any, direction: int = 0) -> list[list[float]]:
    """The ends of all error bars along a direction: 0 from left to right, 1 from bottom to top."""
    lines = [segment for collection in ax.collections for segment in collection.get_segments()]
    return sorted(np.unique(line[:, direction]).tolist() for line in lines)


def bars(low: Any, high: Any) -> list[list[float]]:
    known = np.isfinite(low) & np.isfinite(high)
    pairs = zip(np.ravel(low[known]).tolist(), np.ravel(high[known]).tolist(), strict=True)
    return sorted(sorted({*pair}) for pair in pairs)


@pytest.mark.parametrize("name", [EVERY, "complex", "bingham", "block-radii", "gaussian-folds", "laplace-scores"])
def test_every_value_is_drawn_with_its_error_or_refused(name: str) -> None:
    result = released(name)
    for step in result:
        if not result[step].ndim or np.iscomplexobj(result[step]):
            with pytest.raises(dp.PlanError, match="there is no figure of it"):
                result.plot(step)
            continue
        drawn, found = result.plot(step), result.known_interval(step)
        if found is None:
            assert drawn.note.startswith("its error is not known: ")
            continue
        axes = [drawn.ax_, *drawn.ax_.child_axes]
        if isinstance(drawn, MatrixDisplay):
            shape = drawn.values.shape
            unknown = ~found.determined.reshape(shape)
            zero = ~(found.excludes_zero | (found.low == found.high)).reshape(shape) & ~unknown
            assert set(map(tuple, np.argwhere(zero).tolist())) == hatched(drawn.ax_, "////")
            assert set(map(tuple, np.argwhere(unknown).tolist())) == hatched(drawn.ax_, "xxxx")
        else:
            direction = int(isinstance(drawn, ScreeDisplay))
            assert bars(found.low, found.high) == sorted(bar for ax in axes for bar in segments(ax, direction))
        plt.close(drawn.figure_)


@pytest.mark.parametrize(
    ("name", "display"),
    [
        ("correlation", MatrixDisplay),
        ("covariance_in_units", MatrixDisplay),
        ("classes", MatrixDisplay),
        ("eigenvalues", ScreeDisplay),
        ("explained", ScreeDisplay),
        ("mean", PointsDisplay),
        ("mean_in_units", PointsDisplay),
        ("model", PointsDisplay),
        ("components", PointsDisplay),
        ("loadings", PointsDisplay),
    ],
)
def test_each_kind_has_its_figure(name: str, display: type) -> None:
    drawn = released(EVERY).plot(name)
    assert type(drawn) is display
    drawn.figure_.canvas.draw()  # warnings are errors: nothing is cut off, no glyph is missing


def test_cells_hold_their_numbers_and_errors() -> None:
    result = released(EVERY)
    drawn, found = result.plot("correlation"), result.interval("correlation")
    texts = {text.get_text().replace("−", "-") for text in drawn.ax_.texts}
    for place in ((0, 1), (0, 2), (1, 2)):
        words = with_interval(*(float(each[place]) for each in (result["correlation"], found.low, found.high)))
        assert words.replace(" ", "\n", 1) in texts
    assert ["age", "income", "ward=north", "ward=south"] == [each.get_text() for each in drawn.ax_.get_xticklabels()]
    assert "not told from zero" in [each.get_text() for each in drawn.ax_.get_legend().get_texts()]


def test_large_matrices_hold_signs() -> None:
    values = np.linspace(-1.0, 1.0, 400).reshape(20, 20)
    names = [str(number) for number in range(20)]
    told = np.abs(values) > 0.1
    drawn = MatrixDisplay(title="", values=values, rows=names, columns=names, told=told).plot()
    texts = [text.get_text() for text in drawn.ax_.texts]
    assert (int((values < -0.1).sum()), int((values > 0.1).sum())) == (texts.count("−"), texts.count("+"))
    assert int((~told).sum()) == texts.count("")


def test_a_covariance_is_shaded_by_its_correlations() -> None:
    drawn = released(EVERY).plot("covariance_in_units")
    assert isinstance(drawn, MatrixDisplay)
    assert pytest.approx(1.0) == np.diag(drawn.shades)
    assert np.array_equal(drawn.values, released(EVERY)["covariance_in_units"])


def test_a_fixed_seed_is_marked() -> None:
    seeded = released("gaussian").plot("value")
    assert seeded.ax_.get_title(loc="left").startswith("NOT PRIVATE: value")
    secure = plans()["gaussian"].run([np.eye(3)]).plot("value")
    assert secure.ax_.get_title(loc="left").startswith("value: ")


def test_axes_that_are_given_are_drawn_on() -> None:
    figure, axes = plt.subplots(1, 2)
    result = run()
    drawn = [result.plot(name, ax=ax) for name, ax in zip(("eigenvalues", "mean_in_units"), axes, strict=True)]
    assert [figure, figure] == [each.figure_ for each in drawn]
    assert list(axes) == [each.ax_ for each in drawn]
    assert [figure.number] == plt.get_fignums()
    again = drawn[0].plot()
    assert again is drawn[0]
    assert again.figure_ is not figure


def test_the_confidence_is_what_is_asked_for() -> None:
    result = run()
    ours, theirs = result.plot("mean"), result.plot("mean", confidence=0.5)
    assert "± at 50 % confidence" in theirs.note
    assert bars(result.interval("mean", 0.5).low, result.interval("mean", 0.5).high) == segments(theirs.ax_)
    assert segments(ours.ax_) != segments(theirs.ax_)


def test_series_are_told_apart_without_color() -> None:
    drawn = released(EVERY).plot("components")
    keys = drawn.ax_.get_legend().get_lines()
    assert ["component 1", "component 2", "hollow: not told from zero"] == [key.get_label() for key in keys]
    assert 2 == len({key.get_marker() for key in keys[:2]})


def test_what_is_not_determined_has_a_cross() -> None:
    drawn = released("block-radii").plot("value")
    assert [[1, 2]] == [line.get_xdata().tolist() for line in drawn.ax_.lines if line.get_marker() == "x"]
    assert "its error is not determined" in drawn.note


# -- comparisons -----------------------------------------------------------------------------------------------------

SCENARIO = dp.Scenario(dim=6, n=5000, spectrum=[1195, 996, 507, 282, 178, 168])
ROWS = dp.Rows(norm=1.0, neighbors="add-remove")


def compare(**options: Any) -> Any:
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    return dp.compare("moment", rows=ROWS, budget=budget, scenario=SCENARIO, draws=20, **options)


def test_a_comparison_is_drawn() -> None:
    comparison = compare()
    drawn = comparison.plot()
    assert isinstance(drawn, ComparisonDisplay)
    names = [each.name for each in comparison.candidates]
    assert names == [label.get_text() for label in drawn.ax_.get_yticklabels()]
    wide = [list(each.interval) for each in comparison.candidates]
    reached = [sorted((each.error, each.error_95)) for each in comparison.candidates]
    assert sorted([*wide, *reached]) == segments(drawn.ax_)
    assert f"{len(comparison.left_out)} others cannot do it" in " ".join(drawn.ax_.get_xlabel().split())
    drawn.figure_.canvas.draw()


def test_comparisons_are_drawn_against_epsilon() -> None:
    comparisons = compare(epsilons=[3.0, 0.1, 1.0])
    alone = attrs.evolve(comparisons[0.1], candidates=comparisons[0.1].candidates[:1])
    comparisons = attrs.evolve(comparisons, by_epsilon={**comparisons.by_epsilon, 0.1: alone})
    drawn = comparisons.plot()
    assert isinstance(drawn, EpsilonsDisplay)
    lines = {line.get_label(): line for line in drawn.ax_.lines}
    best, other = alone.candidates[0].name, comparisons[3.0].candidates[-1].name
    assert ([0.1, 1.0, 3.0], [1.0, 3.0]) == (lines[best].get_xdata().tolist(), lines[other].get_xdata().tolist())
    errors = {each.name: each.error for each in comparisons[1.0].candidates}
    assert errors[other] == lines[other].get_ydata()[0]
    assert len(lines) == len({line.get_marker() for line in lines.values()})
    drawn.figure_.canvas.draw()


# -- without matplotlib ----------------------------------------------------------------------------------------------


def test_a_figure_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dp.DataError, match=r"a figure needs matplotlib: pip install 'dpframe\[plots\]'"):
        run().plot("mean")


def test_matplotlib_is_loaded_for_figures_only() -> None:
    code = "import sys, dpframe, dpframe.plots; sys.exit('matplotlib' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def test_the_repr_of_a_display_is_short() -> None:
    assert "<PointsDisplay of 'NOT PRIVATE: mean: a mean'>" == repr(run().plot("mean"))


def test_names_are_no_formulas() -> None:
    """And no control characters: they come from files of other people."""
    names = ["cost ($", "price $)\x1b", "$\\frac{1}$"]
    drawn = MatrixDisplay(title="$x", values=np.eye(3), rows=names, columns=names).plot()
    drawn.figure_.canvas.draw()
    labels = [label.get_text() for label in drawn.ax_.get_xticklabels()]
    assert ["cost (\\$", "price \\$)\\x1b", "\\$\\frac{1}\\$"] == labels
    PointsDisplay(title="", values=np.eye(3), names=names, own_scales=True).plot().figure_.canvas.draw()


def test_cells_of_a_huge_matrix_are_gray() -> None:
    values = np.diag(np.arange(200.0))
    names = [f"name {number}" for number in range(200)]
    drawn = MatrixDisplay(title="", values=values, rows=names, columns=names, told=values > 0.0).plot()
    assert set() == hatched(drawn.ax_, "////")
    assert ["gray: not told from zero"] == [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert values.size - 199 == int(drawn.ax_.images[0].get_array().mask.sum())
    assert [] == [label for label in drawn.ax_.get_xticklabels() if label.get_text().startswith("name")]
