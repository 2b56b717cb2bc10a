"""Partials: what tuples of one key, pane and tick add up to. Only these travel through the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.columns import group_sums, unify
from tailrace.windows.sliding import Sliding

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def combine(windows: Sliding, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """One row for each key, pane and tick: how many tuples, and the sum of their values.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, and `value` (double) where the function needs one.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, `total`.
    """
    keys, (key,) = unify([tuples.column("key")])
    pane = windows.pane(np.asarray(tuples.column("event_time")))
    tick = np.asarray(tuples.column("tick"))
    value = np.asarray(tuples.column("value")) if "value" in tuples.schema.names else np.zeros(len(key))
    return merge(windows, keys, key, pane, tick, np.ones(len(key), np.int64), value)


def merge(
    windows: Sliding, keys: pa.Array, key: Ints, pane: Ints, tick: Ints, tuples: Ints, total: Floats
) -> pa.RecordBatch:
    """The partials of rows given as columns of shape (n,), `key` as codes into `keys`."""
    tick_rank, tick_values = _rank(tick)
    pane_low = int(pane.min()) if len(pane) else 0
    pane_rank = (pane - pane_low) // windows.pane_ms
    panes = int(pane_rank.max()) + 1 if len(pane) else 1
    code, (tuples, total) = group_sums((tick_rank * panes + pane_rank) * max(len(keys), 1) + key, tuples, total)
    rest, key = np.divmod(code, max(len(keys), 1))
    tick_rank, pane_rank = np.divmod(rest, panes)
    return pa.RecordBatch.from_arrays(
        [
            pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys),
            pa.array(pane_rank * windows.pane_ms + pane_low),
            pa.array(tick_values[tick_rank]),
            pa.array(tuples),
            pa.array(total),
        ],
        names=["key", "pane", "tick", "tuples", "total"],
    )


def _rank(tick: Ints) -> tuple[Ints, Ints]:
    """Ticks as small numbers: the rank of each among those that exist, and the ticks by rank."""
    if len(tick) and not (tick[1:] < tick[:-1]).any():  # in order, as a source gives them: no sorting
        first = np.r_[True, tick[1:] != tick[:-1]]
        return np.cumsum(first) - 1, tick[first]
    values, rank = np.unique(tick, return_inverse=True)
    return rank, values
