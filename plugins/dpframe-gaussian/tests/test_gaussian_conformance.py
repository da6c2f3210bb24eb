"""The conformance kit on everything this plugin provides; tests/audit has longer audits."""

from dpframe.testing import conformance
from dpframe_gaussian import FirstOrder, SymmetricGaussian

test_mechanism = conformance(SymmetricGaussian(), trials=1000)
test_oracle = conformance(FirstOrder())
