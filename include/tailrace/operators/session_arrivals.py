"""Assigns the arrivals of a step to sessions, and finds the late ones.

F is the frontier (the watermark). A session is open until F reaches its end.

A tuple within a session that was open before its tick is not late, however old. Any other tuple is late if a session of
it alone would have closed, or if it touches a closed session. A late tuple counts in a session that is open after its
tick. Otherwise no session holds it.

All arrivals are sorted by key and time into runs, most of which already are sessions (`_astray`). The others are
replayed tick by tick. The cost of a tick depends on its arrivals: bisection finds the open sessions that they join.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import pair
from tailrace.windows.panes import Ints
from tailrace.windows.sessions import SessionRuns, Sessions, runs_of, touching


class Arrivals(NamedTuple):
    """The n rows of a step: sessions that are open before it, and new tuples.

    Attributes
    ----------
    key : ndarray, shape (n,)
        Codes from 0 on.
    first, last : ndarray, shape (n,)
        The event times of the row's session, or of the tuple.
    tick : ndarray, shape (n,)
        The tuple's tick; for a session, a value before all ticks.
    before : ndarray, shape (n,)
        F before the tuple's tick; for a session, a value before all times.
    closed : ndarray, shape (n,)
        The last event time of the key's closed sessions before the step.
    """

    key: Ints
    first: Ints
    last: Ints
    tick: Ints
    before: Ints
    closed: Ints

    def take(self, index: Ints | NDArray[np.bool_]) -> Arrivals:
        return Arrivals(*(column[index] for column in self))


def assign_sessions(sessions: Sessions, arrivals: Arrivals) -> tuple[SessionRuns, NDArray[np.bool_]]:
    """Find the session of each arrival, and which new tuples are late.

    Returns
    -------
    runs : SessionRuns
        The sessions, some without arrivals. An arrival that no session holds has −1.
    is_late : ndarray, shape (n,)
    """
    runs = runs_of(arrivals.key, arrivals.first, arrivals.last, sessions.reach_ms)
    number, is_late = runs.run.copy(), np.zeros(len(runs.run), bool)
    astray = _astray(sessions, arrivals)

    is_alone = np.bincount(runs.run)[runs.run[astray]] == 1  # so for most late tuples, whose run has no other row
    alone = astray[is_alone]
    single = arrivals.take(alone)
    has_ended = single.first + sessions.gap_ms <= single.before
    is_late[alone] = has_ended | (single.first <= single.closed + sessions.reach_ms)
    number[alone[has_ended]] = -1

    is_replayed = np.zeros(len(runs.key), bool)
    is_replayed[runs.run[astray[~is_alone]]] = True
    rows = np.flatnonzero(is_replayed[runs.run])
    code, _ = pair(runs.run[rows], pair(arrivals.tick[rows], arrivals.first[rows])[0])
    _, first_row, of = np.unique(code, return_index=True, return_inverse=True)
    distinct = arrivals.take(rows[first_row])  # an open session has a row or a few, and tuples may share tick and time
    session, first, last, late = _replayed(sessions, runs.run[rows[first_row]], distinct)
    number[rows] = np.where(session < 0, -1, len(runs.key) + session)[of]
    is_late[rows] = late[of]
    key, first, last = np.append(runs.key, distinct.key), np.append(runs.first, first), np.append(runs.last, last)
    return SessionRuns(number, key, first, last), is_late


def _astray(sessions: Sessions, arrivals: Arrivals) -> Ints:
    """Return the tuples that may touch a closed session, or may be outside of open sessions.

    A tuple beyond F before its tick touches no closed session. So runs of such tuples and of open sessions close as a
    whole, and all their tuples up to F have come. A tuple at or behind F within such a run was within an open session
    if F had not reached the run's end.
    """
    is_ahead = arrivals.first > arrivals.before
    index = np.flatnonzero(~is_ahead)
    if not len(index):
        return index
    ahead, behind = arrivals.take(is_ahead), arrivals.take(index)
    runs = runs_of(ahead.key, ahead.first, ahead.last, sessions.reach_ms)
    run, of = touching(runs.key, runs.first, runs.last, behind.key, behind.first, 0)
    is_astray = np.ones(len(index), bool)
    is_astray[of[runs.last[run] + sessions.gap_ms > behind.before[of]]] = False
    return index[is_astray]


def _replayed(sessions: Sessions, run: Ints, arrivals: Arrivals) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Find the sessions of n arrivals (ordered by run, then by tick) by replaying these.

    Returns
    -------
    session : ndarray, shape (n,)
        The index of the last arrival that changed each arrival's session; −1 if no session holds the arrival.
    first, last : ndarray, shape (n,)
        The event times of the session that each arrival made.
    is_late : ndarray, shape (n,)
    """
    first, last, tick, before, closed = (column.tolist() for column in arrivals[1:])
    session, is_late = [*range(len(run)), -1], list[bool]()
    for low, high in pairwise(np.flatnonzero(np.diff(run, prepend=-1, append=-1)).tolist()):
        opened = _OpenSessions(sessions, closed[low])
        for _, of_tick in groupby(range(low, high), tick.__getitem__):
            came = list(of_tick)
            frontier = before[came[0]]
            opened.close(frontier)
            is_late += [opened.is_late(first[each], frontier) for each in came]
            for each in came:
                first[each], last[each], joined = opened.add(first[each], last[each], each)
                for other in joined:
                    session[other] = each
            for ended in opened.close(frontier):  # before the tick: no session
                session[ended] = -1
    final = np.array(session, np.int64)
    while (final != final[final]).any():  # each pass doubles the number of joins that it follows
        final = final[final]
    return final[:-1], np.array(first, np.int64), np.array(last, np.int64), np.array(is_late, bool)


class _OpenSessions:
    """The open sessions of a key, by time.

    No two of them are within reach of each other. So their first and their last event times both ascend.
    """

    def __init__(self, sessions: Sessions, closed: int) -> None:
        self.gap, self.reach, self.closed = sessions.gap_ms, sessions.reach_ms, closed
        self.first, self.last, self.number = list[int](), list[int](), list[int]()

    def close(self, frontier: int) -> list[int]:
        """Close the sessions whose ends F has reached, which are the first ones; return their numbers."""
        count = bisect_right(self.last, frontier - self.gap)
        if not count:
            return []
        self.closed = max(self.closed, self.last[count - 1])
        numbers = self.number[:count]
        for column in (self.first, self.last, self.number):
            del column[:count]
        return numbers

    def is_late(self, time: int, frontier: int) -> bool:
        """Return whether a tuple that comes while these are open is late."""
        nearest = bisect_left(self.last, time - self.reach)
        is_inside = nearest < len(self.last) and self.first[nearest] <= time
        return not is_inside and (time + self.gap <= frontier or time <= self.closed + self.reach)

    def add(self, first: int, last: int, number: int) -> tuple[int, int, list[int]]:
        """Open a session that absorbs those within its reach; return its event times, and the numbers of the others."""
        low, high = bisect_left(self.last, first - self.reach), bisect_right(self.first, last + self.reach)
        joined = self.number[low:high]
        if joined:
            first, last = min(first, self.first[low]), max(last, self.last[high - 1])
        self.first[low:high], self.last[low:high], self.number[low:high] = [first], [last], [number]
        return first, last, joined
