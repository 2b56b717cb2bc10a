"""Tuples by tick, pane and key: the groups whose partials are shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import Ints, encode, pair
from tailrace.ground.grouped_rows import GroupedRows
from tailrace.kernels.library import compiled
from tailrace.kernels.signature import Codes
from tailrace.kernels.tick_partials import CELLS, CELLS_PER_TUPLE, number_cells
from tailrace.windows.windows import Windows


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


def group_by_tick(windows: Windows, tuples: pa.RecordBatch) -> TickGroups:
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
    """Do the same as `_by_code` by compiled code; return None where it is unavailable or does not apply."""
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
