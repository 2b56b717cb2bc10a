"""Conversion of Arrow tables to pandas frames whose strings are compared and hashed as Arrow does."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

_TEXT = {kind: pd.ArrowDtype(kind) for kind in (pa.string(), pa.large_string())}


def frame(rows: pa.Table | pa.RecordBatch) -> pd.DataFrame:
    """Convert rows to a pandas frame whose string columns keep their Arrow type.

    A string column of nulls alone, as `key` is where a query has no key, becomes one of None. Strings of pandas' own
    types are hashed only up to the first NUL, so group-bys, `duplicated` and `drop_duplicates` take 'a' and 'a\\0b' for
    one; strings of Arrow types are hashed whole, by Arrow.
    """
    for place, field in enumerate(rows.schema):
        if field.type in _TEXT and 0 < len(rows) == rows.column(place).null_count:
            rows = rows.set_column(place, field.name, pa.nulls(len(rows)))
    return rows.to_pandas(types_mapper=_TEXT.get)
