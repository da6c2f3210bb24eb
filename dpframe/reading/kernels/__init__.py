"""Compiled kernels for large data: round cells to lattice integers, and add up Gram matrices of these.

The operations on a cell are those of `dpframe.reading.column_map` and `dpframe.lattice`, in the same order, and all
sums are integer sums that cannot overflow. So every bit is the same as with NumPy.

- ``vectors`` and ``buffers``: vector instructions written in LLVM, and the layout of the buffers;
- ``pairs`` and ``products``: rows to pairs of 16-bit integers, and pairs to sums of products;
- ``placing``: cells of columns to rows of coordinates;
- ``row_gram``, ``column_gram`` and ``placed_rows``: the entry points, for rows with a norm, for columns, and for
  columns with a norm or a center;
- ``selftest``: checks that the kernels work on this machine.
"""

from dpframe.reading.kernels.column_gram import add_int16_columns, round_columns
from dpframe.reading.kernels.placed_rows import add_placed, count_lengths, sum_placed
from dpframe.reading.kernels.placing import Cells, Map
from dpframe.reading.kernels.row_gram import add_rows
from dpframe.reading.kernels.selftest import SELF_TESTS

__all__ = [
    "SELF_TESTS",
    "Cells",
    "Map",
    "add_int16_columns",
    "add_placed",
    "add_rows",
    "count_lengths",
    "round_columns",
    "sum_placed",
]
