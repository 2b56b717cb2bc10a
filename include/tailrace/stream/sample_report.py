"""A sample of a stream's source, and a report on how the stream would treat its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tailrace.engine.other_contents import RepeatedIds, find_repeats
from tailrace.engine.outlying_times import OutlyingTimes, find_outlying
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.words import counted, floored_of
from tailrace.sources.local_times import are_shown_again
from tailrace.sources.record_place import place_of
from tailrace.sources.segments import Segment, Types
from tailrace.storage.rejections import Rejections
from tailrace.stream.run_summary import where_of

SAMPLED_ROWS = 10_000
"""At most so many records are read of the first segment, and of the last one."""

_MOST_AHEAD = 0.5
_ROUNDED_MS = (60_000, 1000)


@dataclass(frozen=True)
class SourceSample:
    """A sample of a stream's source.

    Attributes
    ----------
    stream, where, format : str
        The name of the stream, its source as a URI, and the format of the source.
    is_stamped : bool
        Whether records arrive when they are read, as the stream has no arrival time.
    types : dict
        The types of the columns that the query reads; empty where no record shows them yet.
    segments : tuple of Segment
        The first records of its first file, and of its last one.
    """

    stream: str
    where: str
    types: Types
    segments: tuple[Segment, ...]
    format: str = ""
    is_stamped: bool = False


@dataclass(frozen=True)
class SampleReport:
    """Report on the records of a sample: how many were read and accepted, and why the others were not.

    `filtered` is the number of records left out; `unmatched` of these met no row of a lookup.
    `first_line` names the place of the first rejected record, and the reason; None if none was rejected. `repeats` are
    the records that repeat an id, `outlying` the implausible event times; None if there are none. `floored` are
    the columns with times that are finer than microseconds. `ahead` is the number of accepted records whose event time
    is after their arrival time. `twice` is a warning of local times that clocks show twice.
    """

    sample: SourceSample
    read: int
    accepted: int
    rejections: Rejections
    filtered: int = 0
    unmatched: int = 0
    first_line: str | None = None
    repeats: tuple[RepeatedIds, ...] = ()
    outlying: OutlyingTimes | None = None
    floored: frozenset[str] = frozenset()
    ahead: int = 0
    twice: str | None = None

    @property
    def is_unfit(self) -> bool:
        """True if no record fits, though there are some that `where` does not leave out."""
        return self.read > self.filtered and not self.accepted

    def lines(self) -> Iterator[str]:
        """Yield the report in lines."""
        head = f"stream {self.sample.stream}: {self.sample.where}"
        if not self.sample.types:
            yield f"{head}: no record yet, so its types are not known"
            return
        yield f"{head}: {', '.join(f'{name} {dtype}' for name, dtype in self.sample.types.items())}"
        rejected = self.read - self.accepted - self.filtered
        by_where = self.filtered - self.unmatched
        filtered = f"{by_where:,} are left out by where, " if by_where else ""
        filtered += f"{self.unmatched:,} have no row of a lookup, " if self.unmatched else ""
        looked_at = counted(self.read, "record")
        yield f"  of {looked_at} that were looked at {self.accepted:,} fit, {filtered}{rejected:,} do not"
        for line in self.rejections.lines():
            yield f"  {line}"
        if self.first_line is not None:
            yield f"  the first of them: {self.first_line}"
        for repeats in self.repeats:
            yield f"  {repeats.words()}"
        for line in self.outlying.lines() if self.outlying is not None else ():
            yield f"  warning: {line}"
        if self.floored:
            yield f"  warning: {floored_of(self.sample.stream, self.floored)}"
        if self.twice is not None:
            yield f"  warning: {self.twice}"

    def doubts(self) -> Iterator[str]:
        """Yield a line for each likely mistake of the query that rejects no record."""
        if self.filtered > self.unmatched and not self.accepted:
            yield where_of(self.sample.stream, self.read, self.filtered, self.unmatched)
        if self.ahead > _MOST_AHEAD * self.accepted:
            counts = f"{self.ahead:,} of {counted(self.accepted, 'record')}"
            yield f"stream {self.sample.stream}: event_time is after arrival_time in {counts}; are the two swapped?"

    def with_local_times(self, tuples: Sequence[pa.RecordBatch], timezone: str) -> SampleReport:
        """Return the report with a warning of local event times that clocks of a time zone show twice."""
        event, position = (
            np.concatenate([np.asarray(each.column(name)) for each in tuples]) for name in ("event_time", "position")
        )
        rows = np.flatnonzero(are_shown_again(event, timezone))
        if not len(rows):
            return self
        times = f"{counted(len(rows), 'event time')} without an offset, first in {self._place(int(position[rows[0]]))}"
        fault = f"clocks of {timezone} showed twice as they went back, and count as the first of the two"
        return replace(self, twice=f"{times}: {fault}; an offset in the text, as +01:00, tells them apart")

    def with_tuples(self, tuples: Sequence[pa.RecordBatch]) -> SampleReport:
        """Return the report with the sample's repeats and doubtful times; versions of answers are no repeats."""
        if not tuples or RETRACTED in tuples[0].schema.names:
            return self
        together = pa.concat_batches(tuples)
        position = np.asarray(together.column("position"))
        found = {content: rows for content, rows in find_repeats(together).items() if len(rows)}
        repeats = [
            RepeatedIds(content, len(rows), self._place(int(position[rows[0]]))) for content, rows in found.items()
        ]
        outlying = find_outlying(self.sample.stream, together, self._place)
        ahead = 0 if self.sample.is_stamped else _count_ahead(together)
        return replace(self, repeats=tuple(repeats), outlying=outlying, ahead=ahead)

    def _place(self, position: int) -> str:
        """Return the place of the record at a position in the sample."""
        number, row = divmod(position, SAMPLED_ROWS)
        segment = self.sample.segments[number]
        return place_of(f"{segment.path}#{segment.first_row + row}", self.sample.format)


def _count_ahead(tuples: pa.RecordBatch) -> int:
    """Count the tuples whose event time is after their arrival time.

    Where all arrival times are whole minutes or seconds, event times are rounded down to these.
    """
    event, arrival = (np.asarray(tuples.column(name)) for name in ("event_time", "arrival_time"))
    unit = next((unit for unit in _ROUNDED_MS if not (arrival % unit).any()), 1)
    return int(np.count_nonzero(event // unit > arrival // unit))
