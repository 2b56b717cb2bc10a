"""Partials, the best tuples of one key, pane and tick: the only rows of a query that pass the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import group_sums, pair, unify
from tailrace.topk.best import Best, order_of
from tailrace.windows.panes import Ints
from tailrace.windows.sliding import Sliding

_TABLE = 4  # a table of all codes is cheaper than a search, up to this many entries for each row


def combine(windows: Sliding, best: Best, tuples: pa.RecordBatch, across: bool) -> pa.RecordBatch:
    """Combine tuples into at most the k best of each key, pane and tick, best first; the first counts all in `tuples`.

    With `across`, drop a tuple dominated by k tuples of the same pane that arrived no later: these count in every
    window in which it counts, so no window's top-k can contain it (k-skyband). One row of each key, pane and tick
    stays, for the count.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, `id`, `score` (double).
    across : bool
        True if tuples, late ones too, count in no other windows than their own.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, `score`, `id`.
    """
    tick = np.asarray(tuples.column("tick"))
    if across and (np.diff(tick) < 0).any():
        tuples = tuples.take(pa.array(np.argsort(tick, kind="stable")))
        tick = np.asarray(tuples.column("tick"))
    keys, (key,) = unify([tuples.column("key")])
    pane_and_key, split_pane = pair(np.asarray(tuples.column("event_time")) // windows.pane_ms, key)
    code, split = pair(tick, pane_and_key)
    score, ids = np.asarray(tuples.column("score")), tuples.column("id")
    groups, (group_counts,) = group_sums(code, np.ones(len(code), np.int64))
    place = best.places(code, score, lambda rows: order_of(ids.take(pa.array(rows))), pane_and_key if across else None)
    place = _with_every_code(code, groups, place)
    tick, pane_and_key = split(code[place])
    pane, key = split_pane(pane_and_key)
    count = np.zeros(len(place), np.int64)
    count[np.flatnonzero(np.diff(code[place], prepend=code[place][:1] - 1))] = group_counts
    columns = [pane * windows.pane_ms, tick, count, score[place]]
    key_column = pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys)
    return pa.RecordBatch.from_arrays(
        [key_column, *map(pa.array, columns), ids.take(pa.array(place))],
        names=["key", "pane", "tick", "tuples", "score", "id"],
    )


def _with_every_code(code: Ints, groups: Ints, place: Ints) -> Ints:
    """The given places, and one place of each code that has none among them, in order of their codes."""
    present = np.zeros(len(groups), bool)
    present[np.searchsorted(groups, code[place])] = True
    if present.all():
        return place
    places = np.concatenate([place, _place_of_each(code, groups)[~present]])
    return places[np.argsort(code[places], kind="stable")]


def _place_of_each(code: Ints, groups: Ints) -> Ints:
    """The place of one row of each distinct code."""
    offset, span = code - groups[0], int(groups[-1] - groups[0]) + 1
    if span > _TABLE * len(code):
        offset, span, groups = np.searchsorted(groups, code), len(groups), np.arange(len(groups))
    place = np.empty(span, np.int64)
    place[offset] = np.arange(len(code))
    return np.asarray(place[groups - groups[0]])
