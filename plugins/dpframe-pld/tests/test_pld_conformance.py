"""The conformance kit on everything this plugin provides."""

from dpframe.testing import conformance
from dpframe_pld import PldAccountant

test_conformance = conformance(PldAccountant())
