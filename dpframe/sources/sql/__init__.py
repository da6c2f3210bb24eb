"""Tables whose statistics are computed by the database that holds them: only exact integers leave it.

- ``table``: what users pass, and the check of a table's names and types;
- ``dialect``, ``dialects``: how an engine writes numbers, names, rounding and exact sums, and why these are exact;
- ``cells``, ``row_map``, ``selects``, ``statements``: the SQL of cells, of lattice rows and of statistics;
- ``self_test``: the same SQL on awkward cells, compared with the integers of the array path before the charge;
- ``engine``, ``duckdb``, ``postgres``, ``sqlite``: connections, schemas and snapshots;
- ``pushed``: an opened table, its statistics and its end.
"""
