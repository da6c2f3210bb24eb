"""The conformance kit on everything this plugin provides; tests/auditing has longer audits."""

from dpframe.testing import conformance
from dpframe_gaussian import Dyson, FirstOrder, GaussianFolds, GaussianSum, OneGap, PrintedRates, SymmetricGaussian

test_mechanism = conformance(SymmetricGaussian(), trials=1000)
test_folds = conformance(GaussianFolds(folds=2), trials=1000)
test_sum = conformance(GaussianSum(), trials=1000)
test_placed_sum = conformance(GaussianSum(placed=True), trials=1000)
test_first_order = conformance(FirstOrder())
test_dyson = conformance(Dyson())
test_one_gap = conformance(OneGap())
test_printed_rates = conformance(PrintedRates())
