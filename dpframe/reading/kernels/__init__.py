"""Compiled code for large data: cells to lattice integers, and the sums of products of these.

The operations on a cell are those of `dpframe.reading.column_map` and `dpframe.lattice`, in the same order, and sums
are sums of integers that cannot overflow, so that every bit is the same as by NumPy.

- ``vectors`` and ``buffers``: what is spelled out for LLVM, and where rows lie while they are worked on;
- ``pairs`` and ``products``: rows to 16-bit integers, two rows side by side, and these to sums of products;
- ``row_gram`` and ``column_gram``: what is called, for rows with a norm and for columns;
- ``selftest``: whether all of that works here.
"""

from dpframe.reading.kernels.column_gram import add_columns, add_strips, round_strips
from dpframe.reading.kernels.row_gram import add_rows
from dpframe.reading.kernels.selftest import SELF_TESTS

__all__ = ["SELF_TESTS", "add_columns", "add_rows", "add_strips", "round_strips"]
