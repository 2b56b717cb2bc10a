"""Histograms of a stream in Arrow, with columns that a search derives; stored and read without a copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailrace.emd_join.search import HistogramColumns, Values

KEY = "key"
"""The column with the first key, by which rows are sorted and partitioned."""

_DERIVED = "of_"  # prefix of the columns that the search derives


def with_derived(rows: pa.RecordBatch, values: Values) -> pa.RecordBatch:
    """Append the first key, and the columns that a search derives, each of shape (m,) or (m, k)."""
    rows = rows.append_column(KEY, pa.array(values["keys"][:, 0]))
    for name, column in values.items():
        flat = pa.array(np.ascontiguousarray(column).reshape(-1))
        array = flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1])
        rows = rows.append_column(derived_name(name), array)
    return rows


def columns_of(rows: pa.RecordBatch) -> HistogramColumns:
    """Return the columns that a search compares, from rows in order of their first key."""
    values = {
        name.removeprefix(_DERIVED): _matrix(rows.column(name)) for name in rows.schema.names if _is_derived(name)
    }
    return HistogramColumns(np.asarray(rows.column("event_time")), values)


def derived_name(name: str) -> str:
    """Return the name among the rows' columns of one that the search derives."""
    return _DERIVED + name


def merged(parts: Sequence[HistogramColumns]) -> tuple[HistogramColumns, np.ndarray]:
    """Merge the columns of all parts by their first key; return them, and each row's index among all parts."""
    times = np.concatenate([part.times for part in parts])
    return HistogramColumns.ordered(
        times, {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values}
    )


def _is_derived(name: str) -> bool:
    return name.startswith(_DERIVED)


def _matrix(column: pa.Array) -> np.ndarray:
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column)
    return np.asarray(column.flatten()).reshape(-1, column.type.list_size)
