"""Partials: the best tuples of one key, pane and tick, the only rows of a query that are shuffled."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import group_sums, pair, unify
from tailrace.topk.best import Best, order_of
from tailrace.windows.panes import Ints
from tailrace.windows.windows import Windows

TABLE = 4  # up to this number of entries per row, a table of all codes is cheaper than a search


def combine(windows: Windows, best: Best, tuples: pa.RecordBatch, across: bool) -> pa.RecordBatch:
    """Combine tuples into at most the k best of each key, pane and tick, best first; `tuples` of the first counts all.

    With `across`, drop a tuple dominated by k tuples of the same pane that arrived no later: these count in every
    window in which it counts, so no window's top-k can contain it (k-skyband). One row of each key, pane and tick
    stays, for the count.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, `id`, `score`, and the columns of `select`.
    across : bool
        Whether tuples, including late ones, only count in their own windows.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, `score`, `id`, and the stored columns of `select`.
    """
    tick = np.asarray(tuples.column("tick"))
    if across and (np.diff(tick) < 0).any():
        tuples = tuples.take(pa.array(np.argsort(tick, kind="stable")))
        tick = np.asarray(tuples.column("tick"))
    keys, (key,) = unify([tuples.column("key")])
    pane_and_key, split_pane = pair(
        windows.to_scale(np.asarray(tuples.column("event_time"))) // windows.scale_step, key
    )
    group_id, split = pair(tick, pane_and_key)
    score, ids = tuples.column("score"), tuples.column("id")
    groups, (group_counts,) = group_sums(group_id, np.ones(len(group_id), np.int64))
    index = best.best_rows(
        group_id,
        best.scores.worse_of(score),
        lambda rows: order_of(ids.take(pa.array(rows))),
        pane_and_key if across else None,
    )
    index = _with_every_group(group_id, groups, index)
    tick, pane_and_key = split(group_id[index])
    pane, key = split_pane(pane_and_key)
    count = np.zeros(len(index), np.int64)
    count[np.flatnonzero(np.diff(group_id[index], prepend=group_id[index][:1] - 1))] = group_counts
    columns = [windows.from_scale(pane * windows.scale_step), tick, count]
    key_column = pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys)
    scores = best.scores.store(score.take(pa.array(index)))
    selected = best.selected.store(tuples.take(pa.array(index))) if best.selected.types else {}
    return pa.RecordBatch.from_arrays(
        [key_column, *map(pa.array, columns), scores, ids.take(pa.array(index)), *selected.values()],
        names=["key", "pane", "tick", "tuples", "score", "id", *selected],
    )


def _with_every_group(group_id: Ints, groups: Ints, index: Ints) -> Ints:
    """Return the given indices, and one index of each code that has none among them, in order of their codes."""
    present = np.zeros(len(groups), bool)
    present[np.searchsorted(groups, group_id[index])] = True
    if present.all():
        return index
    indices = np.concatenate([index, _index_of_each(group_id, groups)[~present]])
    return indices[np.argsort(group_id[indices], kind="stable")]


def _index_of_each(group_id: Ints, groups: Ints) -> Ints:
    """Return the index of one row of each distinct code."""
    offset, span = group_id - groups[0], int(groups[-1] - groups[0]) + 1
    if span > TABLE * len(group_id):
        offset, span, groups = np.searchsorted(groups, group_id), len(groups), np.arange(len(groups))
    index = np.empty(span, np.int64)
    index[offset] = np.arange(len(group_id))
    return np.asarray(index[groups - groups[0]])
