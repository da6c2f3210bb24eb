"""The conformance kit on everything this plugin provides; tests/auditing has longer audits."""

from dpframe.testing import conformance
from dpframe_laplace import LaplaceEigenvalues

test_conformance = conformance(LaplaceEigenvalues(k=1), LaplaceEigenvalues(k=3), trials=1000)
