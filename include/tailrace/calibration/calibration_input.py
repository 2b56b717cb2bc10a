"""A query's past as its log has it, read for a calibration. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.calibration.measure import EventTimeCourse
from tailrace.calibration.recent_windows import RecentTuples
from tailrace.correction import deduplication
from tailrace.engine.stage import Stage
from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.storage.log import ORDER, Log

MOST_ROWS = 5_000_000
"""So many rows fit into this process, with room to spare."""


@dataclass(frozen=True)
class LoggedHistory:
    """What a log holds, with a segment at least.

    Attributes
    ----------
    most_rows : int
        More are refused.
    """

    stage: Stage
    log: Log
    most_rows: int = MOST_ROWS

    def span(self) -> tuple[int, int]:
        """The earliest and the newest event time, in ms."""
        segments = self.log.segments
        return int(segments["min_event"].min()), int(segments["max_event"].max())

    def since(self, low: int) -> RecentTuples:
        """What came from an event time on.

        Raises
        ------
        Refused
            When it is too many rows.
        """
        log = self.log.of_events((np.array([low]), np.array([AFTER_ALL])))
        pieces, reader = log.pieces(), log.reader()
        rows = sum(piece.rows for piece in pieces)
        if rows > self.most_rows:
            wrong = f"the newest windows lie within {rows:,} rows, more than the {self.most_rows:,} it reads"
            raise refuse("calibration", wrong, "fewer windows, by a smaller `queries` beside disorder.policy")
        columns = list(dict.fromkeys(["event_time", "key", *self.stage.columns.values, *ORDER]))
        came = pa.concat_batches([reader.read(piece, columns) for piece in pieces])
        tick, event = (np.asarray(came.column(name)) for name in ("tick", "event_time"))
        newer = event >= low
        course, tuples = EventTimeCourse.of(tick[newer], event[newer]), came.filter(pa.array(newer))
        since = tick >= course.tick[0] if newer.any() else newer
        firsts = deduplication.first_arrivals(tuples, came.filter(pa.array(~newer)).select(ORDER))
        delays = course.delays(tick[since], event[since])
        return RecentTuples(low, tuples.filter(pa.array(firsts)), course, delays)
