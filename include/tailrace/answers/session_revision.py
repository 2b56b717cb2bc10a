"""The next versions of sessions: a correction replaces all answers in a run of tuples by the run's sessions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_sessions import AffectedSessions
from tailrace.answers.identity import SESSION
from tailrace.answers.revision import Revision
from tailrace.answers.versions import of_others
from tailrace.answers.window_revision import next_versions
from tailrace.ground.matching import select


def revise_sessions(revision: Revision) -> pa.Table:
    """Return the next versions of the affected sessions, and the retractions of the answers that they replace.

    - A session that is still open at the cut-off is not answered, and the answers in it are left alone: the stream will
      answer the rest of it, and the correction of that interval all of it.
    - Runs in which a correction with a later cut-off has answered or retracted anything are left to that one, which has
      seen all their tuples. So corrections may come in any order, though sessions change their identity with them.
    """
    assert isinstance(revision.affected, AffectedSessions)
    affected = _without_later(revision.affected, revision)
    past = select(revision.versions, revision.versions["as_of"].to_numpy() <= revision.before)
    answers = revision.history.evaluate(affected)
    is_open = answers["window_end"].to_numpy() > _closed_until(affected, past, revision)
    still = answers.filter(pa.array(is_open))
    first, end = (still[name].to_numpy() for name in ("window_start", "window_end"))
    going_on = AffectedSessions.of_times(affected.sessions, still["key"], first, end - affected.sessions.gap_ms)
    past = select(past, affected.contains(past) & ~going_on.contains(past))
    return next_versions(SESSION, select(answers, ~is_open), past, revision.interval)


def _closed_until(affected: AffectedSessions, past: pa.Table, revision: Revision) -> int:
    """Return an event time up to which sessions had closed at the cut-off, and the affected ones that had, all end.

    The last tuple of a closed session is in an answer of the stream that ends with it, or was registered late when F
    had passed its session's end.
    """
    late = select(revision.late, revision.late["arrived"].to_numpy() <= revision.before)
    ends, frontiers = past["window_end"].to_numpy(), late["frontier"].to_numpy()
    return max(
        affected.frontier, int(ends.max(initial=affected.frontier)), int(frontiers.max(initial=affected.frontier))
    )


def _without_later(affected: AffectedSessions, revision: Revision) -> AffectedSessions:
    """Leave out the runs that overlap a row of a correction with a later cut-off."""
    versions = of_others(revision.versions, revision.interval)
    is_later = versions["corrected"].to_numpy() & (versions["as_of"].to_numpy() > revision.before)
    if affected.rows is None or not is_later.any():
        return affected
    later, reach_ms = select(versions, is_later), affected.sessions.reach_ms
    first, end = (later[name].to_numpy() for name in ("window_start", "window_end"))
    theirs = replace(
        affected, rows=pa.table({"key": later["key"], "first": first, "last": end - affected.sessions.gap_ms})
    )
    is_mine = np.ones(len(affected), bool)
    is_mine[affected.touched_by(later, first, reach_ms)[0]] = False
    is_mine[theirs.touched_by(affected.table, affected.times[0], reach_ms)[1]] = False
    return affected.where(is_mine)
