"""Sessions: windows over event time that are determined by the tuples of a key, in integer milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tailrace.ground.duration import format_duration
from tailrace.windows.panes import KeyedRows, Summary
from tailrace.windows.windows import Ints, Time

_STRETCHES = 64  # stretches in a gap, by which the statistics of ticks count tuples, instead of by ms

Side = Literal["left", "right"]

START = "session start"
"""The column of answered rows with the start of each session, as a session's end does not determine it."""


@dataclass(frozen=True)
class Sessions:
    """The sessions of each key, from their first event time to the gap after the last one, half-open.

    A session is a maximal set of a key's tuples, each at most the gap after the one before, as in Spark's
    `session_window` and Flink's SESSION.

    As `Windows`, they are the windows [t, t + gap) of single event times. A session is the union of its tuples'
    windows, and ends with the last of them, which is all that the clock needs. It counts tuples by stretches of some
    ms, to which `to_scale` refers; a pane is 1 ms.
    """

    gap_ms: int

    @property
    def reach_ms(self) -> int:
        """The greatest time between two neighbouring tuples of a session."""
        return self.gap_ms

    @property
    def size_ms(self) -> int:
        return self.gap_ms

    @property
    def slide_ms(self) -> int:
        return self.gap_ms

    @property
    def pane_ms(self) -> int:
        return 1

    @property
    def pane_step_ms(self) -> int:
        return 1

    @property
    def end_step_ms(self) -> int:
        return 1

    @property
    def description(self) -> str:
        return f"sessions with a gap of {format_duration(self.gap_ms)}"

    def pane(self, event_ms: Ints) -> Ints:
        return event_ms

    def pane_end(self, pane: Ints) -> Ints:
        return pane + 1

    @property
    def scale_step(self) -> int:
        return max(self.gap_ms // _STRETCHES, 1)

    def to_scale(self, event_ms: Ints) -> Ints:
        return event_ms

    def from_scale(self, pane: Ints) -> Ints:
        return pane

    def first_end(self, pane: Ints) -> Ints:
        return pane + self.gap_ms

    def last_end(self, pane: Ints) -> Ints:
        return pane + self.gap_ms

    def start(self, end: Time) -> Time:
        return end - self.gap_ms

    def end_until(self, time: Time) -> Time:
        return time

    def end_after(self, time: Time) -> Time:
        return time + 1

    def number(self, end: Time) -> Time:
        return end

    def end_of(self, number: Time) -> Time:
        return number

    def block(self, time: Ints) -> Ints:
        return time // self.gap_ms

    def within(self, low: int, high: int) -> tuple[int, int]:
        return low, high - self.gap_ms

    def ends(self, pane: Ints, after: Ints | int | None, until: Ints | int | None) -> tuple[Ints, Ints]:
        end = pane + self.gap_ms
        is_wanted = np.ones(len(end), bool) if after is None else end > after
        row = np.flatnonzero(is_wanted if until is None else is_wanted & (end <= until))
        return row, end[row]


class SessionRuns(NamedTuple):
    """The m runs of n rows of keys and times, ordered by key and then by time.

    Attributes
    ----------
    run : ndarray, shape (n,)
        The number of each row's run.
    key, first, last : ndarray, shape (m,)
    """

    run: Ints
    key: Ints
    first: Ints
    last: Ints


def runs_of(key: Ints, first: Ints, last: Ints, reach_ms: int) -> SessionRuns:
    """Join rows that cover the times [first, last] of a key if at most `reach_ms` lie between them.

    Parameters
    ----------
    key, first, last : ndarray, shape (n,)
        Keys are codes from 0 on.
    """
    if not len(key):
        return SessionRuns(key, key, key, key)
    order = np.lexsort((first, key))
    keys, firsts, reached = key[order], first[order], _greatest_so_far(key[order], last[order])
    begins = np.ones(len(order), bool)
    begins[1:] = (keys[1:] != keys[:-1]) | (firsts[1:] - reached[:-1] > reach_ms)
    run, starts = np.empty(len(order), np.int64), np.flatnonzero(begins)
    run[order] = np.cumsum(begins) - 1
    return SessionRuns(run, keys[starts], firsts[starts], reached[np.append(starts[1:], len(order)) - 1])


def touching(key: Ints, first: Ints, last: Ints, point_key: Ints, point: Ints, reach_ms: int) -> tuple[Ints, Ints]:
    """Find the ranges [first, last] of a key that are at most `reach_ms` away from points of the key.

    Parameters
    ----------
    key, first, last : ndarray, shape (n,)
        They may overlap.
    point_key, point : ndarray, shape (m,)

    Returns
    -------
    index, of_point : ndarray, shape (l,)
        Pairs of an index into the n times and an index into the m points.
    """
    order = np.lexsort((first, key))
    keys, firsts = key[order], first[order]
    upper = _insertion_points(keys, firsts, point_key, point + reach_ms, "right")
    lower = _insertion_points(keys, _greatest_so_far(keys, last[order]), point_key, point - reach_ms, "left")
    counts = np.maximum(upper - lower, 0)
    of_point = np.repeat(np.arange(len(point)), counts)
    index = order[lower[of_point] + np.arange(len(of_point)) - np.repeat(np.cumsum(counts) - counts, counts)]
    is_near = last[index] >= point[of_point] - reach_ms
    return index[is_near], of_point[is_near]


def evaluate_sessions(sessions: Sessions, summary: Summary, rows: KeyedRows) -> KeyedRows:
    """Return the answers of all sessions of rows of a key and event time, see `answer_sessions`."""
    runs = runs_of(rows.key, rows.time, rows.time, sessions.reach_ms)
    return answer_sessions(sessions, summary, rows, runs)


def answer_sessions(sessions: Sessions, summary: Summary, rows: KeyedRows, runs: SessionRuns) -> KeyedRows:
    """Answer the sessions of rows, by end, key and start; a row of number −1 is in none, and a run may have no rows.

    Returns
    -------
    KeyedRows
        `time` is the session's end. The columns are `START`, and the summary's answers.
    """
    order = np.lexsort((runs.first, runs.key, runs.last))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    row = np.flatnonzero(runs.run >= 0)
    code, columns = summary.answer(rank[runs.run[row]], row, rows.columns)
    of = order[code]
    return KeyedRows(runs.key[of], runs.last[of] + sessions.gap_ms, {START: runs.first[of], **columns})


def _greatest_so_far(keys: Ints, values: Ints) -> Ints:
    """Return the greatest value so far in each row's key; keys ascend."""
    distinct, rank = np.unique(values, return_inverse=True)
    greatest: Ints = np.maximum.accumulate(keys * len(distinct) + rank)
    return np.asarray(distinct[greatest % max(len(distinct), 1)])


def _insertion_points(keys: Ints, values: Ints, of_key: Ints, value: Ints, side: Side) -> Ints:
    """Return the positions of keys' values among rows that ascend by key and value, like `np.searchsorted`."""
    distinct, rank = np.unique(np.concatenate([values, value]), return_inverse=True)
    code = np.concatenate([keys, of_key]) * len(distinct) + rank
    return np.searchsorted(code[: len(keys)], code[len(keys) :], side)
