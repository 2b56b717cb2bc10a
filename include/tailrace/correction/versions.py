"""The next versions of answers, read from the tables and revised by the kind's answer model."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tailrace.answers.affected_sessions import AffectedSessions
from tailrace.answers.changed_answers import count_changed
from tailrace.answers.model import AffectedAnswers
from tailrace.answers.revision import Revision
from tailrace.answers.versions import of_others, without_retracted
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground.answer_columns import RETRACTED
from tailrace.ground.matching import select
from tailrace.kind.capabilities import IncrementallyCorrectable
from tailrace.kind.protocol import WindowedKind, windowed
from tailrace.storage.results import AnswerTables, Overlapping


@dataclass(frozen=True)
class Revised:
    """The rows of `corrections` for some answers, and all versions that these had before."""

    rows: pa.Table
    versions: pa.Table
    kind: WindowedKind

    def changed(self, interval: str, is_recorded: bool) -> int:
        """Count the answers that these versions add or change; retractions are not counted.

        A run of the same interval has changed some of them already. If it died before the ledger recorded it, they
        count now.
        """
        versions = self.versions if is_recorded else of_others(self.versions, interval)
        model = self.kind.answers
        return count_changed(model.identity, model.row_identity, self.kind.answer, self.rows, versions)

    @property
    def taken_back(self) -> int:
        """The number of answers among those given before that these versions retract."""
        identity = self.kind.answers.identity
        retracted = identity.first_rows(select(self.rows, self.rows[RETRACTED].to_numpy()))
        return int((identity.find(retracted, without_retracted(self.versions)) >= 0).sum())


def revise(
    history: HistoryScan, answers: AnswerTables, affected: AffectedAnswers, before: int, interval: str
) -> Revised:
    """Return the next versions of the affected answers, as of the cut-off of `history`."""
    kind, ranges = history.pipeline.kind, affected.ranges()
    low, high = ranges
    horizons = low - 1, high  # of every tuple in [low, high)
    is_of_sessions = isinstance(affected, AffectedSessions)
    versions = answers.versions(Overlapping(ranges) if is_of_sessions else horizons, withheld=True)
    late = answers.late(ranges)
    readers = history.pipeline.readers
    repeats_lookups = any(reader.records is not None for reader in readers)
    replaces = repeats_lookups or any(reader.takes_newest for reader in readers)  # a late version is more than added
    amend = kind.amend if isinstance(kind, IncrementallyCorrectable) and not replaces else None
    of_kind = history, kind.answer, versions, late, affected, before, interval, amend
    rows = kind.answers.revise(Revision(*of_kind, repeats_lookups))
    as_of = pa.repeat(pa.scalar(before, pa.int64()), rows.num_rows)
    rows = rows.append_column("as_of", as_of).append_column("interval", pa.repeat(interval, rows.num_rows))
    return Revised(rows, versions, windowed(kind))
