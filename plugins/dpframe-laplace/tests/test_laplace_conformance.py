"""The conformance kit on everything this plugin provides; tests/auditing has longer audits."""

from dpframe.testing import conformance
from dpframe_laplace import LaplaceEigenvalues, LaplaceSum, MatrixLaplace

test_conformance = conformance(
    LaplaceEigenvalues(k=1), LaplaceEigenvalues(k=3), MatrixLaplace(), LaplaceSum(), trials=1000
)
