"""Conversion of times between integer milliseconds, the package's unit, and the timestamps of tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

TIME = pa.timestamp("us", "UTC")
"""The type of times in tables."""

INT96_UNIT = "us"
"""The unit in which Parquet's INT96 times (Spark's) are read: Arrow's default, ns, wraps outside 1677–2262."""

EVENT_US, ARRIVAL_US = "event_us", "arrival_us"
"""The columns of tuples with the microseconds of a time beyond its whole milliseconds, 0 to 999.

The clock and the windows count in milliseconds. Orders and bounds of times also use these microseconds."""

_WHOLE = {"event_time": EVENT_US, "arrival_time": ARRIVAL_US}

SEPARATORS = " ,;{}()\n\t="
"""Characters that Delta forbids in the names of columns."""


def with_times(rows: pa.Table, schema: pa.Schema, name: str = "a table") -> pa.Table:
    """Cast rows to the columns and types of a table with this name; times are given as int64 milliseconds.

    Raises
    ------
    ValueError
        When the rows lack a column of the table, or have a surplus one.
    """
    if {*rows.column_names} != {*schema.names}:
        raise other_columns(f"rows of {name}", rows.column_names, schema.names)
    return pa.table([_cast(rows.column(field.name), field.type) for field in schema], schema=schema)


def other_columns(what: str, given: Iterable[str], declared: Iterable[str]) -> ValueError:
    """Build the error for rows whose columns differ from the declared ones."""
    surplus, missing = sorted({*given} - {*declared}), sorted({*declared} - {*given})
    faults = [f"{fault} {', '.join(names)}" for fault, names in (("surplus", surplus), ("missing", missing)) if names]
    return ValueError(
        f"{what} has other columns than declared: {'; '.join(faults)}. Declared are: {', '.join(declared)}"
    )


def whole_times(tuples: pa.RecordBatch | pa.Table, name: str) -> NDArray[np.int64]:
    """Return the event or arrival times of tuples in microseconds, shape (n,)."""
    ms, us = (tuples.column(each).to_numpy(zero_copy_only=False) for each in (name, _WHOLE[name]))
    return np.asarray(ms * 1000 + us)


def joined_times(tuples: pa.Table) -> pa.Table:
    """Combine the times of tuples to timestamps; the inverse of `split_times`."""
    for name, rest in _WHOLE.items():
        micros = pa.array(whole_times(tuples, name)).cast(TIME)
        tuples = tuples.set_column(tuples.schema.get_field_index(name), name, micros).drop_columns([rest])
    return tuples


def split_times(tuples: pa.Table) -> pa.Table:
    """Split the times of tuples, timestamps in microseconds, into milliseconds and the remainder."""
    for name in [name for name in _WHOLE if name in tuples.schema.names]:
        micros = tuples.column(name).cast(TIME).cast(pa.int64()).to_numpy()
        ms = micros // 1000
        tuples = tuples.set_column(tuples.schema.get_field_index(name), name, pa.array(ms))
        tuples = tuples.append_column(_WHOLE[name], pa.array(micros - ms * 1000))
    return tuples


def stored_column(name: str) -> str:
    """Return the name in tables, before `split_times`, of a column of tuples."""
    return next((time for time, rest in _WHOLE.items() if rest == name), name)


def _cast(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_timestamp(dtype) and pa.types.is_integer(column.type):
        return pc.cast(pc.cast(column, pa.timestamp("ms", "UTC")), dtype)
    return pc.cast(column, dtype)
