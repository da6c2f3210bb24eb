"""Figures of results and comparisons, drawn by matplotlib (``pip install 'dpframe[plots]'``).

``result.plot(name)``, ``comparison.plot()`` and ``comparisons.plot()`` draw a figure and return a display: a small
object that holds what is drawn. Its method ``plot(ax=None)`` draws it again, and ``figure_`` and ``ax_`` are what it
was drawn on, as with the displays of scikit-learn. Every figure can be read without color.
"""

from dpframe.plots.comparison import ComparisonDisplay, EpsilonsDisplay
from dpframe.plots.matrix import MatrixDisplay
from dpframe.plots.points import PointsDisplay
from dpframe.plots.scree import ScreeDisplay

__all__ = ["ComparisonDisplay", "EpsilonsDisplay", "MatrixDisplay", "PointsDisplay", "ScreeDisplay"]
