"""Compiled code for large data: cells to lattice integers, and the sums of products of these.

The operations on a cell are those of `dpframe.mapping` and `dpframe.lattice`, in the same order, and sums are sums of
integers that cannot overflow, so that every bit is the same as by NumPy.

- ``vectors`` and ``room``: what is spelled out for LLVM, and where rows lie while they are worked on;
- ``pairs`` and ``products``: rows to 16-bit integers, two rows side by side, and these to sums of products;
- ``rows`` and ``columns``: what is called, for rows with a norm and for columns;
- ``checks``: whether all of that works here.
"""

from dpframe.kernels.checks import CHECKS
from dpframe.kernels.columns import add_columns, add_strips, round_strips
from dpframe.kernels.rows import add_rows

__all__ = ["CHECKS", "add_columns", "add_rows", "add_strips", "round_strips"]
