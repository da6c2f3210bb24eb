"""Steps that cannot be built: what is wrong, what is needed, and where it comes from."""

from __future__ import annotations

from typing import Any

import pytest

import dpframe.plugin as dp

SPECTRUM = (
    "needs the parameter 'spectrum': a spectrum, as numbers or by spectrum=dp.ref(name) from an earlier step that ",
    'gives one, such as dp.release(..., "laplace-eigenvalues") or dp.derive(..., "eigenvalues")',
)


@pytest.mark.parametrize(
    ("make", "name", "parameters", "says"),
    [
        (dp.release, "orbit", {}, SPECTRUM),
        (dp.release, "orbit", {"k": 2}, ("'orbit' has no parameter 'k'; its parameters are: spectrum, ", *SPECTRUM)),
        (dp.release, "laplace-eigenvalues", {}, ("'laplace-eigenvalues' needs the parameter 'k'.",)),
        (dp.release, "gaussian", {"k": 2}, ("'gaussian' has no parameter 'k'; its parameters are: noise.",)),
        (
            dp.derive,
            "top-subspace",
            {"k": 2},
            ("'of': a Hermitian matrix, as numbers or by of=dp.ref(name)", "such as dp.release("),
        ),
    ],
)
def test_parameters(make: Any, name: str, parameters: dict[str, Any], says: tuple[str, ...]) -> None:
    with pytest.raises(dp.PlanError) as caught:
        make("v", name, **parameters)
    message = str(caught.value)
    assert message.startswith(f"step 'v': '{name}' ")
    assert [] == [part for part in says if part not in message], message


def test_a_budget_as_everybody_writes_it() -> None:
    assert dp.Budget(epsilon=1.0, delta=1e-6) == dp.Budget(1.0, 1e-6)
    assert dp.Budget(epsilon=1.0, delta=0.0) == dp.Budget(1.0)
    with pytest.raises(dp.PlanError, match=r"Budget\.delta must be a finite number of at least 0 and below 1; got 1"):
        dp.Budget(1e-6, 1.0)


@pytest.mark.parametrize("mechanism", ["gaussian", "matrix-laplace"])
@pytest.mark.parametrize("center", [False, True])
def test_the_steps_of_tasks_from_a_moment(mechanism: str, center: bool) -> None:
    rows = dp.Rows(norm=1.0, neighbors="replace", center=center)
    before = ["moment", "covariance"] if center else ["moment"]
    for task, last in [("subspace", "components"), ("low-rank", "estimate"), ("eigenvalues", "spectrum")]:
        steps = dp.moment_steps(mechanism, task, rows=rows, k=2)
        assert steps is not None
        assert [*before, last] == [step.name for step in steps]
    whole = dp.moment_steps(mechanism, "moment", rows=rows, k=None)
    assert before == [step.name for step in whole or ()]
    assert None is dp.moment_steps(mechanism, "median", rows=rows, k=2)
