"""Names of column types, for messages.

A library writes a type with what it is made of: field names, levels, lengths, time zones, fill values. In a file
without a header line, or a table that was pivoted, these are cells of people. So only the library's own word for the
type is shown, and its full text only if it has no parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

WORDS = {
    "M": "dates",
    "m": "durations",
    "O": "Python objects",
    "S": "bytes",
    "T": "text",
    "U": "text",
    "V": "records",
}


def type_name(dtype: Any) -> str:
    """The name of a type of NumPy, Arrow, pandas or polars, without its parameters.

    >>> type_name(np.dtype("<U46")), type_name(np.dtype("float32")), type_name(np.dtype([("Alice", "i8")]))
    ('text', 'float32', 'records')
    """
    if isinstance(dtype, np.dtype):
        return WORDS.get(dtype.kind, dtype.name)
    kind = dtype if isinstance(dtype, type) else type(dtype)
    has_no_parameters = (kind.__module__, kind.__name__) == ("pyarrow.lib", "DataType")
    return str(dtype) if has_no_parameters else kind.__name__
