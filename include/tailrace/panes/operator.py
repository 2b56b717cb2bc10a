"""The incremental operator: `evaluate` by panes, one call a batch, no loop over tuples, ticks or windows.

A window holds the rows that came while it was open: end > F before the row's tick. A row that no closed window has
missed merges into its pane. A late row counts only in the windows that are still open, so it is kept apart, by window
(a *stray*). When F passes a window its answer is its panes and its strays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.ground.columns import group_sums, pair, unify
from tailrace.panes.rows import AT_ONCE, Ints, Rows, Summary, evaluate_windows
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class PaneState:
    """What a task keeps: its keys, the panes of open windows, and the strays."""

    keys: pa.Array
    panes: Rows
    late_rows: Rows
    types: dict[str, pa.DataType]

    @staticmethod
    def empty(key_type: pa.DataType, types: dict[str, pa.DataType]) -> PaneState:
        return PaneState(pa.array([], key_type), Rows.empty(types), Rows.empty(types), types)

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        kept = {"panes": self.panes, "strays": self.late_rows}
        keys = pa.RecordBatch.from_arrays([self.keys], names=["key"])
        return {"keys": keys} | {name: _to_arrow(rows, self.types) for name, rows in kept.items()}

    @staticmethod
    def from_arrow(kept: dict[str, pa.RecordBatch], types: dict[str, pa.DataType]) -> PaneState:
        panes, strays = (_from_arrow(kept[name]) for name in ("panes", "strays"))
        return PaneState(kept["keys"].column("key"), panes, strays, types)


def step(
    windows: Sliding, summary: Summary, state: PaneState, partials: pa.Table, frontier: Frontier
) -> tuple[PaneState, pa.RecordBatch, pa.RecordBatch]:
    """Take in the partials of complete ticks, close what the frontier has passed.

    Parameters
    ----------
    partials : Table
        As `combine` gives them: `key` (dictionary), `pane`, `tick` and the summary's columns; every tick is one of
        `frontier`'s.

    Returns
    -------
    state : State
    closed : RecordBatch
        `key`, `time` (the window's end), and what the summary answers.
    late : RecordBatch
        `key`, `pane`, `tick`, `tuples`, `total`, `frontier`: each key, pane and tick once. The windows that end at or
        before `frontier` missed the tuples; `total` is the sum of their values where the summary adds, else null.
    """
    keys, rows, tick = encode_keys(state.keys, partials, state.types)
    before = frontier.before(frontier.index(tick))
    is_late = windows.first_end(rows.time) <= before

    panes = Rows.merge([state.panes, rows[~is_late]], summary, windows.pane_ms)
    late, late_before = rows[is_late], before[is_late]
    strays = _stray(windows, summary, state.late_rows, late, late_before)

    until = frontier.last
    ripe = strays.time <= until
    closed = evaluate_windows(windows, summary, panes, strays[ripe], frontier.start, until)
    stays = windows.last_end(panes.time) > until
    state = _compact(PaneState(keys, panes[stays], strays[~ripe], state.types))
    return state, closed.with_keys(keys), late_partials(summary, keys, late, tick[is_late], late_before)


def _stray(windows: Sliding, summary: Summary, strays: Rows, late: Rows, before: Ints) -> Rows:
    """The strays, and late rows that found F at `before`, once for each window that is still open."""
    first = np.maximum(windows.first_end(late.time), windows.end_until(before) + windows.slide_ms)
    many = np.maximum((windows.last_end(late.time) - first) // windows.slide_ms + 1, 0)
    part = np.cumsum(many) // AT_ONCE
    for number in np.unique(part):
        mine = part == number
        row, end = windows.ends(late.time[mine], before[mine], None)
        spread = late[mine][row]
        strays = Rows.merge([strays, Rows(spread.key, end, spread.columns)], summary, windows.slide_ms)
    return strays


def late_partials(summary: Summary, keys: pa.Array, late: Rows, tick: Ints, before: Ints) -> pa.RecordBatch:
    """Late rows, which came at a tick and found F at `before`, as they are told."""
    at, ticks_and_panes = pair(tick, late.time)
    code, all_three = pair(at, late.key)
    total = late.columns["total"] if summary.adds else np.zeros(len(late))
    code, (tuples, total) = group_sums(code, late.columns["tuples"], total)
    at, key = all_three(code)
    of, pane = ticks_and_panes(at)
    ticks, first = np.unique(tick, return_index=True)
    columns = [pane, of, tuples, total if summary.adds else pa.nulls(len(code), pa.float64())]
    columns.append(before[first][np.searchsorted(ticks, of)])
    names = ["key", "pane", "tick", "tuples", "total", "frontier"]
    return pa.RecordBatch.from_arrays([keys.take(pa.array(key)), *map(pa.array, columns)], names=names)


def encode_keys(known: pa.Array, partials: pa.Table, types: dict[str, pa.DataType]) -> tuple[pa.Array, Rows, Ints]:
    """The partials as rows, their keys as codes into the known keys and the new ones after them; and their ticks."""
    chunks = partials.column("key").chunks
    keys, (_, *code_of) = unify([known, *(chunk.dictionary for chunk in chunks)])
    codes = [code[np.asarray(chunk.indices)] for code, chunk in zip(code_of, chunks, strict=True)]
    key = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    columns = {name: partials.column(name).to_numpy() for name in types}
    return keys, Rows(key, partials.column("pane").to_numpy(), columns), partials.column("tick").to_numpy()


def _compact(state: PaneState) -> PaneState:
    """The state without the keys that nothing in it uses any more."""
    used = np.zeros(len(state.keys), bool)
    used[state.panes.key] = True
    used[state.late_rows.key] = True
    code = np.cumsum(used) - 1
    panes, strays = (Rows(code[rows.key], rows.time, rows.columns) for rows in (state.panes, state.late_rows))
    return PaneState(state.keys.filter(pa.array(used)), panes, strays, state.types)


def _to_arrow(rows: Rows, types: dict[str, pa.DataType]) -> pa.RecordBatch:
    columns = [pa.array(rows.columns[name], kind) for name, kind in types.items()]
    both = [pa.array(rows.key.astype(np.int32)), pa.array(rows.time)]
    return pa.RecordBatch.from_arrays([*both, *columns], names=["key", "time", *types])


def _from_arrow(batch: pa.RecordBatch) -> Rows:
    key, time, *rest = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
    return Rows(key.astype(np.int64), time, dict(zip(batch.schema.names[2:], rest, strict=True)))
