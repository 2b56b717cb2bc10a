"""A sample of the partials by key, with which the query's clock measures errors.

It holds the keys with the smallest hashes that occurred in each stretch of event time up to each tick. The keys with
the smallest hashes of the whole stream up to a tick are therefore in the samples of the segments, however the log is
cut.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.aggregates import Aggregates
from tailrace.aggregate.partials import combine
from tailrace.disorder.quantile.key_sketch import GROUPS, KeySketch, stretch_of
from tailrace.ground.columns import group, pair, unify
from tailrace.partition.by_key import hash_of
from tailrace.windows.windows import Windows


def _in_sample(windows: Windows, tuples: pa.RecordBatch) -> NDArray[np.bool_]:
    """Mark the tuples whose key is in the sample at their tick; shape (n,) for n tuples."""
    keys, (key,) = unify([tuples.column("key")])
    if len(keys) <= GROUPS:
        return np.ones(len(tuples), bool)
    tick = np.asarray(tuples.column("tick"))
    code, split = pair(stretch_of(windows, np.asarray(tuples.column("event_time"))), key)
    distinct, (first,) = group(code, (tick, "min"))
    stretch, key = split(distinct)
    groups, index = KeySketch.from_rows(stretch, hash_of(keys)[key], first)
    return tick < groups.until[index][np.searchsorted(distinct, code)]


def sample(windows: Windows, aggregates: Aggregates, schema: pa.Schema, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine the tuples of at most `GROUPS` keys at a time in each stretch into partials; `group` is the key's hash.

    Parameters
    ----------
    aggregates : Aggregates
        The aggregates that promised answers need.
    schema : Schema
        `ErrorModel.sample`, with the columns of all aggregates; unneeded columns are 0 or null.
    tuples : RecordBatch
        The tuples, as for `combine`.
    """
    if not len(tuples):
        return pa.RecordBatch.from_pylist([], schema)
    partials = combine(windows, aggregates, tuples.filter(pa.array(_in_sample(windows, tuples))))
    hashes = hash_of(partials.column("key").dictionary).view(np.int64)[np.asarray(partials.column("key").indices)]
    columns = {name: partials.column(name) for name in partials.schema.names} | {"group": pa.array(hashes)}
    needed = [columns[field.name] if field.name in columns else _nothing(field.type, len(hashes)) for field in schema]
    return pa.RecordBatch.from_arrays(needed, schema=schema)


def _nothing(dtype: pa.DataType, count: int) -> pa.Array:
    """Return a column without values; numbers are 0, as nulls would turn the column into doubles."""
    is_number = pa.types.is_int64(dtype) or pa.types.is_float64(dtype)
    return pa.array(np.zeros(count), dtype) if is_number else pa.nulls(count, dtype)
