"""Accountants that charge too little, or in a way that cannot be."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

import dpframe.plugin as dp


class RightSumOfMus(dp.Accountant):
    """Gaussian losses, through the exact one of the core."""

    name = "planted-accountant"

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Gaussian)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return dp.accountant("gdp").epsilon(losses, delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return dp.accountant("gdp").delta(losses, epsilon)


class Optimizt(RightSumOfMus):
    """Two per cent below the truth."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return 0.98 * super().epsilon(losses, delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return super().delta(losses, epsilon / 0.98)


class HalfTheLoss(RightSumOfMus):
    """A factor of two lost, so that plans have half of the noise."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return super().epsilon(self._halved(losses), delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return super().delta(self._halved(losses), epsilon)

    @staticmethod
    def _halved(losses: Sequence[dp.PrivacyLoss]) -> list[dp.PrivacyLoss]:
        return [dp.losses.Gaussian(mu=loss.mu / 2) for loss in losses if isinstance(loss, dp.losses.Gaussian)]


class HalfOfPure(RightSumOfMus):
    """Half of the epsilon where nothing may fail, at delta = 0."""

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Pure)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return dp.accountant("auto").epsilon(losses, delta) * (1.0 if delta else 0.5)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return dp.accountant("auto").delta(losses, epsilon)


class RightInTheMiddle(RightSumOfMus):
    """Half of the delta at the ends of the curve, where few look: at epsilon = 0, and from 5 on."""

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return super().delta(losses, epsilon) * (1.0 if 0.0 < epsilon < 5.0 else 0.5)


class ForgetsCrowds(RightSumOfMus):
    """Of more than twenty pure losses, every second one of the rest is forgotten."""

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Pure)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return dp.accountant("auto").epsilon(self._counted(losses), delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return dp.accountant("auto").delta(self._counted(losses), epsilon)

    @staticmethod
    def _counted(losses: Sequence[dp.PrivacyLoss]) -> list[dp.PrivacyLoss]:
        return [*losses[:20], *losses[20::2]]


class OnlyTheDearest(RightSumOfMus):
    """Of losses of several types, only the dearest type counts."""

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Gaussian | dp.losses.Pure)

    def _by_type(self, losses: Sequence[dp.PrivacyLoss]) -> Sequence[Sequence[dp.PrivacyLoss]]:
        types = (dp.losses.Gaussian, dp.losses.Pure)
        return [found for cls in types if (found := [loss for loss in losses if isinstance(loss, cls)])]

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return max(dp.accountant("auto").epsilon(each, delta) for each in self._by_type(losses))

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return max(dp.accountant("auto").delta(each, epsilon) for each in self._by_type(losses))


class CheaperByTheDozen(RightSumOfMus):
    """Costs less once there are four losses: valid, since it charges too much below that."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return super().epsilon(losses, delta) + (100.0 if len(losses) < 4 else 0.0)


class FirstCounts(RightSumOfMus):
    """Charges more the larger the first loss is."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return super().epsilon(losses, delta) * (1 + float(attrs.asdict(losses[0])["mu"]))


class TwoMinds(RightSumOfMus):
    """A delta that its own epsilon contradicts."""

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return min(2 * super().delta(losses, epsilon), 1.0)


class FoldsModels(RightSumOfMus):
    """Takes a guarantee under a model for one without."""

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Gaussian | dp.losses.ModelBased)
