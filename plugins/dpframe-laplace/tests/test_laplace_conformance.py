"""The conformance kit on everything this plugin provides; tests/auditing has longer audits."""

from dpframe.testing import conformance
from dpframe_laplace import LaplaceEigenvalues, MatrixLaplace

test_conformance = conformance(LaplaceEigenvalues(k=1), LaplaceEigenvalues(k=3), MatrixLaplace(), trials=1000)
