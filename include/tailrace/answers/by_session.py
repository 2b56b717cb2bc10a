"""Answers by key and session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.affected_sessions import AffectedSessions
from tailrace.answers.by_window import ByWindow, next_versions
from tailrace.answers.identity import SESSION, Identity
from tailrace.answers.model import Revision
from tailrace.answers.versions import of_others
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints, pair, unify
from tailrace.ground.arrow.matching import Rows, select
from tailrace.windows.sessions import Sessions, touching

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class BySession(ByWindow):
    """The answer model of kinds that answer each session of each key (`answers.model.AnswerModel`).

    A late tuple may begin, extend or join sessions. So the sessions that it missed are found among answers, and the
    sessions that a correction computes are found in history (`AffectedSessions`).
    """

    amounts: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def sessions(self) -> Sessions:
        """Its windows."""
        return cast(Sessions, self.windows)

    @property
    def identity(self) -> Identity:
        return SESSION

    @property
    def row_identity(self) -> tuple[str, ...]:
        return SESSION.determining

    @property
    def late_margin_ms(self) -> int:
        return self.sessions.reach_ms + 1

    def explode_late(self, late: pa.Table, *names: str, among: Rows | None = None) -> pa.Table:
        """Repeat each row of the table `late` for every session that it touches among some answers, in any version.

        It may lengthen such a session, or join it with another one. So may a late tuple that the session holds, as it
        was late because it touched a closed session.
        """
        assert among is not None
        answer, row = self._touching(among, late, self.late_time, self.sessions.reach_ms)
        identity = among.select(list(SESSION.columns)).take(pa.array(answer))
        missed = pa.table(dict(zip(SESSION.columns, identity.columns, strict=True)))
        code, _ = pair(row, SESSION.number(missed)[0])
        first = np.sort(np.unique(code, return_index=True)[1])  # an answer may have several versions
        missed, row = missed.take(pa.array(first)), row[first]
        for name in names:
            missed = missed.append_column(name, late.column(name).take(pa.array(row)))
        return missed

    def lacking(self, late: pa.Table, latest: pa.Table, is_uncorrected: NDArray[np.bool_]) -> pa.Table:
        """Return the identities of sessions that lack tuples, and of sessions that consist only of late tuples.

        A session is right if it is alone in its run of tuples, and has the run's late tuples.

        Parameters
        ----------
        late : Table, n rows
            With `arrived` and `frontier`.
        latest : Table
            The latest version of each session near these tuples, retracted ones too.
        is_uncorrected : ndarray, shape (n,)
            Which of the tuples arrived in a time that no correction covers.
        """
        is_seen = self.is_seen(latest, late)
        given = select(latest, ~(latest["corrected"].to_numpy() & latest[RETRACTED].to_numpy()))
        unseen = select(late, ~is_seen)
        runs = self.missed_by(unseen) | self.affected_from(given)
        of_given, of_late = runs.run_of(given, "window_start"), runs.run_of(unseen, self.late_time)
        sessions = np.bincount(of_given, minlength=len(runs))
        is_wrong, is_made = np.zeros((2, len(runs)), bool)
        is_wrong[of_late[~self._is_held(given, unseen) | (sessions[of_late] > 1)]] = True
        is_made[of_late[is_uncorrected[~is_seen]]] = True
        made = runs.where(is_made & (sessions == 0))
        first, last = made.times
        columns = [made.keys, pa.array(first), pa.array(last + self.sessions.gap_ms)]
        wrong = select(given, is_wrong[of_given]).select(SESSION.columns)
        return pa.concat_tables([wrong, pa.Table.from_arrays(columns, names=[*SESSION.columns])])

    def is_seen(self, answers: pa.Table, late: pa.Table) -> NDArray[np.bool_]:
        """Test which late tuples a correction has seen: it wrote or retracted a session that the tuple touches.

        Its cut-off, the version's `as_of`, must be after the tuple's arrival.
        """
        corrected = select(answers, answers["corrected"].to_numpy())
        session, row = self._touching(corrected, late, self.late_time, self.sessions.reach_ms)
        is_seen = np.zeros(late.num_rows, bool)
        is_seen[row[corrected["as_of"].to_numpy()[session] >= late["arrived"].to_numpy()[row]]] = True
        return is_seen

    def _is_held(self, answers: pa.Table, late: pa.Table) -> NDArray[np.bool_]:
        """Test which late tuples are in one of some answers: its session was open when they came."""
        session, row = self._touching(answers, late, self.late_time, 0)
        is_held = np.zeros(late.num_rows, bool)
        is_held[row[answers["window_end"].to_numpy()[session] > late["frontier"].to_numpy()[row]]] = True
        return is_held

    def missed_by(self, late: pa.Table) -> AffectedSessions:
        return AffectedSessions.of_times(self.sessions, late.column("key"), late.column("pane_start").to_numpy())

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedSessions:
        (repeated,) = repeats
        return self.missed_by(late) | self.holding_answers(given, repeated, "event_time")

    def holding_answers(self, given: pa.Table, tuples: pa.Table, time: str) -> AffectedSessions:
        """Return the given answers that hold one of the tuples, given by `key` and a column of event times."""
        index, _ = self._touching(given, tuples, time, 0)
        return self.affected_from(given.take(pa.array(np.unique(index))))

    def closed(self, event_times: tuple[int, int], frontier: int) -> AffectedSessions:
        return AffectedSessions.within(self.sessions, event_times, frontier)

    def affected_from(self, rows: Rows) -> AffectedSessions:
        first, end = (np.asarray(rows.column(name)) for name in ("window_start", "window_end"))
        return AffectedSessions.of_times(self.sessions, rows.column("key"), first, end - self.sessions.gap_ms)

    def revise(self, revision: Revision) -> pa.Table:
        return _revise_sessions(revision)

    def _touching(self, answers: Rows, tuples: Rows, time: str, reach_ms: int) -> tuple[Ints, Ints]:
        """Return the pairs of an answer and a tuple at most `reach_ms` away from the answer's tuples."""
        key, of_tuple = unify([each.column("key") for each in (answers, tuples)])[1]
        first, end = (np.asarray(answers.column(name)) for name in ("window_start", "window_end"))
        return touching(key, first, end - self.sessions.gap_ms, of_tuple, np.asarray(tuples.column(time)), reach_ms)


def _revise_sessions(revision: Revision) -> pa.Table:
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
    """Return a time up to which all sessions had closed at the cut-off, and by which all closed affected ones end.

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
