"""Error bars: what released values and their public noise say about the same values without noise."""

from dpframe.intervals.interval import Interval
from dpframe.intervals.law import AffineLaw, EntryLaw, Law
from dpframe.intervals.matrix import MatrixLaw

__all__ = ["AffineLaw", "EntryLaw", "Interval", "Law", "MatrixLaw"]
