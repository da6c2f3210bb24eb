"""The conformance kit on everything this plugin provides. tests/audit has longer audits."""

import numpy as np

from dpframe.testing import conformance
from dpframe_spiked import BlockEstimate, BlockGaussian, BlockRadii

BASIS = np.linalg.qr([[1.0, 0.0], [0.5, 1.0], [-0.25, 0.5]])[0][:, :1]
BLOCKS = [[4.0, 1.0, 0.5], [1.0, 0.25, 0.0], [0.5, 0.0, 0.25]]

test_mechanisms = conformance(
    BlockGaussian(basis=BASIS, radii=(1.5, 0.75)), BlockRadii(basis=BASIS, quantile=0.9, high=2.0), trials=1000
)
test_postprocessors = conformance(
    BlockEstimate(of=BLOCKS, basis=BASIS, prior=np.diag([3.0, 2.0, 1.0]), kept=(1.0, 0.5, 0.25), left=(0.9, 0.95, 1.0))
)
