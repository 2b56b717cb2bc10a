"""The next versions of answers, read from the tables and revised as the kind's answer model says."""

from __future__ import annotations

import pyarrow as pa

from tailrace.answers.model import AffectedAnswers
from tailrace.answers.revision import Revision
from tailrace.correction.history_scan import HistoryScan
from tailrace.kind.capabilities import IncrementallyCorrectable
from tailrace.storage.results import AnswerTables


def revise(
    history: HistoryScan, answers: AnswerTables, affected: AffectedAnswers, before: int, interval: str
) -> pa.Table:
    """Return the rows of `corrections` for the affected answers, as of a cut-off: that of `history`."""
    kind, ranges = history.pipeline.kind, affected.ranges()
    low, high = ranges
    versions, late = answers.versions((low - 1, high)), answers.late(ranges)  # of every tuple in [low, high)
    amend = kind.amend if isinstance(kind, IncrementallyCorrectable) else None
    rows = kind.answers.revise(Revision(history, kind.answer, versions, late, affected, before, interval, amend))
    as_of = pa.repeat(pa.scalar(before, pa.int64()), rows.num_rows)
    return rows.append_column("as_of", as_of).append_column("interval", pa.repeat(interval, rows.num_rows))
