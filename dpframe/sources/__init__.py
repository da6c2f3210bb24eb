"""Sources of rows, and their readers.

Opening a source reads its public schema only: shape, types and column names. Values are read when the runner asks for
blocks, which is after the charge. One module for each kind of source:

- ``arrays``: NumPy arrays, memory maps, dictionaries of columns;
- ``dispatch``: chooses the reader of a table: ``frames`` (pandas, polars), ``parquet``, ``csv``,
  ``arrow`` (tables and streams, and the conversion from Arrow to NumPy);
- ``queries``: DuckDB relations, and SQL on a database;
- ``sql``: tables whose statistics are computed by the database that holds them;
- ``dask`` and ``dask_partition``: Dask arrays and data frames, whose statistics are computed on the workers;
- ``spark``: data frames of Spark, likewise; ``partial_totals``: what these two share;
- ``opened`` and ``stamps``: what all readers share, and the detection of files that change.
"""

from dpframe.sources.source import Source, open_source

__all__ = ["Source", "open_source"]
