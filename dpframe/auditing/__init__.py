"""Audits: lower bounds on the privacy loss, proved from releases on worst-case neighbors.

An audit can show that a mechanism spends more than it claims; it can never prove that it does not. Each audit reports
its power, the share of the claim that it would be expected to prove if the claim were spent in full, so that a weak
audit is not mistaken for evidence of privacy.
"""

from dpframe.auditing.auditor import audit
from dpframe.auditing.outcome import Audit
from dpframe.auditing.pair import Pair

__all__ = ["Audit", "Pair", "audit"]
