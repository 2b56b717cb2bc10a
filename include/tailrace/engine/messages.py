"""The messages of a batch through Spark, from readers to tasks and from tasks to the driver, as opaque bytes.

A message is a kind (`clock`, `rows`, or the table that its rows are for) and its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from tailrace.engine.pipeline import PreparedSegment
from tailrace.engine.query_clock import SegmentStatistics
from tailrace.engine.task import SegmentRows
from tailrace.ground.arrow import wire
from tailrace.ground.arrow.wire import Batches

Message = tuple[str, bytes]

_CLOCK, _ROWS = "clock", "rows"
_ROWS_AT_ONCE = 500_000


def messages_of(segment: PreparedSegment, groups: int) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a segment, each with the job's group that receives it.

    Every group gets the statistics, as it may run in any process. A task's group gets the task's rows. Rows for tables
    pass through any group unchanged.
    """
    ordinal = segment.record["ordinal"]
    statistics = wire.pack(segment.statistics, **segment.record)
    yield from ((group, (_CLOCK, statistics)) for group in range(groups))
    for task, rows in enumerate(segment.rows):
        if rows.num_rows:
            yield task, (_ROWS, wire.pack({"rows": rows}, ordinal=ordinal, side=segment.side))
    yield from ((ordinal % groups, message) for message in table_messages(segment.tables))


def table_messages(tables: Batches) -> Iterator[Message]:
    """Yield the rows for tables, in parts small enough for a single value in the JVM."""
    for table, batch in tables.items():
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            yield table, wire.pack({table: batch.slice(start, _ROWS_AT_ONCE)})


@dataclass
class Inbox:
    """The messages of a batch for one group.

    Attributes
    ----------
    passing : list of Message
        The rows for tables, still packed.
    """

    passing: list[Message] = field(default_factory=list)
    _statistics: list[bytes] = field(default_factory=list)
    _rows: list[bytes] = field(default_factory=list)

    @staticmethod
    def from_messages(messages: Iterable[Message]) -> Inbox:
        """Sort messages by kind."""
        inbox = Inbox()
        for what, data in messages:
            if what == _CLOCK:
                inbox._statistics.append(data)
            elif what == _ROWS:
                inbox._rows.append(data)
            else:
                inbox.passing.append((what, data))
        return inbox

    def statistics(self) -> list[SegmentStatistics]:
        """Unpack the statistics of the batch's segments."""
        unpacked = map(wire.unpack, self._statistics)
        return [(record, batches) for batches, record in unpacked]

    def rows(self) -> list[SegmentRows]:
        """Unpack the rows for the task."""
        unpacked = map(wire.unpack, self._rows)
        return [SegmentRows(values["ordinal"], values["side"], batches["rows"]) for batches, values in unpacked]


def unpacked_tables(messages: Iterable[Message]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows for tables of messages, each batch with its table."""
    return ((table, wire.unpack(data)[0][table]) for table, data in messages)
