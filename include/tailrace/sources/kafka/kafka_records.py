"""Reads the cuts of a topic: JSON records of several partitions, merged by append time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME
from numpy.typing import NDArray

from tailrace.sources.formats.json_lines import parse
from tailrace.sources.kafka.kafka_cuts import TopicCut
from tailrace.sources.kafka.kafka_fetch import receive
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import APPEND_TIME, ID
from tailrace.sources.segments import MalformedRecord, RawSegment, Segment, Types

_NO_RECORD = "no record has this offset: it is a transaction's marker, or was compacted away"
_TOMBSTONE = "its value is null: a tombstone"
_CREATE_TIME = "its time is its producer's: it came before the topic had message.timestamp.type LogAppendTime"


@dataclass(frozen=True)
class Records:
    """The n rows of a cut, in the order of the log.

    Attributes
    ----------
    topic : str
    partition, offset, timestamp_ms : ndarray, shape (n,)
    values : list of (bytes or None), length n
    faults : dict
        The reasons to reject rows without any value, by row.
    """

    topic: str
    partition: NDArray[np.int64]
    offset: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]
    values: list[bytes | None]
    faults: dict[int, str]

    def places(self, rows: NDArray[np.int64]) -> pa.Array:
        """Return topic, partition and offset of rows, as text."""
        numbers = (pa.array(column[rows]).cast(pa.string()) for column in (self.partition, self.offset))
        return pc.binary_join_element_wise(self.topic, *numbers, "/")


@dataclass(frozen=True)
class KafkaRecords:
    """The JSON records of a topic: a frozen value that is sent to every worker.

    Attributes
    ----------
    by_append_time : bool
        Whether the broker's append time is the records' arrival time; a record with its producer's time is then
        quarantined.
    exact : frozenset of str
        See `json_lines.parse`.
    """

    servers: Servers
    by_append_time: bool
    exact: frozenset[str] = frozenset()

    def read(self, segment: Segment, types: Types) -> RawSegment:
        """Read the columns of `types` of every record of a segment.

        Raises
        ------
        SourceChanged
            When the broker no longer has all of it.
        ConnectionError
            When no broker returns it.
        """
        records = self.fetch(segment)
        lines = _lines(records)
        own = {name: dtype for name, dtype in types.items() if name not in (ID, APPEND_TIME)}
        parsed = parse(lines, own, self.exact)
        table, row = parsed.table, parsed.row
        malformed = [
            MalformedRecord(fault.row, records.faults.get(fault.row, fault.reason), _text(records.values[fault.row]))
            for fault in parsed.malformed
        ]
        if ID in types:
            table = table.append_column(ID, records.places(row))
        if APPEND_TIME in types:
            table = table.append_column(APPEND_TIME, pa.array(records.timestamp_ms[row]))
        return RawSegment(table, row, malformed)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        """Return the given records of a segment as text, for the quarantine."""
        values = self.fetch(segment).values
        return [_text(values[row]) for row in rows]

    def fetch(self, segment: Segment) -> Records:
        """Fetch the records of a segment, merged by append time, partition and offset."""
        cut = TopicCut.of_path(segment.path)
        received = receive(self.servers, cut)
        is_stamped = (received.time_kind == TIMESTAMP_LOG_APPEND_TIME) | (not self.by_append_time)
        is_record = received.time_kind >= 0
        merged_ms = np.where(is_record & is_stamped, received.timestamp_ms, 0)
        for part in cut.ranges:  # never decreases within a partition, so that its records stay in order
            own = received.partition == part
            merged_ms[own] = np.maximum.accumulate(merged_ms[own])
        order = np.lexsort((received.offset, received.partition, merged_ms))
        order = order[segment.first_row : segment.first_row + segment.rows]
        values = received.value[order].tolist()
        is_null = np.array([value is None for value in values], bool)
        faults = dict.fromkeys(np.flatnonzero(is_null).tolist(), _TOMBSTONE)
        faults |= dict.fromkeys(np.flatnonzero(~is_stamped[order]).tolist(), _CREATE_TIME)
        faults |= dict.fromkeys(np.flatnonzero(~is_record[order]).tolist(), _NO_RECORD)
        partition, offset, timestamp_ms = (
            received.partition[order],
            received.offset[order],
            received.timestamp_ms[order],
        )
        return Records(cut.topic, partition, offset, timestamp_ms, values, faults)


def _lines(records: Records) -> list[bytes]:
    """Return the values as lines; empty where a row has a fault.

    Tabs take the place of line ends: JSON has both between tokens, and neither within a text.
    """
    lines = [b"" if value is None else value for value in records.values]
    for faulty in records.faults:
        lines[faulty] = b""
    text = b"".join(lines)
    if b"\r" in text or b"\n" in text:
        return [line.replace(b"\r", b"\t").replace(b"\n", b"\t") for line in lines]
    return lines


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")
