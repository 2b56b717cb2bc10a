"""Errors of approximate answers, relative to the exact ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.identity import Identity
from tailrace.ground.arrow.columns import single_batch
from tailrace.ground.arrow.matching import number_rows
from tailrace.ground.arrow.number_types import as_doubles, is_number
from tailrace.ground.arrow.value_column import Floats


def share_right(error: pa.Array) -> float:
    """Return 1 − the mean error; errors above 1 (missing answers) count as 1. The result is 1 without any answer."""
    return float(1 - np.minimum(np.asarray(error), 1.0).mean()) if len(error) else 1.0


def errors_by_column(
    identity: Identity, values: Mapping[str, pa.DataType], approximate: pa.Table, exact: pa.Table
) -> pa.RecordBatch:
    """Return the identity of each exact answer, and the error of each column of values under its name.

    Errors of numbers are relative, or absolute if the true value is 0. For other values, and if one of the two is null,
    the error is 0 or 1. A missing answer has the error 1.
    """
    index = identity.find(exact, approximate)
    near_row = pa.array(index, pa.int64(), mask=index < 0)
    rows = exact.select(identity.columns)
    for name, dtype in values.items():
        near, true = approximate[name].combine_chunks().take(near_row), exact[name].combine_chunks()
        if is_number(dtype):
            near, true = (as_doubles(part) for part in (near, true))
            error = relative(*(part.to_numpy(zero_copy_only=False) for part in (near, true)))
            error = np.where(np.asarray(near.is_null()) != np.asarray(true.is_null()), 1.0, error)
        else:
            one, other = number_rows([pa.table({name: each}) for each in (near, true)], [name])
            error = np.where((one == other) & np.asarray(near.is_valid()), 0.0, 1.0)
        both_null = np.asarray(pc.and_(near.is_null(), true.is_null())) & (index >= 0)
        rows = rows.append_column(name, pa.array(np.where(both_null, 0.0, error)))
    return single_batch(rows)


def greatest_errors(identity: Identity, by_column: pa.RecordBatch) -> pa.RecordBatch:
    """Return the identity, and `error`, the greatest error among the columns of each answer."""
    columns = [np.asarray(by_column.column(name)) for name in by_column.schema.names if name not in identity.columns]
    rows = pa.Table.from_batches([by_column.select(list(identity.columns))])
    return single_batch(rows.append_column("error", pa.array(np.max(columns, axis=0))))


def relative(value: Floats, true: Floats) -> Floats:
    """Return relative errors, shape (n,); an error is absolute if the true value is 0, and 1 if it would be NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(value - true) / np.where(true == 0, 1.0, np.abs(true))
    return np.where(value == true, 0.0, np.where(np.isnan(error), 1.0, error))
