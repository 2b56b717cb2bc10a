"""The incremental operator: `evaluate` by panes, one call a batch, no loop over tuples, ticks or windows.

A window holds the rows that came while it was open: end > F before the row's tick. A row that no closed window has
missed merges into its pane. A late row counts only in the windows that are still open, so it is kept apart, by window
(a *stray*). When F passes a window its answer is its panes and its strays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.partials import merge
from tailrace.columns import group_sums, pair, unify
from tailrace.disorder.clock import Frontier
from tailrace.windows.sliding import Sliding

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """Columns of shape (n,): tuples and their total by key (a code) and time (a pane's start, or a window's end)."""

    key: Ints
    time: Ints
    tuples: Ints
    total: NDArray[np.float64]

    def __getitem__(self, part: NDArray[np.bool_] | Ints) -> Sums:
        return Sums(self.key[part], self.time[part], self.tuples[part], self.total[part])

    @staticmethod
    def add(parts: list[Sums], step: int) -> Sums:
        """One row for each key and time; all times must be alike modulo `step`."""
        key, time, tuples, total = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("key", "time", "tuples", "total")
        )
        code, split = pair(time // step, key)
        rest = int(time[0]) % step if len(time) else 0
        code, (tuples, total) = group_sums(code, tuples, total)
        time, key = split(code)
        return Sums(key, time * step + rest, tuples, total)


@dataclass(frozen=True)
class State:
    """What a task keeps: its keys, the panes of open windows, and the strays."""

    keys: pa.Array
    panes: Sums
    strays: Sums

    @staticmethod
    def empty(key_type: pa.DataType) -> State:
        none = Sums(*(np.zeros(0, np.int64),) * 3, np.zeros(0))
        return State(pa.array([], key_type), none, none)

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
    windows: Sliding, state: State, partials: pa.Table, frontier: Frontier
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
        `key`, `window_end`, `tuples`, `total`.
    late : RecordBatch
        `key`, `pane`, `tick`, `tuples`, and `frontier`: the windows that end at or before it missed the row.
    """
    keys, rows, tick = _on_keys(state.keys, partials)
    before = frontier.before(frontier.index(tick))
    is_late = windows.first_end(rows.time) <= before

    panes = Sums.add([state.panes, rows[~is_late]], windows.pane_ms)
    late, late_tick, late_before = rows[is_late], tick[is_late], before[is_late]
    row, end = windows.ends(late.time, late_before, None)
    strays = Sums.add([state.strays, Sums(late.key[row], end, late.tuples[row], late.total[row])], windows.slide_ms)

    until = frontier.last
    row, end = windows.ends(panes.time, frontier.start, until)
    ripe = strays.time <= until
    closed = Sums.add([Sums(panes.key[row], end, panes.tuples[row], panes.total[row]), strays[ripe]], windows.slide_ms)
    stays = windows.last_end(panes.time) > until

    registered = merge(windows, keys, late.key, late.time, late_tick, late.tuples, late.total)
    registered_before = frontier.before(frontier.index(np.asarray(registered.column("tick"))))
    return (
        _compact(State(keys, panes[stays], strays[~ripe])),
        pa.RecordBatch.from_arrays(
            [keys.take(pa.array(closed.key)), *map(pa.array, (closed.time, closed.tuples, closed.total))],
            names=["key", "window_end", "tuples", "total"],
        ),
        registered.drop_columns(["total"])
        .set_column(0, "key", registered.column("key").dictionary_decode())
        .append_column("frontier", pa.array(registered_before)),
    )


def _on_keys(known: pa.Array, partials: pa.Table) -> tuple[pa.Array, Sums, Ints]:
    """The partials as columns, their keys as codes into the known keys and the new ones after them."""
    chunks = partials.column("key").chunks
    keys, (_, *code_of) = unify([known, *(chunk.dictionary for chunk in chunks)])
    codes = [code[np.asarray(chunk.indices)] for code, chunk in zip(code_of, chunks, strict=True)]
    key = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    pane, tick, tuples, total = (partials.column(name).to_numpy() for name in ("pane", "tick", "tuples", "total"))
    return keys, Sums(key, pane, tuples, total), tick


def _compact(state: State) -> State:
    """The state without the keys that nothing in it uses any more."""
    used = np.zeros(len(state.keys), bool)
    used[state.panes.key] = True
    used[state.strays.key] = True
    code = np.cumsum(used) - 1
    panes, strays = (Sums(code[sums.key], sums.time, sums.tuples, sums.total) for sums in (state.panes, state.strays))
    return State(state.keys.filter(pa.array(used)), panes, strays)


def _to_arrow(sums: Sums) -> pa.RecordBatch:
    columns = (sums.key.astype(np.int32), sums.time, sums.tuples, sums.total)
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=["key", "time", "tuples", "total"])


def _from_arrow(batch: pa.RecordBatch) -> Sums:
    key, *rest = (np.asarray(column) for column in batch.columns)
    return Sums(key.astype(np.int64), *rest)
