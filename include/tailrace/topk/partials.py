"""Partials: the best tuples of one key, pane and tick. Only these travel through the shuffle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import group_sums, pair, unify
from tailrace.panes.rows import Ints
from tailrace.topk.best import Best, order_of
from tailrace.windows.sliding import Sliding

_TABLE = 4  # a table of all codes is cheaper than a search, where it has no more than so many times the rows


def combine(windows: Sliding, best: Best, tuples: pa.RecordBatch, across: bool) -> pa.RecordBatch:
    """At most the k best of each key, pane and tick, the best first; that one counts all of them in `tuples`.

    A tuple that k of its pane are better than that came no later is not among the k best of a window: in what windows
    it counts, they count too. Where `across`, it is left out; one row of each key, pane and tick stays, for the count.

    Parameters
    ----------
    tuples : RecordBatch
        Columns `key`, `event_time` (ms), `tick`, `id`, `score` (double).
    across : bool
        Whether tuples, late ones too, count in no other windows than their own.

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
    of_key, panes_and_keys = pair(np.asarray(tuples.column("event_time")) // windows.pane_ms, key)
    code, all_three = pair(tick, of_key)
    score, ids = np.asarray(tuples.column("score")), tuples.column("id")
    groups, (many,) = group_sums(code, np.ones(len(code), np.int64))
    place = best.places(code, score, lambda rows: order_of(ids.take(pa.array(rows))), of_key if across else None)
    place = _with_all(code, groups, place)
    kept, of_key = all_three(code[place])
    pane, key = panes_and_keys(of_key)
    count = np.zeros(len(place), np.int64)
    count[np.flatnonzero(np.diff(code[place], prepend=code[place][:1] - 1))] = many
    columns = [pane * windows.pane_ms, kept, count, score[place]]
    key_column = pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys)
    return pa.RecordBatch.from_arrays(
        [key_column, *map(pa.array, columns), ids.take(pa.array(place))],
        names=["key", "pane", "tick", "tuples", "score", "id"],
    )


def _with_all(code: Ints, groups: Ints, place: Ints) -> Ints:
    """Places in order of their codes, and one of each code that has none there."""
    there = np.zeros(len(groups), bool)
    there[np.searchsorted(groups, code[place])] = True
    if there.all():
        return place
    one = np.concatenate([place, _one_of_each(code, groups)[~there]])
    return one[np.argsort(code[one], kind="stable")]


def _one_of_each(code: Ints, groups: Ints) -> Ints:
    """The place of a row of each of the distinct codes."""
    offset, span = code - groups[0], int(groups[-1] - groups[0]) + 1
    if span > _TABLE * len(code):
        offset, span, groups = np.searchsorted(groups, code), len(groups), np.arange(len(groups))
    place = np.empty(span, np.int64)
    place[offset] = np.arange(len(code))
    return np.asarray(place[groups - groups[0]])
