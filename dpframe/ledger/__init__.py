"""A ledger that never forgets: what every data set may spend, and every run that spent from it.

Entries are only ever added, each sealed with a hash over the one before (:mod:`dpframe.ledger.chain`), in a file or a
database (:mod:`dpframe.ledger.store`). Which runs still fit is decided by a filter whose theorem allows runs that
depend on earlier results (:mod:`dpframe.ledger.filters`).
"""

from dpframe.ledger.chain import Entry
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.ledger import Ledger

__all__ = ["Dataset", "Entry", "Ledger"]
