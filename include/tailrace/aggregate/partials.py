"""Partials: aggregates of the tuples of one key, pane and tick, the only rows of a query that are shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.aggregate.aggregates import Aggregates
from tailrace.ground.arrow.columns import Ints, encode, pair
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.kernels.library import compiled
from tailrace.kernels.signature import Codes
from tailrace.kernels.tick_partials import CELLS, CELLS_PER_TUPLE, number_cells
from tailrace.windows.panes import Arrays
from tailrace.windows.windows import Windows


def combine(windows: Windows, aggregates: Aggregates, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Combine tuples into one row for each key, pane and tick; into one row per tuple if values are kept.

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
    groups = _group_by_tick(windows, tuples)
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


class TickGroups(NamedTuple):
    """The m groups of some tuples, in the order of tick, pane and key.

    Attributes
    ----------
    rows : GroupedRows
        The tuples by group.
    key : DictionaryArray, length m
    pane, tick, tuples : ndarray, shape (m,)
    """

    rows: GroupedRows
    key: pa.DictionaryArray
    pane: Ints
    tick: Ints
    tuples: Ints


def _group_by_tick(windows: Windows, tuples: pa.RecordBatch) -> TickGroups:
    """Group tuples with the columns `key`, `event_time` (ms) and `tick`."""
    keys, key = encode(tuples.column("key"))
    event, tick = np.asarray(tuples.column("event_time")), np.asarray(tuples.column("tick"))
    groups = _by_cell(windows, len(keys), key, event, tick) or _by_code(windows, key, event, tick)
    rows, key_code, *columns = groups
    return TickGroups(rows, pa.DictionaryArray.from_arrays(pa.array(key_code, pa.int32()), keys), *columns)


def _by_code(windows: Windows, key: Codes, event: Ints, tick: Ints) -> tuple[Any, ...]:
    tick_and_pane, split_time = pair(tick, windows.to_scale(event) // windows.scale_step)
    code, split = pair(tick_and_pane, key.astype(np.int64))
    codes, rows = GroupedRows.from_codes(code)
    tick_and_pane, key_code = split(codes)
    tick, pane = split_time(tick_and_pane)
    counts = rows.fold(np.ones(len(key), np.int64), "sum")
    return rows, key_code, windows.from_scale(pane * windows.scale_step), tick, counts


def _by_cell(windows: Windows, keys: int, key: Codes, event: Ints, tick: Ints) -> tuple[Any, ...] | None:
    """Do the same as `_by_code` in compiled code; return None if that is unavailable or does not apply."""
    n = len(key)
    number = compiled(number_cells, n)
    if number is None:
        return None
    cells = min(CELLS_PER_TUPLE * n + CELLS, np.iinfo(np.int32).max)
    counts, cell = np.empty(cells, np.int32), np.empty(n, np.int32)
    used, key_code = np.empty((2, n), np.int32)
    pane, ticks, tuples = np.empty((3, n), np.int64)
    columns = used, key_code, pane, ticks, tuples
    m = number(n, keys, windows.scale_step, tick, windows.to_scale(event), key, cells, counts, cell, *columns)
    if m <= 0:
        return None
    groups = GroupedRows(cell, int(used[m - 1]) + 1, used[:m])
    return groups, key_code[:m], windows.from_scale(pane[:m]), ticks[:m], tuples[:m]
