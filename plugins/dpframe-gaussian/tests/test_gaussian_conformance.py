"""The conformance kit on everything this plugin provides."""

from dpframe.testing import conformance
from dpframe_gaussian import FirstOrder, SymmetricGaussian

test_conformance = conformance(SymmetricGaussian(), SymmetricGaussian(noise="triangular"), FirstOrder())
