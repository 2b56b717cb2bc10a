"""Completes affected sessions to whole runs of tuples, by reading history around their known parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_sessions import AffectedSessions
from tailrace.answers.model import AffectedAnswers
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground.arrow.ranges import merge_ranges
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL

_WIDENED = 4  # factor by which reading is extended if a run continues beyond it


def with_whole_sessions(history: HistoryScan, affected: AffectedAnswers) -> AffectedAnswers:
    """Return affected sessions, completed to whole runs; other answers unchanged.

    Only keys and times are read: within a gap around each part, and farther if a run continues there. This also finds
    tuples that are in no table of answers, such as the tuples of open sessions.
    """
    if not isinstance(affected, AffectedSessions) or affected.is_whole:
        return affected
    reach_ms, (low, high) = affected.sessions.reach_ms, affected.event_times
    if affected.rows is None:
        some = merge_ranges(np.array([low - reach_ms]), np.array([high + reach_ms + 1]))
        joined = _joined(affected, history.keyed_times(some))
        first, last = joined.times
        affected = replace(
            joined.where((first < high) & (last + affected.sessions.gap_ms > low)), frontier=affected.frontier
        )
    whole, rest, margin_ms = affected.where(np.zeros(len(affected), bool)), affected, reach_ms
    while len(rest):
        first, last = rest.times
        order = np.argsort(first, kind="stable")
        ranges = merge_ranges(first[order] - margin_ms, np.maximum.accumulate(last[order]) + margin_ms + 1)
        runs = _joined(rest, history.keyed_times(ranges, rest.keys))
        run, part = runs.touched_by(rest.table, first)
        least, most = np.full((2, len(runs)), [[AFTER_ALL], [BEFORE_ALL]])
        np.minimum.at(least, run, first[part] - margin_ms + reach_ms)
        np.maximum.at(most, run, last[part] + margin_ms - reach_ms)
        first, last = runs.times
        is_wanted, ends_there = most > BEFORE_ALL, (first >= least) & (last <= most)
        whole |= runs.where(is_wanted & ends_there)
        rest, margin_ms = runs.where(is_wanted & ~ends_there), margin_ms * _WIDENED
    return replace(whole, is_whole=True)


def _joined(affected: AffectedSessions, times: pa.Table) -> AffectedSessions:
    """Join parts of runs with the tuples of the same keys."""
    time = times.column("event_time").to_numpy()
    parts = AffectedSessions.of_times(affected.sessions, times.column("key"), time)
    return parts if affected.rows is None else affected | parts
