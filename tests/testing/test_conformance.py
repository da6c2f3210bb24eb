"""The conformance kit on everything that the core provides."""

from __future__ import annotations

import numpy as np

import dpframe.plugin as dp
from dpframe.accounting.gdp import GaussianAccountant
from dpframe.accounting.pure import PureAccountant
from dpframe.accounting.zcdp import ZcdpAccountant
from dpframe.builtin import hooks as builtin
from dpframe.builtin.private_quantile import PrivateQuantile
from dpframe.forecast.monte_carlo import MonteCarlo
from dpframe.testing import conformance

MATRIX = np.diag([3.0, 2.0, 1.0])
AXES = dp.Axes.empty().with_axis("a", 2.0, 5.0, "cm").with_axis("b", 1.0, 0.0)
AUGMENTED = dp.AugmentedMoment(np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 1.0], [2.0, 1.0, 10.0]]), axes=AXES, constant=1.0)
COVARIANCE = dp.Covariance(np.array([[2.0, 0.5], [0.5, 1.0]]), axes=AXES)
CLASSES = dp.Axes(("a", "b=F", "b=M"), (1.0,) * 3, (0.0,) * 3)
MEAN = dp.Mean(np.array([0.5, -0.5]), axes=AXES)

SUBJECTS = [
    dp.Moment(),
    dp.BlockMoment(basis=np.eye(3)[:, :1], radii=(1.0, 0.5)),
    dp.FoldMoments(folds=3),
    dp.NormHistogram(edges=[0.5, 1.0, 2.0]),
    dp.ColumnHistogram(column=1, edges=[-0.5, 0.0, 0.5]),
    GaussianAccountant(),
    PureAccountant(),
    ZcdpAccountant(),
    MonteCarlo(draws=200),
    dp.postprocess.CountOf(of=AUGMENTED),
    dp.postprocess.MeanOf(of=AUGMENTED),
    dp.postprocess.CovarianceOf(of=AUGMENTED),
    dp.postprocess.Correlation(of=COVARIANCE),
    dp.postprocess.DiscriminantOf(
        of=dp.Covariance(MATRIX, axes=CLASSES), mean=dp.Mean(np.full(3, 0.5), axes=CLASSES), target="b"
    ),
    dp.postprocess.Regression(of=COVARIANCE, mean=MEAN, target="a"),
    dp.postprocess.ScalesOf(of=COVARIANCE),
    dp.postprocess.ToUnits(of=COVARIANCE),
    dp.postprocess.TopSubspace(of=MATRIX, k=2),
    dp.postprocess.RankK(of=MATRIX, k=2),
    dp.postprocess.WithSpectrum(of=MATRIX, spectrum=[5.0, 1.0, 0.0]),
    dp.postprocess.Eigenvalues(of=MATRIX),
    dp.postprocess.PositivePart(of=MATRIX),
    dp.postprocess.RealPart(of=MATRIX + 0j),
    dp.postprocess.ExplainedVariance(of=MATRIX, components=np.eye(3)[:, :2]),
]

QUANTILE = PrivateQuantile(quantile=0.5, high=10.0, points=20)

test_conformance = conformance(*SUBJECTS)
test_quantile = conformance(QUANTILE, trials=1000)  # tests/auditing has longer audits


def test_every_class_of_the_core_is_checked() -> None:
    provided = {
        *builtin.dpframe_mechanisms(),
        *builtin.dpframe_postprocessors(),
        *builtin.dpframe_statistics(),
        *builtin.dpframe_accountants(),
        *builtin.dpframe_bound_oracles(),
    }
    assert provided == {type(subject) for subject in (QUANTILE, *SUBJECTS)}
