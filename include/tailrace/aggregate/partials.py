"""Partials, the aggregates of the tuples of one key, pane and tick: the only rows of a query that are shuffled."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate.aggregates import Aggregates
from tailrace.aggregate.tick_groups import TickGroups, group_by_tick
from tailrace.ground.columns import encode
from tailrace.windows.panes import Arrays
from tailrace.windows.windows import Windows


def combine(windows: Windows, aggregates: Aggregates, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine tuples into one row for each key, pane and tick, or one row per tuple where values are kept.

    Parameters
    ----------
    tuples : RecordBatch
        `key`, `event_time` (ms), `tick`, and the columns that the aggregates take.

    Returns
    -------
    RecordBatch
        Columns `key` (dictionary), `pane`, `tick`, `tuples`, and the accumulators. The rows are ordered by tick, pane
        and key, or like the tuples where values are kept.
    """
    columns = aggregates.lift(tuples)
    if aggregates.keeps:
        return _each(windows, tuples, columns, aggregates.types)
    groups = group_by_tick(windows, tuples)
    return _rows(groups, aggregates.merge_rows(groups.rows, columns), aggregates.types)


def _each(windows: Windows, tuples: pa.RecordBatch, columns: Arrays, types: dict[str, pa.DataType]) -> pa.RecordBatch:
    """Return a row for each tuple."""
    keys, key = encode(tuples.column("key"))
    pane, ones = windows.pane(np.asarray(tuples.column("event_time"))), np.ones(len(tuples), np.int64)
    groups = pa.DictionaryArray.from_arrays(pa.array(key, pa.int32()), keys)
    return _batch(groups, pane, np.asarray(tuples.column("tick")), {"tuples": ones} | columns, types)


def _rows(groups: TickGroups, columns: Arrays, types: dict[str, pa.DataType]) -> pa.RecordBatch:
    return _batch(groups.key, groups.pane, groups.tick, {"tuples": groups.tuples} | columns, types)


def _batch(
    key: pa.DictionaryArray, pane: np.ndarray, tick: np.ndarray, columns: Arrays, types: dict[str, pa.DataType]
) -> pa.RecordBatch:
    values = [pa.array(columns[name], dtype) for name, dtype in types.items()]
    return pa.RecordBatch.from_arrays(
        [key, pa.array(pane), pa.array(tick), *values], names=["key", "pane", "tick", *types]
    )
