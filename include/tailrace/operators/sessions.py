"""Incremental operator of sessions: one call a batch. It stands beside the operator over panes, and shares no loop.

F is the frontier (the watermark). A session is open until F reaches its end. A step sorts all rows by key and time.
Most runs of these are sessions as they are (`_astray`). The others are replayed tick by tick.

A tuple within a session that was open before its tick is not late, however old it is. Elsewhere a tuple is late if the
session of it alone would have closed, or if it touches what has closed. A late tuple counts in a session that its tick
leaves open. Otherwise it is only registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.operators.window import encode_keys, from_arrow, late_partials, to_arrow
from tailrace.windows.panes import Ints, KeyedRows, Summary
from tailrace.windows.sessions import Runs, Sessions, answer_sessions, runs_of, touching

_LAST = "session last"  # of stored rows: the last event time of their session


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
        At most one row a key: the last event time of what has closed, while a tuple that is not late may touch it.
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
    before = frontier.before(frontier.index(tick))
    rows = KeyedRows.concat([state.rows, new])
    last = np.concatenate([state.last, new.time])
    runs = runs_of(rows.key, rows.time, last, sessions.reach_ms)
    is_late = np.zeros(len(new), bool)
    passed = KeyedRows(state.closed.key, state.closed.time, {})
    behind = np.unique(runs.run[len(state.rows) :][_astray(sessions, rows, last, before)])
    if len(behind):
        clock = frontier.index(tick), before
        runs, is_late, missed = _replayed(sessions, state, rows, runs, behind, clock)
        passed = KeyedRows.concat([passed, missed])

    is_closed = runs.last + sessions.gap_ms <= frontier.last
    number = np.where(runs.run < 0, -1, np.where(np.append(is_closed, False)[runs.run], runs.run, -1))
    closed = answer_sessions(sessions, summary, rows, runs._replace(run=number))
    still = (runs.run >= 0) & (number < 0)
    code, columns = summary.merge(runs.run[still], rows[still].columns)
    passed = KeyedRows.concat([passed, KeyedRows(closed.key, closed.time - sessions.gap_ms, {})])
    state = _compact(
        keys,
        KeyedRows(runs.key[code], runs.first[code], columns),
        runs.last[code],
        _reachable(sessions, passed, frontier.last),
        state.types,
    )
    late = late_partials(summary, keys, new[is_late], tick[is_late], before[is_late])
    return state, closed.with_keys(keys), late


def _astray(sessions: Sessions, rows: KeyedRows, last: Ints, before: Ints) -> Ints:
    """Return the new rows, of all rows the last ones, that may touch what has closed or not be within an open session.

    `before` is F before each new row's tick. A row beyond it touches nothing that has closed. So the runs of such rows
    and of stored ones close as a whole, and all their rows up to F have come. A row at or behind F within such a run
    was within an open session, then, if F had not reached the run's end.
    """
    known = len(rows) - len(before)
    is_ahead = np.ones(len(rows), bool)
    is_ahead[known:] = rows.time[known:] > before
    behind = np.flatnonzero(~is_ahead)
    if not len(behind):
        return behind
    ahead = runs_of(rows.key[is_ahead], rows.time[is_ahead], last[is_ahead], sessions.reach_ms)
    run, row = touching(ahead.key, ahead.first, ahead.last, rows.key[behind], rows.time[behind], 0)
    is_astray = np.ones(len(behind), bool)
    is_astray[row[ahead.last[run] + sessions.gap_ms > before[behind[row] - known]]] = False
    return behind[is_astray] - known


def _reachable(sessions: Sessions, closed: KeyedRows, frontier: int) -> KeyedRows:
    """Return the last event time of what has closed of each key, where a tuple that is not late alone may touch it."""
    order = np.lexsort((closed.time, closed.key))
    key, last = closed.key[order], closed.time[order]
    is_last = np.append(key[1:] != key[:-1], True)[: len(key)]
    return KeyedRows(key, last, {})[is_last & (last + sessions.reach_ms > frontier - sessions.gap_ms)]


def _replayed(
    sessions: Sessions, state: SessionState, rows: KeyedRows, runs: Runs, behind: Ints, clock: tuple[Ints, Ints]
) -> tuple[Runs, NDArray[np.bool_], KeyedRows]:
    """Find the sessions of some runs as they arose, tick by tick.

    Parameters
    ----------
    rows : KeyedRows
        The rows of the state, and then the new ones.
    behind : ndarray
        The runs, ascending.
    clock : pair of ndarray, shape (n,)
        The index of each new row's tick, and F before that.

    Returns
    -------
    runs : Runs
        With sessions in place of these runs; rows that no session holds have −1.
    is_late : ndarray, shape (n,)
        Which of the new rows are late.
    missed : KeyedRows
        The event times that no session holds.
    """
    known, is_behind = len(state.rows), np.zeros(len(runs.key), bool)
    is_behind[behind] = True
    number, is_late = runs.run.copy(), np.zeros(len(rows) - known, bool)
    new = np.flatnonzero(is_behind[number[known:]])
    new = new[np.lexsort((rows.time[known:][new], clock[0][new], number[known:][new]))]
    arrived_in = number[known:][new]
    index, before = (column[new] for column in clock)
    time = rows.time[known:][new]

    prior = runs_of(state.rows.key, state.rows.time, state.last, sessions.reach_ms)
    run_of_prior, session_of_prior = np.zeros((2, len(prior.key)), np.int64)
    run_of_prior[prior.run] = session_of_prior[prior.run] = number[:known]
    priors = np.argsort(run_of_prior, kind="stable")
    closed_of = dict(zip(state.closed.key.tolist(), state.closed.time.tolist(), strict=True))

    parts, count = [Runs(number, runs.key, runs.first, runs.last)], len(runs.key)
    places = [
        *np.searchsorted(arrived_in, [behind, behind + 1]),
        *np.searchsorted(run_of_prior[priors], [behind, behind + 1]),
    ]
    for run, low, high, least, most in zip(behind.tolist(), *(place.tolist() for place in places), strict=True):
        mine, own, key = new[low:high], priors[least:most], int(runs.key[run])
        story = _Story(sessions, closed_of.get(key, BEFORE_ALL))
        story.open(zip(prior.first[own].tolist(), prior.last[own].tolist(), strict=True))
        arrivals = zip(index[low:high].tolist(), before[low:high].tolist(), time[low:high].tolist(), strict=True)
        for _, arrived in groupby(arrivals, key=lambda arrival: arrival[0]):
            story.add([(frontier, event) for _, frontier, event in arrived])
        roots = np.array([*(count + story.root(each) for each in range(len(story.spans))), -1])
        number[known + mine] = roots[story.held]
        is_late[mine] = story.late
        session_of_prior[own] = roots[: len(own)]
        first, last = np.array(story.spans, np.int64).reshape(-1, 2).T
        parts.append(Runs(number, np.full(len(first), key), first, last))
        count += len(first)
    number[:known] = session_of_prior[prior.run]
    missed = np.flatnonzero(number < 0)
    columns = [np.concatenate([part[column] for part in parts]) for column in (1, 2, 3)]
    return Runs(number, *columns), is_late, KeyedRows(rows.key[missed], rows.time[missed], {})


class _Open(NamedTuple):
    """An open session: its first and last event time, and its number."""

    first: int
    last: int
    number: int


class _Story:
    """The sessions of one key's run of rows, as they open, grow, join and close.

    Attributes
    ----------
    spans : list of [first, last]
        Of each session by its number; one that has joined another is `joined` to it.
    held, late : list
        For each arrival: the number of its session, −1 where none holds it; and whether it is late.
    """

    def __init__(self, sessions: Sessions, closed: int) -> None:
        self.sessions, self.closed = sessions, closed
        self.opened = list[_Open]()
        self.spans = list[list[int]]()
        self.joined = dict[int, int]()
        self.held, self.late = list[int](), list[bool]()

    def open(self, sessions: Iterable[tuple[int, int]]) -> None:
        """Begin with sessions that are open."""
        for first, last in sessions:
            self.opened.append(_Open(first, last, len(self.spans)))
            self.spans.append([first, last])

    def root(self, number: int) -> int:
        """Return the session that a session has joined, or its own number."""
        while number in self.joined:
            number = self.joined[number]
        return number

    def add(self, arrived: list[tuple[int, int]]) -> None:
        """Add the arrivals of a tick: F before it, and the event time, ascending."""
        gap, reach, (before, time) = self.sessions.gap_ms, self.sessions.reach_ms, arrived[0]
        if len(arrived) == len(self.opened) == 1 and self.opened[0].last + gap > before:
            first, last, number = self.opened[0]
            if first <= time <= last + reach:  # as most do: within the only session, which it may lengthen
                self.opened[0] = _Open(first, max(last, time), number)
                self.spans[number][1] = max(last, time)
                self.held.append(number)
                self.late.append(False)
                return
        self.closed = max([self.closed, *(each.last for each in self.opened if each.last + gap <= before)])
        self.opened = [each for each in self.opened if each.last + gap > before]
        for _, time in arrived:
            is_inside = any(each.first <= time <= each.last + reach for each in self.opened)
            self.late.append(not is_inside and (time + gap <= before or time <= self.closed + reach))
        parts = [(each.first, each.last, each.number) for each in self.opened]
        parts = sorted([*parts, *((time, time, -1) for _, time in arrived)])
        numbers, run = dict[int, int](), [parts[0]]
        self.opened = []
        for part in [*parts[1:], None]:
            if part is not None and part[0] - run[-1][1] <= reach:
                run.append((part[0], max(part[1], run[-1][1]), part[2]))
                continue
            number = self._joined(run, before)
            numbers |= dict.fromkeys((time for time, _, own in run if own < 0), number)
            run = [] if part is None else [part]
        self.held += [numbers[time] for _, time in arrived]

    def _joined(self, run: list[tuple[int, int, int]], before: int) -> int:
        """Make one session of a run of parts; return its number, −1 where it had closed before its tick."""
        first, last = run[0][0], run[-1][1]
        if last + self.sessions.gap_ms <= before:
            self.closed = max(self.closed, last)
            return -1
        own = sorted(number for _, _, number in run if number >= 0)
        number = own[0] if own else len(self.spans)
        self.joined |= dict.fromkeys(own[1:], number)
        self.spans[number : number + 1] = [[first, last]]
        self.opened.append(_Open(first, last, number))
        return number


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
