"""The tightest accountant, or a refusal by name."""

from __future__ import annotations

import pytest

import dpframe.plugin as dp

GDP = dp.accountant("gdp")


def test_auto_takes_the_tightest_that_supports_all_and_refuses_by_name() -> None:
    auto = dp.accountant("auto")
    assert GDP.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6) == auto.epsilon([dp.losses.Gaussian(mu=0.5)], 1e-6)
    assert dp.accountant("pure").epsilon([dp.losses.Pure(epsilon=0.5)], 1e-6) == 0.5
    assert auto.epsilon([dp.losses.Pure(epsilon=0.5)], 1e-6) <= 0.5
    assert auto.epsilon([dp.losses.Pure(epsilon=0.5)], 0.0) == 0.5
    mixed = [dp.losses.Gaussian(mu=0.5), dp.losses.Approx(epsilon=1.0, delta=0.1)]
    if not any(plugin.name == "dpframe-pld" for plugin in dp.plugins()):
        with pytest.raises(dp.PlanError, match="no installed accountant composes Approx, Gaussian losses"):
            auto.epsilon(mixed, 1e-6)
    assert not auto.supports(dp.losses.ModelBased(loss=dp.losses.Pure(epsilon=1.0), model="spiked", failure="1/n"))
