"""The tightest accountant, or a refusal by name."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

import dpframe.plugin as dp
from dpframe import registry
from tests.support.plugins import Entry, entry, installed, plugin

GDP = dp.accountant("gdp")


def test_auto_takes_the_tightest_that_supports_all_and_refuses_by_name() -> None:
    auto = dp.accountant("auto")
    assert GDP.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6) == auto.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6)
    assert dp.accountant("pure").epsilon([dp.losses.Pure(epsilon=0.5)], 1e-6) == 0.5
    assert auto.epsilon([dp.losses.Pure(epsilon=0.5)], 1e-6) <= 0.5
    assert auto.epsilon([dp.losses.Pure(epsilon=0.5)], 0.0) == 0.5
    mixed = [dp.losses.Gaussian(mu=0.5), dp.losses.Approx(epsilon=1.0, delta=0.1)]
    if not any(plugin.name == "dpframe-pld" for plugin in dp.plugins()):
        with pytest.raises(dp.PlanError, match="no accountant of the project composes Approx, Gaussian losses"):
            auto.epsilon(mixed, 1e-6)
    assert not auto.supports(dp.losses.ModelBased(loss=dp.losses.Pure(epsilon=1.0), model="spiked", failure="1/n"))


class Half(dp.Accountant):
    """A third party's accountant with a mistake: half of the true epsilon."""

    name = "pld"

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return True

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return GDP.epsilon(losses, delta) / 2

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return GDP.delta(losses, 2 * epsilon)


THEIRS = plugin(dpframe_accountants=lambda: [Half])
INSTALLED = {
    "another distribution": entry("an-accountant", THEIRS),
    "an entry point with the name of the project's": Entry(None, lambda: THEIRS, "dpframe-pld"),
    "an entry point with the name of the core": Entry(None, lambda: THEIRS, "dpframe"),
}


@pytest.mark.parametrize("whose", INSTALLED)
def test_auto_asks_no_accountant_of_a_third_party(whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one that has taken the name of an accountant of the project that is not installed."""
    losses = [dp.losses.Gaussian(mu=0.5)]
    truth = GDP.epsilon(losses, 1e-6)
    monkeypatch.setattr(registry, "_registry", installed(monkeypatch, INSTALLED[whose]))
    assert Half in registry.accountants()
    assert truth == dp.accountant("auto").epsilon(losses, 1e-6)
    assert GDP.delta(losses, 1.0) == dp.accountant("auto").delta(losses, 1.0)
    assert not dp.accountant("auto").supports(Unheard())
    with pytest.raises(dp.PlanError, match=r"Unheard losses .* a plan names them for: pld"):
        dp.accountant("auto").epsilon([Unheard()], 1e-6)
    with pytest.raises(dp.PlanError, match=r"the accountant 'pld' .* states"):
        dp.accountant("pld").epsilon(losses, 1e-6)


def test_auto_asks_the_projects_own_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", installed(monkeypatch, entry("dpframe-pld", THEIRS)))
    assert GDP.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6) / 2 == dp.accountant("auto").epsilon(
        [dp.losses.Gaussian(mu=0.5)], 1e-6
    )


@attrs.frozen(kw_only=True)
class Unheard(dp.losses.PrivacyLoss):
    """A loss that no accountant of the project knows."""
