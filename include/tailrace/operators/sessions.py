"""Incremental operator of sessions, called once per batch; separate from the operator over panes.

The state has the open sessions. A step assigns its tuples to sessions, answers closing ones, and registers late tuples
(`operators.session_arrivals`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.operators.session_arrivals import Arrivals, assign_sessions
from tailrace.operators.window import encode_keys, from_arrow, late_partials, to_arrow
from tailrace.windows.panes import Ints, KeyedRows, Summary
from tailrace.windows.sessions import Sessions, answer_sessions

_LAST = "session last"  # column of stored rows with the last event time of their session


@dataclass(frozen=True)
class SessionState:
    """State of the operator in one task.

    Attributes
    ----------
    rows : KeyedRows
        The rows of open sessions; `time` is the first event time of the session.
    last : ndarray, shape (n,)
        The last event time of each row's session.
    closed : KeyedRows
        At most one row per key: the last event time of its closed sessions, while a tuple that is not late may touch
        it.
    """

    keys: pa.Array
    rows: KeyedRows
    last: Ints
    closed: KeyedRows
    types: dict[str, pa.DataType]

    @staticmethod
    def empty(key_type: pa.DataType, types: dict[str, pa.DataType]) -> SessionState:
        rows = KeyedRows.empty(types)
        return SessionState(pa.array([], key_type), rows, rows.time, KeyedRows.empty({}), types)

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        rows = to_arrow(self.rows, self.types).append_column(_LAST, pa.array(self.last))
        keys = pa.RecordBatch.from_arrays([self.keys], names=["key"])
        return {"keys": keys, "sessions": rows, "closed": to_arrow(self.closed, {})}

    @staticmethod
    def from_arrow(batches: dict[str, pa.RecordBatch], types: dict[str, pa.DataType]) -> SessionState:
        stored = batches["sessions"]
        rows, last = from_arrow(stored.select(["key", "time", *types])), np.asarray(stored.column(_LAST))
        return SessionState(batches["keys"].column("key"), rows, last, from_arrow(batches["closed"]), types)

    @staticmethod
    def of_keys(states: Sequence[SessionState], are_wanted: Callable[[pa.Array], NDArray[np.bool_]]) -> SessionState:
        """Return the wanted keys of several states, of which no two have the same key."""
        first = np.cumsum([0, *(len(state.keys) for state in states)]).tolist()  # the code of each state's first key
        keys = pa.concat_arrays([state.keys for state in states])
        wanted = are_wanted(keys)
        rows, closed = (
            KeyedRows.concat(
                [KeyedRows(r.key + start, r.time, r.columns) for r, start in zip(each, first[:-1], strict=True)]
            )
            for each in ([state.rows for state in states], [state.closed for state in states])
        )
        last, mine = np.concatenate([state.last for state in states]), wanted[rows.key]
        return _compact(keys, rows[mine], last[mine], closed[wanted[closed.key]], states[0].types)


def step(
    sessions: Sessions, summary: Summary, state: SessionState, partials: pa.Table, frontier: Frontier
) -> tuple[SessionState, pa.RecordBatch, pa.RecordBatch]:
    """Add the partials of complete ticks, and close the sessions that the frontier has passed.

    It takes and returns the same as `operators.window.step`. The pane of a partial is its event time. Closed sessions
    have the column `START`.
    """
    keys, new, tick = encode_keys(state.keys, partials, state.types)
    rows, stored = KeyedRows.concat([state.rows, new]), len(state.rows)
    index = frontier.index(tick)
    before = frontier.before(index)
    closed_of = np.full(len(keys), BEFORE_ALL)
    closed_of[state.closed.key] = state.closed.time
    arrivals = Arrivals(
        rows.key,
        rows.time,
        np.append(state.last, new.time),
        np.append(np.full(stored, -1), index),
        np.append(np.full(stored, BEFORE_ALL), before),
        closed_of[rows.key],
    )
    runs, is_late = assign_sessions(sessions, arrivals)

    has_closed = np.append(runs.last + sessions.gap_ms <= frontier.last, False)
    number = np.where(has_closed[runs.run], runs.run, -1)
    closed = answer_sessions(sessions, summary, rows, runs._replace(run=number))
    still, missed = (runs.run >= 0) & (number < 0), runs.run < 0
    code, columns = summary.merge(runs.run[still], rows[still].columns)
    answered = KeyedRows(closed.key, closed.time - sessions.gap_ms, {})
    passed = KeyedRows.concat([state.closed, answered, KeyedRows(rows.key[missed], rows.time[missed], {})])
    state = _compact(
        keys,
        KeyedRows(runs.key[code], runs.first[code], columns),
        runs.last[code],
        _reachable(sessions, passed, frontier.last),
        state.types,
    )
    is_late = is_late[stored:]
    late = late_partials(summary, keys, new[is_late], tick[is_late], before[is_late])
    return state, closed.with_keys(keys), late


def _reachable(sessions: Sessions, closed: KeyedRows, frontier: int) -> KeyedRows:
    """Return the last event time of each key's closed sessions, if a tuple that is not late may touch it."""
    order = np.lexsort((closed.time, closed.key))
    key, last = closed.key[order], closed.time[order]
    is_last = np.append(key[1:] != key[:-1], True)[: len(key)]
    return KeyedRows(key, last, {})[is_last & (last + sessions.reach_ms > frontier - sessions.gap_ms)]


def _compact(
    keys: pa.Array, rows: KeyedRows, last: Ints, closed: KeyedRows, types: dict[str, pa.DataType]
) -> SessionState:
    """Build a state without the keys that it no longer uses."""
    used = np.zeros(len(keys), bool)
    used[rows.key] = True
    used[closed.key] = True
    code = np.cumsum(used) - 1
    rows, closed = (KeyedRows(code[each.key], each.time, each.columns) for each in (rows, closed))
    return SessionState(keys.filter(pa.array(used)), rows, last, closed, types)
