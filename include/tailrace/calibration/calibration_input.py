"""The input of a calibration: a query's history, read from its log. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.calibration.measure import EventTimeCourse
from tailrace.calibration.recent_windows import RecentTuples
from tailrace.correction import deduplication
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.ground.times import EVENT_US
from tailrace.storage.log import ORDER, Log

MOST_ROWS = 5_000_000
"""The default limit of rows, which as plain rows easily fit into this process."""


@dataclass(frozen=True)
class LoggedHistory:
    """The history in a log with at least one segment.

    Attributes
    ----------
    most_rows : int
        The limit of rows; a calibration that needs more is refused.
    """

    reader: StreamReader
    log: Log
    most_rows: int = MOST_ROWS

    def span(self) -> tuple[int, int]:
        """Return the earliest and the newest event time, in ms."""
        segments = self.log.segments
        return pc.min(segments["min_event"]).as_py(), pc.max(segments["max_event"]).as_py()

    def is_readable(self, low: int) -> bool:
        """Whether the tuples from an event time on (ms) lie within at most `most_rows` rows."""
        return _rows(self._log_since(low)) <= self.most_rows

    def since(self, low: int) -> RecentTuples:
        """Read the tuples from an event time on, in ms, without repeats.

        Raises
        ------
        Refused
            When they lie within more than `most_rows` rows.
        """
        log = self._log_since(low)
        pieces, reader, rows = log.pieces(), log.reader(), _rows(log)
        if rows > self.most_rows:
            fault = f"what is to be measured lies within {rows:,} rows, more than the {self.most_rows:,} it reads"
            raise refuse("calibration", fault, "fewer windows, by a smaller `queries` beside disorder.policy")
        columns = list(dict.fromkeys(["event_time", EVENT_US, "key", *self.reader.value_types, *ORDER]))
        arrivals = pa.concat_batches([reader.read(piece, columns) for piece in pieces])
        tick, event, arrival = (np.asarray(arrivals.column(name)) for name in ("tick", "event_time", "arrival_time"))
        recent = event >= low
        counted = self.reader.columns.counted_events(event, arrival)
        course, tuples = EventTimeCourse.from_tuples(tick[recent], counted[recent]), arrivals.filter(pa.array(recent))
        in_course = tick >= course.tick[0] if recent.any() else recent
        counts = deduplication.counted(tuples, arrivals.filter(pa.array(~recent)).select(ORDER))
        delays = course.delays(tick[in_course], event[in_course])
        return RecentTuples(low, tuples.filter(pa.array(counts)), course, delays)

    def _log_since(self, low: int) -> Log:
        return self.log.of_events((np.array([low]), np.array([AFTER_ALL])))


def _rows(log: Log) -> int:
    return sum(piece.rows for piece in log.pieces())
