"""Errors of approximate answers, relative to the exact ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.aggregate.value_column import Floats
from tailrace.answers.identity import Identity
from tailrace.ground.columns import single_batch


def errors(identity: Identity, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
    """The identity, and the relative error (`error`) of the answer to each window that is answered exactly.

    Where the true value is 0 the error is the absolute one; the error of a missing answer is 1.
    """
    near, true = (part["value"].to_numpy() for part in (approximate, exact))
    near = np.append(near, np.nan)[identity.find(exact, approximate)]  # −1 takes what was appended
    error = pa.array(relative(near, true))
    return single_batch(exact.select(identity.columns).append_column("error", error))


def share_right(error: pa.Array) -> float:
    """Return 1 − the mean error; errors above 1, which a missing answer has, count as 1. Without an answer it is 1."""
    return float(1 - np.minimum(np.asarray(error), 1.0).mean()) if len(error) else 1.0


def errors_of_all(
    identity: Identity, values: Mapping[str, pa.DataType], approximate: pa.Table, exact: pa.Table
) -> pa.RecordBatch:
    """The identity, and the greatest error among the columns of the answer to each window that is answered exactly.

    Of numbers as `errors`; of other values, and where one of two is null, 0 or 1.
    """
    place = identity.find(exact, approximate)
    greatest = np.where(place < 0, 1.0, 0.0)
    near_row = pa.array(place, pa.int64(), mask=place < 0)
    for name, dtype in values.items():
        near, true = approximate[name].combine_chunks().take(near_row), exact[name].combine_chunks()
        if pa.types.is_floating(dtype) or pa.types.is_decimal(dtype) or pa.types.is_integer(dtype):
            near, true = (part.cast(pa.float64(), safe=False) for part in (near, true))
            error = relative(*(part.to_numpy(zero_copy_only=False) for part in (near, true)))
            error = np.where(np.asarray(near.is_null()) != np.asarray(true.is_null()), 1.0, error)
        else:
            error = np.where(np.asarray(pc.equal(near, true).fill_null(False)), 0.0, 1.0)
        both_null = np.asarray(pc.and_(near.is_null(), true.is_null())) & (place >= 0)
        greatest = np.maximum(greatest, np.where(both_null, 0.0, error))
    return single_batch(exact.select(identity.columns).append_column("error", pa.array(greatest)))


def relative(value: Floats, true: Floats) -> Floats:
    """The relative errors, shape (n,): absolute where the true value is 0, and 1 where the error is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(value - true) / np.where(true == 0, 1.0, np.abs(true))
    return np.where(value == true, 0.0, np.where(np.isnan(error), 1.0, error))
