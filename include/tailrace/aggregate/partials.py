"""Partials: what tuples of one key, pane and tick come to. Only these travel through the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.ground.columns import pair, unify
from tailrace.windows.sliding import Sliding


def combine(windows: Sliding, fold: Fold, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """One row for each key, pane and tick: how many tuples, and their total. With fold `keep`: a row for each tuple.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, and `value` (double) where the function needs one.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, `total` (as the fold has it).
    """
    keys, (key,) = unify([tuples.column("key")])
    pane = windows.pane(np.asarray(tuples.column("event_time")))
    tick = np.asarray(tuples.column("tick"))
    value = np.asarray(tuples.column("value")) if "value" in tuples.schema.names else np.zeros(len(key))
    return merge(windows, fold, keys, key, pane, tick, np.ones(len(key), np.int64), value)


def merge(
    windows: Sliding, fold: Fold, keys: pa.Array, key: Ints, pane: Ints, tick: Ints, tuples: Ints, total: Floats
) -> pa.RecordBatch:
    """The partials of rows given as columns of shape (n,), `key` as codes into `keys`."""
    at, ticks_and_panes = pair(tick, pane // windows.pane_ms)
    code, all_three = pair(at, key)
    code, tuples, total = folds.merge(fold, code, tuples, total)
    at, key = all_three(code)
    tick, pane = ticks_and_panes(at)
    columns = (pane * windows.pane_ms, tick, tuples, total)
    return pa.RecordBatch.from_arrays(
        [pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys), *map(pa.array, columns)],
        names=["key", "pane", "tick", "tuples", "total"],
    )
