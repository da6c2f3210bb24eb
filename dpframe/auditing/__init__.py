"""An auditor: how much privacy loss can be proved from releases on worst-case neighbours.

An audit can find that a mechanism spends more than it claims; it can never prove that it does not. What it would find
if the claim were spent in full is told with it, so that a bound of little power is not taken for a clean bill.
"""

from dpframe.auditing.auditor import audit
from dpframe.auditing.neighbor_pairs import Pair
from dpframe.auditing.outcome import Audit

__all__ = ["Audit", "Pair", "audit"]
