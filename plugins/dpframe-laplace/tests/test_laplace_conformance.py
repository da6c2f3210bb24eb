"""The conformance kit on everything this plugin provides."""

from dpframe.testing import conformance
from dpframe_laplace import LaplaceEigenvalues

test_conformance = conformance(LaplaceEigenvalues(k=1), LaplaceEigenvalues(k=3))
