"""Every shipped mechanism, relation and claim: no audit refutes it. And the auditor sees enough to mean something.

A bound is above the truth with probability at most 1e-8 in each of at most 100 audits: 1e-6 in all.
"""

from __future__ import annotations

from typing import Any

import pytest

import dpframe as dp
from tests.support.shipped import MODEL_BASED, PARAMETERS, promise

AUDITED = [mechanism for mechanism in PARAMETERS if mechanism not in MODEL_BASED]
ELSEWHERE = {  # briefly by the kit, in the tests of their plugin
    *("bingham", "orbit"),
    *("block-gaussian", "block-radii", "spiked-block"),
}
OF_AUDITED = {  # recipes; the mechanisms that they join are audited
    *("adaptive", "bingham-low-rank", "deflation", "orbit-low-rank"),
}
CASES = [
    (mechanism, relation, epsilon)
    for mechanism in AUDITED
    for relation in ("add-remove", "replace")
    for epsilon in (0.5, 2.0)
]
each_case = pytest.mark.parametrize(("mechanism", "relation", "epsilon"), CASES)
SMALLER: dict[str, dict[str, Any]] = {  # as telling, and quicker
    "block-radii": {"points": 20},
    "private-quantile": {"points": 20},
    "spiked-block": {"shares": (0.5, 0.5)},
}


def audit(mechanism: str, relation: str, epsilon: float, trials: int) -> dp.Audit:
    return dp.audit(
        dp.release("value", mechanism, **PARAMETERS[mechanism] | SMALLER.get(mechanism, {})),
        rows=promise(mechanism, relation, dim=3),
        epsilon=epsilon,
        trials=trials,
        false_alarm=1e-8,
        insecure_seed=2026,
    )


@pytest.mark.parametrize("mechanism", sorted(MODEL_BASED))
def test_a_guarantee_under_a_model_has_no_worst_case_to_audit(mechanism: str) -> None:
    with pytest.raises(dp.PlanError, match="not a worst-case guarantee"):
        audit(mechanism, "replace", 2.0, trials=1000)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", [mechanism for mechanism in AUDITED if mechanism not in ELSEWHERE | OF_AUDITED])
def test_no_claim_is_refuted(mechanism: str, relation: str) -> None:
    found = audit(mechanism, relation, 2.0, trials=1000)
    assert found.bound <= found.claim == pytest.approx(2.0, rel=1e-6)


@pytest.mark.long
@each_case
def test_no_claim_is_refuted_by_many_releases(mechanism: str, relation: str, epsilon: float) -> None:
    found = audit(mechanism, relation, epsilon, trials=20_000)
    assert found.bound <= found.claim


@pytest.mark.long
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_auditor_sees_three_quarters_of_the_gaussian_claim(relation: str) -> None:
    found = dp.audit(
        "gaussian",
        rows=dp.Rows(norm=1.0, neighbors=relation, dim=3),
        epsilon=2.0,
        delta=1e-2,
        trials=100_000,
        insecure_seed=2026,
    )
    assert 0.75 * found.claim <= found.bound <= found.claim
