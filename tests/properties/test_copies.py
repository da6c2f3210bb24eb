"""What is pickled, copied or copied deeply comes back equal, with all attributes, and as read-only as it was."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe import errors

ROWS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Column("hours", 1, 99)], neighbors="replace", center=True)
PLAN = dp.Plan(
    rows=ROWS,
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[
        dp.release("moment", "gaussian"),
        dp.derive("covariance", "covariance", of="moment"),
        dp.derive("fixed", "eigenvalues", of=dp.SymmetricMatrix([[2.0, 1.0], [1.0, 3.0]])),
    ],
)
RECIPE = dp.Plan(
    rows=dp.Rows(norm=1.0, neighbors="add-remove"),
    budget=dp.Budget(epsilon=1.0, delta=1e-6),
    steps=[dp.release("cov", "spiked-block", rank=1, shares=(0.5, 0.5), radii=(1.0, 0.5))],
)

WAYS: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(partial(lambda protocol, each: pickle.loads(pickle.dumps(each, protocol)), number) for number in range(6)),
]
every_way = pytest.mark.parametrize("again", WAYS, ids=["copy", "deepcopy", *(f"pickle {n}" for n in range(6))])


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "BudgetExceeded": {
        "asked": 3.5,
        "allowed": 3.0,
        "delta": 1e-6,
        "remaining": dp.Budget(epsilon=0.5, delta=1e-6),
        "affordable": None,
    },
    "ReleaseFailed": {"step": "moment", "spent": dp.Budget(epsilon=1.0)},
}
ERRORS = [cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, dp.DPFrameError)]


@every_way
@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_errors(cls: type[dp.DPFrameError], again: Callable[[Any], Any]) -> None:
    attributes = next((ATTRIBUTES[base.__name__] for base in cls.__mro__ if base.__name__ in ATTRIBUTES), {})
    error = cls("it failed", **attributes)
    error.add_note("Head: 1234")
    back = again(error)
    assert (cls, ("it failed",), "it failed") == (type(back), back.args, str(back))
    assert vars(error) == vars(back)
    assert attributes.items() <= vars(back).items()
    assert ["Head: 1234"] == back.__notes__


@every_way
@pytest.mark.parametrize("plan", [PLAN, RECIPE, RECIPE.bind(5)], ids=["columns", "recipe", "bound recipe"])
def test_plans(plan: dp.Plan, again: Callable[[Any], Any]) -> None:
    back = again(plan)
    assert plan == back
    assert (plan.steps, plan.pricing, plan.content_hash) == (back.steps, back.pricing, back.content_hash)
    value = back.declared[-1].action
    assert not isinstance(value, dp.postprocess.Eigenvalues) or not value.of.array.flags.writeable


def test_a_plan_that_was_pickled_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = pickle.dumps(PLAN)
    monkeypatch.setattr("dpframe.plan.plan.priced", lambda plan: {}["a price"])
    with pytest.raises(KeyError, match="a price"):
        pickle.loads(sent)


@attrs.frozen(eq=False)  # with slots, which its base has not
class Slotted(dp.Vector):
    """A kind of a third party."""

    title = "a vector with a part"

    part: dp.Vector = attrs.field(kw_only=True)


KINDS: list[dp.Kind] = [
    dp.HermitianMatrix([[1.0, 1j], [-1j, 2.0]]),
    dp.AugmentedMoment(np.eye(3), constant=0.5, axes=dp.Axes(("a", "b"), (1.0, 2.0), (0.0, 0.0))),
    dp.Spectrum([2.0, 1.0]),
    dp.Scalar(3.0),
    Slotted([1.0, 2.0], part=dp.Vector([3.0])),
]


@every_way
@pytest.mark.parametrize("value", KINDS, ids=lambda value: type(value).__name__)
def test_values_stay_read_only(value: dp.Kind, again: Callable[[Any], Any]) -> None:
    back = again(value)
    assert value == back
    assert value.beside == back.beside
    assert not back.array.flags.writeable
    if isinstance(back, Slotted):
        assert not back.part.array.flags.writeable


@every_way
def test_results_stay_read_only(again: Callable[[Any], Any]) -> None:
    result = PLAN.run({"age": np.arange(50.0), "hours": np.arange(50.0)}, insecure_seed=1)
    back = again(result)
    assert result == back
    for name in ("moment", "covariance", "fixed"):
        assert np.array_equal(result[name], back[name])
        with pytest.raises(ValueError, match="read-only"):
            back[name][0] = 0.0
