"""Accountants of third parties: their answers are refused where they are proved to be too small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from dpframe.accounting.lower_bound import MARGIN, contradicted, least_delta
from dpframe.errors import PlanError
from dpframe.interfaces import Accountant
from dpframe.losses import PrivacyLoss
from dpframe.rounding import format_down


@attrs.frozen
class ThirdParty(Accountant):
    """An accountant of a third party, with every answer compared with a lower bound on the truth.

    The comparison detects gross mistakes, not all of them: an answer between the lower bound and the truth passes, and
    losses of other types than those of :mod:`dpframe.losses` are not part of the bound.

    Args:
        name: its name.
        provider: the package that provides it, with its version.
        answering: the accountant itself.
    """

    name: str  # type: ignore[misc]  # of one accountant, not of the class
    provider: str
    answering: Accountant

    def supports(self, loss: PrivacyLoss) -> bool:
        """Whether the accountant supports the loss."""
        return self.answering.supports(loss)

    def epsilon(self, losses: Sequence[PrivacyLoss], delta: float) -> float:
        """The epsilon of the accountant; raises PlanError where it is impossible."""
        epsilon = self.answering.epsilon(losses, delta)
        if not epsilon >= 0.0 or contradicted(losses, epsilon, delta):
            raise self._impossible(losses, epsilon, delta)
        return epsilon

    def delta(self, losses: Sequence[PrivacyLoss], epsilon: float) -> float:
        """The delta of the accountant; raises PlanError where it is impossible."""
        delta = self.answering.delta(losses, epsilon)
        if not delta >= 0.0 or least_delta(losses, epsilon) > delta * (1 + MARGIN):
            raise self._impossible(losses, epsilon, delta)
        return delta

    def _impossible(self, losses: Sequence[PrivacyLoss], epsilon: float, delta: float) -> PlanError:
        listed = ", ".join(
            f"{count} × {loss}" if count > 1 else loss for loss, count in Counter(map(str, losses)).items()
        )
        reason = "which is no answer"
        if epsilon >= 0.0 and delta >= 0.0:
            least = least_delta(losses, epsilon)
            reason = f"but a mechanism with these losses has a delta of at least {format_down(least)} at that epsilon"
        return PlanError(
            f"the accountant {self.name!r} ({self.provider}) states epsilon={epsilon:.6g}, delta={delta:.6g} for "
            f"{listed}, {reason}. Nothing was charged. The accountant has a mistake; leave out "
            "accountant=, so that the project's own are used."
        )
