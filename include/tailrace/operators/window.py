"""Incremental window operator over panes, called once per batch, without a loop over tuples, ticks or windows.

It is the incremental form of a kind's `evaluate`. F is the frontier (the watermark). A window holds the rows that
arrived while it was open: its end was beyond F before the row's tick. A row that is late for none of its windows is
merged into its pane. A late row only counts in windows that are still open, so it is stored separately, once for each
of these (a *stray*). When F reaches a window's end, the window is answered from its panes and its strays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import pair, unify
from tailrace.windows.panes import AT_ONCE, Ints, KeyedRows, Summary, evaluate_windows
from tailrace.windows.windows import Windows


@dataclass(frozen=True)
class PaneState:
    """State of the operator in one task: its keys, the panes of open windows, and the strays."""

    keys: pa.Array
    panes: KeyedRows
    partial_rows: KeyedRows
    types: dict[str, pa.DataType]

    @staticmethod
    def empty(key_type: pa.DataType, types: dict[str, pa.DataType]) -> PaneState:
        return PaneState(pa.array([], key_type), KeyedRows.empty(types), KeyedRows.empty(types), types)

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        tables = {"panes": self.panes, "strays": self.partial_rows}
        keys = pa.RecordBatch.from_arrays([self.keys], names=["key"])
        return {"keys": keys} | {name: to_arrow(rows, self.types) for name, rows in tables.items()}

    @staticmethod
    def from_arrow(batches: dict[str, pa.RecordBatch], types: dict[str, pa.DataType]) -> PaneState:
        panes, partial_rows = (from_arrow(batches[name]) for name in ("panes", "strays"))
        return PaneState(batches["keys"].column("key"), panes, partial_rows, types)

    @staticmethod
    def of_keys(states: Sequence[PaneState], are_wanted: Callable[[pa.Array], NDArray[np.bool_]]) -> PaneState:
        """Return the wanted keys of several states, of which no two have the same key."""
        first = np.cumsum([0, *(len(state.keys) for state in states)]).tolist()  # the code of each state's first key
        keys = pa.concat_arrays([state.keys for state in states])
        wanted = are_wanted(keys)
        parts = [
            [KeyedRows(rows.key + start, rows.time, rows.columns) for rows, start in zip(each, first[:-1], strict=True)]
            for each in ([state.panes for state in states], [state.partial_rows for state in states])
        ]
        panes, partial_rows = (rows[wanted[rows.key]] for rows in map(KeyedRows.concat, parts))
        return _compact(PaneState(keys, panes, partial_rows, states[0].types))


def step(
    windows: Windows, summary: Summary, state: PaneState, partials: pa.Table, frontier: Frontier
) -> tuple[PaneState, pa.RecordBatch, pa.RecordBatch]:
    """Add the partials of complete ticks, and close the windows that the frontier has passed.

    Parameters
    ----------
    partials : Table
        The output of `combine`: `key` (dictionary), `pane`, `tick` and the summary's columns; every tick is one of
        `frontier`'s.

    Returns
    -------
    state : PaneState
    closed : RecordBatch
        `key`, `time` (the window's end), and the columns of the summary's answers.
    late : RecordBatch
        `key`, `pane_start`, `tick`, `frontier` and the columns of `Summary.late`: one row for each key, pane and tick.
        The windows that end at or before `frontier` missed the tuples.
    """
    keys, rows, tick = encode_keys(state.keys, partials, state.types)
    before = frontier.before(frontier.index(tick))
    is_late = windows.first_end(rows.time) <= before

    panes = KeyedRows.merge([state.panes, rows[~is_late]], summary, windows.pane_step_ms)
    late, late_before = rows[is_late], before[is_late]
    partial_rows = _add_partial_rows(windows, summary, state.partial_rows, late, late_before)

    until = frontier.last
    due = partial_rows.time <= until
    closed = evaluate_windows(windows, summary, panes, partial_rows[due], frontier.start, until)
    is_open = windows.last_end(panes.time) > until
    state = _compact(PaneState(keys, panes[is_open], partial_rows[~due], state.types))
    return state, closed.with_keys(keys), late_partials(summary, keys, late, tick[is_late], late_before)


def _add_partial_rows(
    windows: Windows, summary: Summary, partial_rows: KeyedRows, late: KeyedRows, before: Ints
) -> KeyedRows:
    """Merge late rows into the strays, once for each window still open; `before` is F before each row's tick."""
    first = np.maximum(windows.first_end(late.time), windows.end_after(before))
    counts = np.maximum(windows.number(windows.last_end(late.time)) - windows.number(first) + 1, 0)
    part = np.cumsum(counts) // AT_ONCE
    for number in np.unique(part):
        in_part = part == number
        row, end = windows.ends(late.time[in_part], before[in_part], None)
        copies = late[in_part][row]
        partial_rows = KeyedRows.merge(
            [partial_rows, KeyedRows(copies.key, end, copies.columns)], summary, windows.end_step_ms
        )
    return partial_rows


def late_partials(summary: Summary, keys: pa.Array, late: KeyedRows, tick: Ints, before: Ints) -> pa.RecordBatch:
    """Merge late rows by key, pane and tick, for the table `late`; `before` is F before each row's tick."""
    tick_and_pane, split_tick_and_pane = pair(tick, late.time)
    group_id, split = pair(tick_and_pane, late.key)
    group_id, columns = summary.late(group_id, late.columns)
    tick_and_pane, key = split(group_id)
    row_tick, pane = split_tick_and_pane(tick_and_pane)
    ticks, first = np.unique(tick, return_index=True)
    frontier = before[first][np.searchsorted(ticks, row_tick)]
    identity = {"key": keys.take(pa.array(key)), "pane_start": pa.array(pane), "tick": pa.array(row_tick)}
    return pa.RecordBatch.from_pydict(identity | columns | {"frontier": pa.array(frontier)})


def encode_keys(known: pa.Array, partials: pa.Table, types: dict[str, pa.DataType]) -> tuple[pa.Array, KeyedRows, Ints]:
    """Convert partials to rows whose keys are codes into the known keys, extended by new ones.

    Returns the keys, the rows, and the tick of each row.
    """
    chunks = partials.column("key").chunks
    keys, (_, *code_of) = unify([known, *(chunk.dictionary for chunk in chunks)])
    codes = [code[np.asarray(chunk.indices)] for code, chunk in zip(code_of, chunks, strict=True)]
    key = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    columns = {name: partials.column(name).to_numpy() for name in types}
    return keys, KeyedRows(key, partials.column("pane").to_numpy(), columns), partials.column("tick").to_numpy()


def _compact(state: PaneState) -> PaneState:
    """Drop keys that no pane or stray uses."""
    used = np.zeros(len(state.keys), bool)
    used[state.panes.key] = True
    used[state.partial_rows.key] = True
    code = np.cumsum(used) - 1
    panes, partial_rows = (
        KeyedRows(code[rows.key], rows.time, rows.columns) for rows in (state.panes, state.partial_rows)
    )
    return PaneState(state.keys.filter(pa.array(used)), panes, partial_rows, state.types)


def to_arrow(rows: KeyedRows, types: dict[str, pa.DataType]) -> pa.RecordBatch:
    columns = [pa.array(rows.columns[name], dtype) for name, dtype in types.items()]
    index = [pa.array(rows.key.astype(np.int32)), pa.array(rows.time)]
    return pa.RecordBatch.from_arrays([*index, *columns], names=["key", "time", *types])


def from_arrow(batch: pa.RecordBatch) -> KeyedRows:
    key, time, *rest = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
    return KeyedRows(key.astype(np.int64), time, dict(zip(batch.schema.names[2:], rest, strict=True)))
