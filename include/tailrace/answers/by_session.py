"""Answers by key and session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_sessions import AffectedSessions
from tailrace.answers.by_window import ByWindow
from tailrace.answers.identity import SESSION, Identity
from tailrace.answers.revision import Revision
from tailrace.answers.session_revision import revise_sessions
from tailrace.ground.columns import Ints, pair, unify
from tailrace.ground.matching import Rows, first_places
from tailrace.windows.sessions import Sessions, touching

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class BySession(ByWindow):
    """The answer model of kinds that answer each session of each key (`answers.model.AnswerModel`).

    A late tuple may begin, extend or join sessions. So the sessions that it missed are found among answers, and those
    that a correction gives in history (`AffectedSessions`).
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
        """Repeat each row of the table `late` for every session that it missed among some answers, in any versions.

        A row missed the sessions that it touches and that end at or before its `frontier` (the watermark before its
        tick).
        """
        assert among is not None
        (key, late_key), first = _codes(among, late), np.asarray(among.column("window_start"))
        last, time = np.asarray(among.column("window_end")) - self.sessions.gap_ms, late.column("pane_start").to_numpy()
        answer, row = touching(key, first, last, late_key, time, self.sessions.reach_ms)
        had_closed = last[answer] + self.sessions.gap_ms <= late.column("frontier").to_numpy()[row]
        answer, row = answer[had_closed], row[had_closed]
        identity = among.select(list(SESSION.columns)).take(pa.array(answer))
        missed = pa.table(dict(zip(SESSION.columns, identity.columns, strict=True)))
        places = first_places(pair(row, SESSION.number(missed)[0])[0])  # an answer may have several versions
        missed, row = missed.take(pa.array(places)), row[places]
        for name in names:
            missed = missed.append_column(name, late.column(name).take(pa.array(row)))
        return missed

    def missed_by(self, late: pa.Table) -> AffectedSessions:
        return AffectedSessions.of_times(self.sessions, late.column("key"), late.column("pane_start").to_numpy())

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedSessions:
        (repeated,) = repeats
        return self.missed_by(late) | self.holding_answers(given, repeated, "event_time")

    def holding_answers(self, given: pa.Table, tuples: pa.Table, time: str) -> AffectedSessions:
        """Return the given answers that hold one of the tuples, which have `key` and a column of their event times."""
        key, of_tuple = _codes(given, tuples)
        first, end = (given.column(name).to_numpy() for name in ("window_start", "window_end"))
        index, _ = touching(key, first, end - self.sessions.gap_ms, of_tuple, tuples.column(time).to_numpy(), 0)
        return self.affected_from(given.take(pa.array(np.unique(index))))

    def closed(self, event_times: tuple[int, int], frontier: int) -> AffectedSessions:
        return AffectedSessions.within(self.sessions, event_times, frontier)

    def affected_from(self, rows: Rows) -> AffectedSessions:
        first, end = (np.asarray(rows.column(name)) for name in ("window_start", "window_end"))
        return AffectedSessions.of_times(self.sessions, rows.column("key"), first, end - self.sessions.gap_ms)

    def revise(self, revision: Revision) -> pa.Table:
        return revise_sessions(revision)


def _codes(*rows: Rows) -> list[Ints]:
    return unify([each.column("key") for each in rows])[1]
