"""Partials, aggregates of the tuples of one key, pane and tick: the only rows of a query that pass the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.ground.columns import pair, unify
from tailrace.windows.sliding import Sliding


def combine(windows: Sliding, fold: Fold, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine tuples into one row for each key, pane and tick: their number and total; fold `keep`: one row a tuple.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, and `value` (double) where the function needs one.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, `total` (as the fold defines it).
    """
    keys, (key,) = unify([tuples.column("key")])
    pane = windows.pane(np.asarray(tuples.column("event_time")))
    tick = np.asarray(tuples.column("tick"))
    value = np.asarray(tuples.column("value")) if "value" in tuples.schema.names else np.zeros(len(key))
    return merge(windows, fold, keys, key, pane, tick, np.ones(len(key), np.int64), value)


def merge(
    windows: Sliding, fold: Fold, keys: pa.Array, key: Ints, pane: Ints, tick: Ints, tuples: Ints, total: Floats
) -> pa.RecordBatch:
    """Merge rows into partials; the rows are columns of shape (n,), `key` holds codes into `keys`."""
    tick_and_pane, split_time = pair(tick, pane // windows.pane_ms)
    code, split = pair(tick_and_pane, key)
    code, tuples, total = folds.merge(fold, code, tuples, total)
    tick_and_pane, key = split(code)
    tick, pane = split_time(tick_and_pane)
    columns = (pane * windows.pane_ms, tick, tuples, total)
    return pa.RecordBatch.from_arrays(
        [pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys), *map(pa.array, columns)],
        names=["key", "pane", "tick", "tuples", "total"],
    )
