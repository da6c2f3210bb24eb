"""Plans as events of dp_accounting: its own accountants find what the plan states."""

from __future__ import annotations

import sys
from typing import Any

import attrs
import pytest

import dpframe.plugin as dp

events = pytest.importorskip("dp_accounting.dp_event", reason="dp-accounting comes with dpframe[pld]")
DELTA = 1e-6


def plan(*steps: Any, neighbors: str = "replace", **options: Any) -> dp.Plan:
    rows = dp.Rows(norm=1.0, neighbors=neighbors, dim=3)
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=DELTA), steps=steps, **options)


def composed(event: Any, relation: str = "ADD_OR_REMOVE_ONE") -> float:
    """The epsilon that dp_accounting's PLD accountant finds."""
    from dp_accounting.pld import PLDAccountant  # type: ignore[import-untyped]
    from dp_accounting.privacy_accountant import NeighboringRelation  # type: ignore[import-untyped]

    accountant = PLDAccountant(NeighboringRelation[relation])
    accountant.compose(event)
    return float(accountant.get_epsilon(DELTA))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_their_accountant_finds_the_epsilon_of_gaussian_plans(neighbors: str) -> None:
    several = plan(dp.release("a", "gaussian", weight=2.0), dp.release("b", "gaussian"), neighbors=neighbors)
    (a, b) = several.dp_events().events
    levels = several.pricing.levels
    assert (1 / levels["a"], 1 / levels["b"]) == pytest.approx((a.noise_multiplier, b.noise_multiplier), rel=1e-15)
    assert several.spent.epsilon == pytest.approx(composed(several.dp_events()), abs=1e-6)
    assert composed(several.dp_events(), "REPLACE_ONE") > 1.5  # it would count the relation twice


def test_mixed_plans_compose_there_as_in_our_own_pld() -> None:
    mixed = plan(
        dp.release("moment", "gaussian"),
        dp.release("values", "laplace-eigenvalues", k=1),
        dp.release("matrix", "matrix-laplace"),
        accountant="pld",
    )
    assert ["GaussianDpEvent", "LaplaceDpEvent", "DiscreteLaplaceDpEvent"] == [
        type(event).__name__ for event in mixed.dp_events().events
    ]
    assert mixed.spent.epsilon == pytest.approx(composed(mixed.dp_events()), abs=2e-4)  # its lattice has steps of 1e-4


@attrs.frozen(kw_only=True)
class Narrow(dp.PrivacyLoss):
    """A loss of a plugin, which implies one that is known."""

    epsilon: float

    def implies(self) -> tuple[dp.PrivacyLoss, ...]:
        return (dp.losses.Pure(epsilon=self.epsilon),)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (dp.losses.Pure(epsilon=0.5), events.DiscreteLaplaceDpEvent(0.5, 1)),
        (dp.losses.BoundedRange(epsilon=0.5), events.DiscreteLaplaceDpEvent(0.5, 1)),
        (dp.losses.Approx(epsilon=0.5, delta=0.0), events.DiscreteLaplaceDpEvent(0.5, 1)),
        (dp.losses.Approx(epsilon=0.5, delta=1e-9), events.UnsupportedDpEvent()),
        (dp.losses.ZCDP(rho=0.5), events.ZCDpEvent(0.5)),
        (dp.losses.Gaussian(mu=0.0), events.NoOpDpEvent()),
        (dp.losses.Approx(epsilon=0.0, delta=0.0), events.NoOpDpEvent()),
        (dp.losses.ModelBased(loss=dp.losses.Pure(epsilon=0.5), model="m", failure="0"), events.NonPrivateDpEvent()),
        (Narrow(epsilon=0.5), events.DiscreteLaplaceDpEvent(0.5, 1)),
        (dp.PrivacyLoss(), events.UnsupportedDpEvent()),
    ],
)
def test_every_loss_has_its_event(loss: dp.PrivacyLoss, expected: Any) -> None:
    from dpframe.accounting.dp_events import composed_event

    tree = composed_event([loss])
    assert expected == tree.events[0]
    assert tree == events.DpEvent.from_named_tuple(tree.to_named_tuple())
    hash(tree)  # frozen throughout


def test_the_discrete_laplace_event_has_the_curve_of_randomized_response() -> None:
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(events.DiscreteLaplaceDpEvent(0.5, 1))
    for epsilon in (0.0, 0.2, 0.4):
        exact = dp.accountant("pure").delta([dp.losses.Pure(epsilon=0.5)], epsilon)
        assert exact == pytest.approx(accountant.get_delta(epsilon), rel=1e-3)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(dp.PlanError, match=r"pip install 'dpframe\[pld\]'"):
        plan(dp.release("a", "gaussian")).dp_events()
