"""The conformance kit on everything this plugin provides. tests/auditing has longer audits."""

import attrs
import numpy as np

import dpframe as dp
from dpframe.testing import conformance
from dpframe_spiked import (
    BlockEstimate,
    BlockGaussian,
    BlockRadii,
    Blocks,
    EigenRatioRank,
    EigenvalueShrinkage,
    RangeRadii,
    Spiked,
    SpikedCovariance,
)

BASIS = np.linalg.qr([[1.0, 0.0], [0.5, 1.0], [-0.25, 0.5]])[0][:, :1]
BLOCKS = Blocks([[4.0, 1.0, 0.5], [1.0, 0.25, 0.0], [0.5, 0.0, 0.25]], basis=BASIS)

ROWS = dp.Rows(norm=1.7, neighbors="replace", dim=3, contributions=3)

test_blocks = conformance(BlockGaussian(basis=BASIS, radii=(1.5, 0.75)), rows=ROWS, trials=1000)
test_radii = conformance(BlockRadii(basis=BASIS, quantile=0.9, high=2.0, points=12), rows=ROWS, trials=1000)
test_radii_of_the_norm = conformance(BlockRadii(basis=BASIS, quantile=0.9, points=6), rows=ROWS, trials=1000)
test_model_based = conformance(
    Spiked(rank=1, n=50, spike=4.0, noise=1.0), rows=attrs.evolve(ROWS, contributions=1), trials=1000
)
test_postprocessors = conformance(
    BlockEstimate(of=BLOCKS, prior=np.diag([3.0, 2.0, 1.0]), kept=(1.0, 0.5, 0.25), left=(0.9, 0.95, 1.0)),
    RangeRadii(of=BASIS, columns=(1, 2)),
    SpikedCovariance(of=np.diag([30.0, 2.0, 1.0]), rank=1, n=10),
    EigenvalueShrinkage(of=[30.0, 2.0, 1.0], n=10, dim=3, noise=0.15),
    EigenRatioRank(of=[30.0, 20.0, 1.0, 0.9]),
)
