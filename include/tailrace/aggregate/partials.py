"""Partials, aggregates of the tuples of one key, pane and tick: the only rows of a query that pass the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate import folds
from tailrace.aggregate.function import Function
from tailrace.ground.columns import pair, unify
from tailrace.windows.sliding import Sliding


def combine(windows: Sliding, function: Function, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine tuples into one row for each key, pane and tick; fold `keep`: one row a tuple.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, and `value` (double) where the function needs one.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, and the function's accumulator.
    """
    keys, (key,) = unify([tuples.column("key")])
    pane = windows.pane(np.asarray(tuples.column("event_time")))
    tick_and_pane, split_time = pair(np.asarray(tuples.column("tick")), pane // windows.pane_ms)
    code, split = pair(tick_and_pane, key)
    value = np.asarray(tuples.column("value")) if "value" in tuples.schema.names else np.zeros(len(key))
    code, *columns = folds.merge(function.folds, code, np.ones(len(key), np.int64), *function.accumulate(value))
    tick_and_pane, key = split(code)
    tick, pane = split_time(tick_and_pane)
    return pa.RecordBatch.from_arrays(
        [
            pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys),
            *map(pa.array, (pane * windows.pane_ms, tick, *columns)),
        ],
        names=["key", "pane", "tick", *function.types],
    )
