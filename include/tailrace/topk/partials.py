"""Partials: the k best tuples of one key, pane and tick. Only these travel through the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.columns import group_sums, pair, unify
from tailrace.topk.best import Best
from tailrace.windows.sliding import Sliding


def combine(windows: Sliding, best: Best, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """The k best of each key, pane and tick, the best first; that one counts all of them in `tuples`.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, `id`, `score` (double).

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, `score`, `id`.
    """
    keys, (key,) = unify([tuples.column("key")])
    pane = np.asarray(tuples.column("event_time")) // windows.pane_ms
    at, ticks_and_panes = pair(np.asarray(tuples.column("tick")), pane)
    code, all_three = pair(at, key)
    score, ids = np.asarray(tuples.column("score")), tuples.column("id")
    place = best.places(code, score, lambda rows: ids.take(pa.array(rows)).to_numpy(zero_copy_only=False))
    at, kept_key = all_three(code[place])
    tick, pane = ticks_and_panes(at)
    _, (many,) = group_sums(code, np.ones(len(code), np.int64))
    count = np.zeros(len(place), np.int64)
    count[np.flatnonzero(np.diff(code[place], prepend=code[place][:1] - 1))] = many
    columns = [pane * windows.pane_ms, tick, count, score[place]]
    key_column = pa.DictionaryArray.from_arrays(pa.array(kept_key, pa.int32()), keys)
    return pa.RecordBatch.from_arrays(
        [key_column, *map(pa.array, columns), ids.take(pa.array(place))],
        names=["key", "pane", "tick", "tuples", "score", "id"],
    )
