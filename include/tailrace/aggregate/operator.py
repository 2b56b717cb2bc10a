"""The incremental operator: `evaluate` by panes, one call a batch, no loop over tuples, ticks or windows.

A window holds the rows that came while it was open: end > F before the row's tick. A row that no closed window has
missed merges into its pane. A late row counts only in the windows that are still open, so it is kept apart, by window
(a *stray*). When F passes a window its answer is its panes and its strays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.aggregate.folds import Fold, Ints
from tailrace.aggregate.functions import Function
from tailrace.aggregate.partials import merge
from tailrace.aggregate.totals import Totals, close
from tailrace.columns import unify
from tailrace.disorder.clock import Frontier
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class State:
    """What a task keeps: its keys, the panes of open windows, and the strays."""

    keys: pa.Array
    panes: Totals
    strays: Totals

    @staticmethod
    def empty(key_type: pa.DataType) -> State:
        return State(pa.array([], key_type), Totals.none(), Totals.none())

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {
            "keys": pa.RecordBatch.from_arrays([self.keys], names=["key"]),
            "panes": _to_arrow(self.panes),
            "strays": _to_arrow(self.strays),
        }

    @staticmethod
    def from_arrow(kept: dict[str, pa.RecordBatch]) -> State:
        return State(kept["keys"].column("key"), _from_arrow(kept["panes"]), _from_arrow(kept["strays"]))


def step(
    windows: Sliding, function: Function, state: State, partials: pa.Table, frontier: Frontier
) -> tuple[State, pa.RecordBatch, pa.RecordBatch]:
    """Take in the partials of complete ticks, close what the frontier has passed.

    Parameters
    ----------
    partials : Table
        As `combine` gives them; every tick is one of `frontier`'s.

    Returns
    -------
    state : State
    closed : RecordBatch
        `key`, `time` (the window's end), `tuples`, `total` (the answer).
    late : RecordBatch
        `key`, `pane`, `tick`, `tuples`, `total`, `frontier`: each key, pane and tick once. The windows that end at or
        before `frontier` missed the tuples; `total` is the sum of their values with fold `sum`, else null.
    """
    keys, rows, tick = _on_keys(state.keys, partials)
    before = frontier.before(frontier.index(tick))
    is_late = windows.first_end(rows.time) <= before

    panes = Totals.add([state.panes, rows[~is_late]], function.fold, windows.pane_ms)
    late, late_tick, late_before = rows[is_late], tick[is_late], before[is_late]
    row, end = windows.ends(late.time, late_before, None)
    still_open = Totals(late.key[row], end, late.tuples[row], late.total[row])
    strays = Totals.add([state.strays, still_open], function.fold, windows.slide_ms)

    until = frontier.last
    ripe = strays.time <= until
    closed = close(windows, function, panes, strays[ripe], frontier.start, until)
    stays = windows.last_end(panes.time) > until
    state = _compact(State(keys, panes[stays], strays[~ripe]))
    return state, closed.of(keys), _registered(windows, function.fold, keys, late, late_tick, frontier)


def _registered(
    windows: Sliding, fold: Fold, keys: pa.Array, late: Totals, tick: Ints, frontier: Frontier
) -> pa.RecordBatch:
    """The late rows as they are told."""
    rows = merge(windows, "sum", keys, late.key, late.time, tick, late.tuples, late.total)
    key, pane, at, tuples, total = rows.columns
    total = total if fold == "sum" else pa.nulls(len(rows), pa.float64())
    before = pa.array(frontier.before(frontier.index(np.asarray(at))))
    return pa.RecordBatch.from_arrays(
        [key.dictionary_decode(), pane, at, tuples, total, before], names=[*rows.schema.names, "frontier"]
    )


def _on_keys(known: pa.Array, partials: pa.Table) -> tuple[pa.Array, Totals, Ints]:
    """The partials as columns, their keys as codes into the known keys and the new ones after them."""
    chunks = partials.column("key").chunks
    keys, (_, *code_of) = unify([known, *(chunk.dictionary for chunk in chunks)])
    codes = [code[np.asarray(chunk.indices)] for code, chunk in zip(code_of, chunks, strict=True)]
    key = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    pane, tick, tuples, total = (partials.column(name).to_numpy() for name in ("pane", "tick", "tuples", "total"))
    return keys, Totals(key, pane, tuples, total), tick


def _compact(state: State) -> State:
    """The state without the keys that nothing in it uses any more."""
    used = np.zeros(len(state.keys), bool)
    used[state.panes.key] = True
    used[state.strays.key] = True
    code = np.cumsum(used) - 1
    panes, strays = (Totals(code[rows.key], rows.time, rows.tuples, rows.total) for rows in (state.panes, state.strays))
    return State(state.keys.filter(pa.array(used)), panes, strays)


def _to_arrow(rows: Totals) -> pa.RecordBatch:
    columns = (rows.key.astype(np.int32), rows.time, rows.tuples, rows.total)
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=["key", "time", "tuples", "total"])


def _from_arrow(batch: pa.RecordBatch) -> Totals:
    key, *rest = (np.asarray(column) for column in batch.columns)
    return Totals(key.astype(np.int64), *rest)
