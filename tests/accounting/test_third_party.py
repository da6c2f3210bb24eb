"""Answers of third parties' accountants that cannot be true."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pytest

import dpframe.plugin as dp

GAUSSIANS: list[dp.PrivacyLoss] = [dp.losses.Gaussian(mu=0.2), dp.losses.Gaussian(mu=0.2)]
MIXTURE: list[dp.PrivacyLoss] = [dp.losses.Gaussian(mu=0.2), dp.losses.Laplace(epsilon=0.3)]


class Scaled(dp.Accountant):
    """The project's answer times a factor, which a test sets."""

    name = "test-scaled"
    factor = 1.0

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return dp.accountant("auto").supports(loss)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return self.factor * dp.accountant("auto").epsilon(losses, delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return self.factor * dp.accountant("auto").delta(losses, epsilon)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    dp.register(Scaled)
    yield
    dp.unregister(Scaled)


@pytest.mark.parametrize("losses", [GAUSSIANS, MIXTURE], ids=["Gaussian", "mixture"])
@pytest.mark.parametrize("factor", [1.0, 1 + 1e-9, 3.0, math.inf])
def test_answers_that_may_be_true_pass_unchanged(
    losses: list[dp.PrivacyLoss], factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scaled, "factor", factor)
    named, auto = dp.accountant("test-scaled"), dp.accountant("auto")
    assert "test-scaled" == named.name
    assert named.epsilon(losses, 1e-6) == factor * auto.epsilon(losses, 1e-6)
    assert named.delta(losses, 0.5) == factor * auto.delta(losses, 0.5)


@pytest.mark.parametrize(
    ("losses", "factor"),
    [(GAUSSIANS, 0.5), (GAUSSIANS, 0.98), (GAUSSIANS, 1 - 1e-6), (MIXTURE, 0.5), (MIXTURE, 0.98)],
)
def test_answers_below_the_truth_are_refused(
    losses: list[dp.PrivacyLoss], factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scaled, "factor", factor)
    named = dp.accountant("test-scaled")
    refusal = r"'test-scaled' \(this process\) states .* has a delta of at least .* Nothing was charged"
    with pytest.raises(dp.PlanError, match=refusal):
        named.epsilon(losses, 1e-6)
    with pytest.raises(dp.PlanError, match=refusal):
        named.delta(losses, 0.5)


@pytest.mark.parametrize("factor", [math.nan, -1.0])
def test_what_is_no_answer_is_refused(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scaled, "factor", factor)
    named = dp.accountant("test-scaled")
    with pytest.raises(dp.PlanError, match="which is no answer"):
        named.epsilon(GAUSSIANS, 1e-6)
    with pytest.raises(dp.PlanError, match="which is no answer"):
        named.delta(GAUSSIANS, 0.5)
