"""A conformance kit for mechanisms, statistics, post-processors, accountants and bound oracles.

In a plugin's test file one line runs every check that applies::

    from dpframe.testing import conformance
    test_conformance = conformance(LaplaceEigenvalues(k=2))

Each test prints how many checks ran and why others did not, and writes its table as JSON to pytest's cache. The same
checks can be called one by one; each returns a :class:`Report`.
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
    """A repeatable source of randomness for tests of a mechanism; what is drawn from it is not private.

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
    """Every check of a mechanism, and of the statistics that it reads.

    Args:
        subject: the mechanism with its parameters; inputs are given as values.
        rows: a promise to check it under, for both relations. Without one: rows of three coordinates and of one, with
            and without a constant, and columns with a category, as far as it accepts them; three rows per person.
        epsilon: the claim at delta = 0.01 that its level is solved from. Unless given, 4 where the loss is that of
            shifted noise, and 1.5 where it is a ratio: there too little noise shows in the fewest releases.
        trials: releases on either data set in its audits; fewer see less.
        pairs: data sets (one, other) to audit it on besides the built-in ones.
        without: names of checks to leave out.
    """
    stage = MechanismStage(subject, promises(subject, rows), epsilon, trials, tuple(pairs))
    return checks.run("mechanism", subject.name, stage, without)


def check_statistic(subject: Statistic, *, rows: Rows | None = None, without: Iterable[str] = ()) -> Report:
    """Every check of a statistic; arguments as for :func:`check_mechanism`."""
    return checks.run("statistic", subject.name, StatisticStage(subject, promises(subject, rows)), without)


def check_postprocessor(subject: PostProcessor, *, without: Iterable[str] = ()) -> Report:
    """Every check of a post-processor, whose inputs are given as values."""
    stage = postprocessor.PostProcessorStage(subject)
    return checks.run("postprocessor", subject.name, stage, without)


def check_accountant(subject: Accountant, *, without: Iterable[str] = ()) -> Report:
    """Every check of an accountant."""
    return checks.run("accountant", subject.name, accountant.AccountantStage(subject), without)


def check_oracle(
    subject: BoundOracle, *, plan: Plan | None = None, draws: int = 400, without: Iterable[str] = ()
) -> Report:
    """Every check of a bound oracle.

    Args:
        subject: the oracle.
        plan: a plan of one pass with steps that it knows something about, on unit rows of six coordinates; a Gaussian
            release with its leading components and low-rank part unless given.
        draws: releases to simulate.
        without: names of checks to leave out.
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
    """Every check that applies to an object, whatever its role.

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
