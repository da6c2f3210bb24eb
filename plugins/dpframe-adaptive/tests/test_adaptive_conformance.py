"""The conformance kit on everything this plugin provides."""

import numpy as np

import dpframe.plugin as dp
from dpframe.testing import conformance
from dpframe_adaptive import (
    AdaptiveCount,
    AdaptiveCovariance,
    AdaptiveMean,
    AffordableRadius,
    BallOrBoxCenter,
    BallOrBoxNorm,
    ColumnScales,
    Denoise,
    KeptShare,
    Preconditioner,
    RegressionScales,
)

SUM = dp.AugmentedSum([30.0, -20.0, 50.0], constant=0.5)
MOMENT = dp.AugmentedMoment([[40.0, 5.0, 2.0], [5.0, 9.0, -1.0], [2.0, -1.0, 25.0]], constant=0.5)
CENTER, RADIUS, SCALE = dp.Mean([0.3, -0.2]), dp.Scalar(0.7), dp.Scales([1.0, 0.25])
LINEAR = dp.LinearMap([[1.0, 0.25], [0.25, 0.5]])

test_places = conformance(
    KeptShare(of=SUM, beyond_per_noise=5.0),
    ColumnScales(of=MOMENT),
    RegressionScales(of=MOMENT, targets=(1,)),
    AffordableRadius(radius=RADIUS, pilot=MOMENT, pilot_radius=RADIUS, scale=SCALE, targets=(1,)),
    Preconditioner(sum=SUM, moment=MOMENT, about=CENTER, power=None, components=(1,)),
    BallOrBoxCenter(center=CENTER, radius=RADIUS),
    BallOrBoxNorm(center=CENTER, radius=RADIUS, scale=SCALE, columns=(2,), margin=1.2),
)
test_estimates = conformance(
    AdaptiveCount(sum=SUM, moment=MOMENT, about=CENTER),
    AdaptiveMean(sum=SUM, moment=MOMENT, about=CENTER, scale=SCALE),
    AdaptiveCovariance(sum=SUM, moment=MOMENT, about=CENTER, scale=SCALE, goal="correlation"),
    AdaptiveCovariance(sum=SUM, moment=MOMENT, about=CENTER, linear=LINEAR, pilot=MOMENT),
)
test_denoise = conformance(
    Denoise(of=dp.Covariance(np.diag([3.0, 1.0, -0.5])), of_noise={"diagonal": 0.3, "off-diagonal": 0.2})
)
