"""The conformance kit on everything this plugin provides; its audits, which need many slow draws, are marked long."""

import pytest

from dpframe.testing import check_mechanism, conformance
from dpframe_opendp import OpenDPGaussian, OpenDPLaplace

EACH = [
    OpenDPGaussian(neighbors="add-remove"),
    OpenDPGaussian(neighbors="replace"),
    OpenDPLaplace(neighbors="add-remove"),
    OpenDPLaplace(neighbors="replace"),
]
test_conformance = conformance(EACH[1], EACH[2], without=["stated-loss"])


@pytest.mark.long
@pytest.mark.parametrize("subject", EACH, ids=str)
def test_conformance_with_audits(subject: OpenDPGaussian | OpenDPLaplace) -> None:
    check_mechanism(subject, trials=4000).assert_passed()


def test_the_kit_names_what_it_cannot_check() -> None:
    slow = "serves-any-data", "fresh-randomness", "stated-loss", "error-bars-cover", "one-lattice", "replay", "adds-up"
    report = check_mechanism(EACH[2], without=slow)
    assert "own-stream-only: OpenDP draws its noise, as it declares" in report.summary
