"""A sample of the partials by key, by which the query's clock measures errors.

It holds the keys with the smallest hashes among those that have come to each stretch of event time up to each tick.
A reader that selects, tick by tick, the keys with the smallest hashes of the whole stream so far finds them in the
samples of its segments, however the log is cut.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.function import Function
from tailrace.aggregate.partials import combine_function as combine
from tailrace.disorder.quantile.key_sketch import GROUPS, KeySketch, stretch_of
from tailrace.disorder.tick_statistics import SAMPLE
from tailrace.ground.columns import group, pair, unify
from tailrace.partition.by_key import hash_of
from tailrace.windows.windows import Windows


def _in_sample(windows: Windows, tuples: pa.RecordBatch) -> NDArray[np.bool_]:
    """Mask of the tuples whose key is in the sample at their tick; shape (n,) for n tuples."""
    keys, (key,) = unify([tuples.column("key")])
    if len(keys) <= GROUPS:
        return np.ones(len(tuples), bool)
    tick = np.asarray(tuples.column("tick"))
    code, split = pair(stretch_of(windows, np.asarray(tuples.column("event_time"))), key)
    distinct, (first,) = group(code, (tick, "min"))
    stretch, key = split(distinct)
    groups, place = KeySketch.of(stretch, hash_of(keys)[key], first)
    return tick < groups.until[place][np.searchsorted(distinct, code)]


def sample(windows: Windows, function: Function, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine the tuples of at most `GROUPS` keys at a time in each stretch into partials; `group` is the key's hash.

    Parameters
    ----------
    tuples : RecordBatch
        As `combine` takes them.

    Returns
    -------
    RecordBatch
        Of schema `SAMPLE`. `squares` is the sum of the squares of the values where `total` is the sum of the values,
        else 0. Without rows where the function promises nothing.
    """
    if function.threshold is None:
        return pa.RecordBatch.from_pylist([], SAMPLE)
    selection = tuples.filter(pa.array(_in_sample(windows, tuples)))
    partials = combine(windows, function, selection)
    hashes = hash_of(partials.column("key").dictionary).view(np.int64)[np.asarray(partials.column("key").indices)]
    squares = np.zeros(len(hashes))
    if function.folds == ("sum",) and "value" in selection.schema.names:
        place = selection.schema.get_field_index("value")
        with_squares = selection.set_column(place, "value", pa.array(np.square(np.asarray(selection.column(place)))))
        squares = np.asarray(
            combine(windows, function, with_squares).column("total")
        )  # in the same order as the partials
    columns = [partials.column("tick"), pa.array(hashes), partials.column("pane"), partials.column("tuples")]
    return pa.RecordBatch.from_arrays([*columns, partials.column("total"), pa.array(squares)], schema=SAMPLE)
