"""Partials, aggregates of the tuples of one key, pane and tick: the only rows of a query that pass the shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.aggregate.function import Function
from tailrace.ground.columns import encode, pair
from tailrace.kernels.library import compiled
from tailrace.kernels.signature import MAX, MIN, SUM, Codes
from tailrace.kernels.tick_partials import CELLS, CELLS_PER_TUPLE, fold_ticks
from tailrace.windows.windows import Windows

_COMPILED: dict[tuple[Fold, ...], int] = {("sum",): SUM, ("min",): MIN, ("max",): MAX}


def combine(windows: Windows, function: Function, tuples: pa.RecordBatch) -> pa.RecordBatch:
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
    keys, key = encode(tuples.column("key"))
    event, tick = np.asarray(tuples.column("event_time")), np.asarray(tuples.column("tick"))
    value = np.asarray(tuples.column("value")) if "value" in tuples.schema.names else np.zeros(len(key))
    columns = function.accumulate(value)
    key_code, *rows = _fold_ticks(windows, function.folds, len(keys), key, event, tick, columns) or _fold(
        windows, function.folds, key, event, tick, columns
    )
    return pa.RecordBatch.from_arrays(
        [pa.DictionaryArray.from_arrays(pa.array(key_code, pa.int32()), keys), *map(pa.array, rows)],
        names=["key", "pane", "tick", *function.types],
    )


def _fold(
    windows: Windows, rules: tuple[Fold, ...], key: Codes, event: Ints, tick: Ints, columns: Sequence[Floats]
) -> tuple[Any, ...]:
    """Fold tuples, columns of shape (n,), into partials in the order of tick, pane and key.

    Returns the columns of the partials: the codes of their keys, `pane`, `tick`, `tuples`, and the accumulator.
    """
    tick_and_pane, split_time = pair(tick, windows.to_scale(event) // windows.scale_step)
    group_id, split = pair(tick_and_pane, key.astype(np.int64))
    group_id, tuples, *merged = folds.merge(rules, group_id, np.ones(len(key), np.int64), *columns)
    tick_and_pane, key_code = split(group_id)
    tick, pane = split_time(tick_and_pane)
    return key_code, windows.from_scale(pane * windows.scale_step), tick, tuples, *merged


def _fold_ticks(
    windows: Windows,
    rules: tuple[Fold, ...],
    keys: int,
    key: Codes,
    event: Ints,
    tick: Ints,
    columns: Sequence[Floats],
) -> tuple[Any, ...] | None:
    """Do the same as `_fold` by compiled code; None where there is none, or it is not for such tuples."""
    n = len(key)
    fold_all = compiled(fold_ticks, n) if rules in _COMPILED else None
    if fold_all is None:
        return None
    (value,) = columns
    cells = CELLS_PER_TUPLE * n + CELLS
    counts, totals = np.empty(cells, np.int64), np.empty(cells)
    key_code, total = np.empty(n, np.int32), np.empty(n)
    pane, ticks, count = np.empty((3, n), np.int64)
    into = key_code, pane, ticks, count, total
    time, step = windows.to_scale(event), windows.scale_step
    rows = fold_all(n, keys, step, _COMPILED[rules], tick, time, key, value, counts, totals, *into)
    if rows < 0:
        return None
    return key_code[:rows], windows.from_scale(pane[:rows]), ticks[:rows], count[:rows], total[:rows]
