"""A conformance kit for mechanisms, statistics, post-processors, accountants and bound oracles.

In a plugin's test file one line runs every check that applies::

    from dpframe.testing import conformance
    test_conformance = conformance(LaplaceEigenvalues(k=2))

Each test prints how many checks passed, failed and were not run, and why, and writes the table of outcomes as JSON to
pytest's cache. :func:`check_mechanism` and its siblings run the same checks without pytest and return a
:class:`Report`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dpframe.errors import PlanError
from dpframe.interfaces import Accountant, BoundOracle, Mechanism, PostProcessor, Statistic
from dpframe.noise import Keystream, Random
from dpframe.plan import Plan
from dpframe.spec.rows import Rows
from dpframe.testing import accountant, checks, oracle, postprocessor
from dpframe.testing.report import Finding, Report
from dpframe.testing.subjects import MechanismStage, StatisticStage, promises
from dpframe.testing.suite import conformance

__all__ = [
    "Finding",
    "Report",
    "check",
    "check_accountant",
    "check_mechanism",
    "check_oracle",
    "check_postprocessor",
    "check_statistic",
    "conformance",
    "seeded",
]


def seeded(seed: int) -> Random:
    """A reproducible random source for tests of a mechanism; a value released with it is not private.

    >>> seeded(7).child("moment").gaussian(3.0, 3)
    array([-2,  1,  4])
    """
    return Random(Keystream.insecure(seed))


def check_mechanism(
    subject: Mechanism,
    *,
    rows: Rows | None = None,
    epsilon: float | None = None,
    trials: int = 4000,
    pairs: Iterable[Any] = (),
    without: Iterable[str] = (),
) -> Report:
    """Run every check of a mechanism, and of the statistics that it reads.

    Args:
        subject: the mechanism with its parameters; its inputs are values, not references.
        rows: a promise to check it under, for both neighboring relations. By default it is checked under each of these
            that it accepts, with up to three rows per person: rows of three coordinates, with and without a constant
            coordinate, and complex ones; rows of one coordinate; and columns of which one is a category, also about a
            center.
        epsilon: the claim at delta = 0.01 from which its level is solved. The default is 4 for Gaussian, Laplace and
            zCDP losses and 1.5 for all others: there too little noise is detected with the fewest releases.
        trials: releases on each data set of an audited pair; fewer trials give audits of less power.
        pairs: neighboring data sets (one, other) to audit it on, in addition to the built-in pairs.
        without: names of checks to skip.
    """
    stage = MechanismStage(subject, promises(subject, rows), epsilon, trials, tuple(pairs))
    return checks.run("mechanism", subject.name, stage, without)


def check_statistic(subject: Statistic, *, rows: Rows | None = None, without: Iterable[str] = ()) -> Report:
    """Run every check of a statistic; arguments as for :func:`check_mechanism`."""
    return checks.run("statistic", subject.name, StatisticStage(subject, promises(subject, rows)), without)


def check_postprocessor(subject: PostProcessor, *, without: Iterable[str] = ()) -> Report:
    """Run every check of a post-processor; its inputs are values, not references."""
    stage = postprocessor.PostProcessorStage(subject)
    return checks.run("postprocessor", subject.name, stage, without)


def check_accountant(subject: Accountant, *, without: Iterable[str] = ()) -> Report:
    """Run every check of an accountant."""
    return checks.run("accountant", subject.name, accountant.AccountantStage(subject), without)


def check_oracle(
    subject: BoundOracle, *, plan: Plan | None = None, draws: int = 400, without: Iterable[str] = ()
) -> Report:
    """Run every check of a bound oracle.

    Args:
        subject: the oracle.
        plan: a plan of one pass with steps that the oracle has bounds for, on rows of norm 1 with six coordinates. The
            default is a Gaussian release, with leading components and low-rank parts derived from it.
        draws: the number of releases to simulate.
        without: names of checks to skip.
    """
    stage = oracle.OracleStage(subject, plan or oracle.usual_plan(), draws)
    return checks.run("bound oracle", subject.name, stage, without)


_CHECKERS: dict[type, Callable[..., Report]] = {
    Mechanism: check_mechanism,
    Statistic: check_statistic,
    PostProcessor: check_postprocessor,
    Accountant: check_accountant,
    BoundOracle: check_oracle,
}


def check(subject: Any, **options: Any) -> Report:
    """Run every check of an object, whatever its role.

    >>> from dpframe.postprocess import Eigenvalues
    >>> check(Eigenvalues(of=[[2.0, 0.0], [0.0, 1.0]])).failed
    ()
    """
    for role, checker in _CHECKERS.items():
        if isinstance(subject, role):
            return checker(subject, **options)
    raise PlanError(
        "the kit checks mechanisms, statistics, post-processors, accountants and bound oracles, made with their "
        f"parameters; got {subject!r}."
    )
