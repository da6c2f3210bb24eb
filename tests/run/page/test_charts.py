"""Pictures: every part lies inside, shows the number it is for, and does without color."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dpframe.intervals.interval import Interval
from dpframe.run.page import charts
from dpframe.run.page.charts import Bars


def bars(values: list[float] | list[list[float]], reach: float = 0.1, unknown: tuple[int, ...] | None = None) -> Bars:
    array = np.array(values)
    determined = np.ones(array.shape, dtype=bool)
    if unknown is not None:
        determined[unknown] = False
    interval = Interval(low=array - reach, high=array + reach, confidence=0.95, method="", determined=determined)
    return Bars.of(array, interval)


def numbers(picture: str, element: str, attribute: str) -> list[float]:
    return [float(each) for each in re.findall(rf'<{element} [^>]*?\b{attribute}="([-\d.]+)"', picture)]


def test_eigenvalues_are_where_they_belong() -> None:
    picture = charts.scree(bars([4.0, 2.0, 0.05]), "eigenvalues")
    first, second, third = numbers(picture, "circle", "cy")
    assert third - second == pytest.approx((third - first) * 1.95 / 3.95, abs=0.02)
    assert 1 == picture.count("mark hollow")  # 0.05 ± 0.1
    assert 9 == picture.count('class="whisker"')
    assert "<title>2.00 ± 0.10</title>" in picture
    height = numbers(picture, "svg", "height")[0]
    assert all(0.0 <= each <= height for each in numbers(picture, "line", "y1") + numbers(picture, "circle", "cy"))


@pytest.mark.parametrize("top", [0.0, 1e-9, 0.3, 1.0, 7.0, 1e12])
def test_the_scale_of_eigenvalues_holds_them(top: float) -> None:
    ticks = charts._ticks(0.0, top or 1.0)
    assert top <= ticks[-1]
    assert 2 <= len(ticks) <= 7
    assert "nan" not in charts.scree(bars([top, 0.0], reach=0.0), "eigenvalues")


def test_cells_below_noise_are_gray_and_negative_ones_hatched() -> None:
    matrix = bars([[1.0, -0.5, 0.05], [-0.5, 1.0, 0.7], [0.05, 0.7, 1.0]])
    picture = charts.heat_map(["a", "b", "c"], matrix, "correlations")
    assert (5, 2, 2) == tuple(picture.count(f'class="{each}"') for each in ("plus", "minus", "quiet"))
    assert (2, 2) == tuple(picture.count(f'class="{each}"') for each in ("hatched", "dotted"))
    assert "~0.05" in picture
    assert "<title>a, b: -0.50 ± 0.10</title>" in picture


def test_what_is_not_determined_is_gray_and_what_has_no_law_is_not() -> None:
    values = [[1.0, 0.5], [0.5, 1.0]]
    unknown = charts.heat_map(["a", "b"], bars(values, unknown=(0, 1)), "correlations")
    assert 1 == unknown.count('class="quiet"')
    assert "n.d." in unknown
    without = charts.heat_map(["a", "b"], Bars.of(np.array(values), None), "correlations")
    assert 0 == without.count('class="quiet"')
    assert "±" not in without


def test_loadings_lie_in_their_panels() -> None:
    picture = charts.loadings(["a", "a name that is long"], bars([[0.9, 0.05], [-0.4, 1.0]]), "weights")
    width = numbers(picture, "svg", "width")[0]
    marks = numbers(picture, "circle", "cx")
    assert 4 == len(marks)
    assert all(0.0 < each < width for each in marks)
    assert 1 == picture.count("mark hollow")
    assert "a name that is …<title>a name that is long</title>" in picture
