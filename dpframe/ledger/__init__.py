"""An append-only ledger of the budget of each data set and of every run charged to it.

Entries are never changed or deleted. Each carries a hash that covers the entry before it (:mod:`dpframe.ledger.chain`),
in a file or a database (:mod:`dpframe.ledger.store`). A privacy filter decides which runs still fit; it is proved for
runs that depend on earlier results (:mod:`dpframe.ledger.filters`).
"""

from dpframe.ledger.chain import Entry
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.ledger import Ledger

__all__ = ["Dataset", "Entry", "Ledger"]
