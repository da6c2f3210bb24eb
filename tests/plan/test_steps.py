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
