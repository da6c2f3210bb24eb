"""Where rows come from, and how they are read.

Opening a source looks at its public schema only: shape, types and column names. Values are read when the runner asks
for blocks, which is after the charge. One module for each way in:

- ``arrays``: NumPy arrays, memory maps, dictionaries of columns;
- ``dispatch``: which of the following is for which table: ``frames`` (pandas, polars), ``parquet``, ``csv``,
  ``arrow`` (tables and streams, and the one conversion from Arrow to NumPy);
- ``queries``: relations of DuckDB, and SQL on a database;
- ``dask`` and ``dask_partition``: arrays and data frames of Dask, whose statistics are computed where they are;
- ``opened`` and ``stamps``: what they share, and how data that does not stand still is noticed.
"""

from dpframe.sources.source import Source, open_source

__all__ = ["Source", "open_source"]
