"""Reads the cuts of a topic: JSON records of several partitions, merged by append time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, Message, TopicPartition
from numpy.typing import NDArray

from tailrace.ground.errors import Problem, SourceChanged
from tailrace.sources.json_lines import parse
from tailrace.sources.kafka_access import AccessErrors
from tailrace.sources.kafka_client import new_consumer
from tailrace.sources.kafka_cuts import Cut
from tailrace.sources.kafka_servers import Servers
from tailrace.sources.segments import MalformedRecord, RawSegment, Segment, Types

ID, APPEND_TIME = "(topic/partition/offset)", "(append time)"
"""The columns that a record has from the broker: its place as text, and the time (ms) at which it was appended."""

_AT_ONCE, _POLL_S, _WAIT_S = 10_000, 0.05, 30.0
_GONE = {KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET, KafkaError.UNKNOWN_TOPIC_OR_PART}
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
        The reasons against rows that hold no value at all, by row.
    """

    topic: str
    partition: NDArray[np.int64]
    offset: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]
    values: list[bytes | None]
    faults: dict[int, str]

    def place(self, row: int) -> str:
        """Topic, partition and offset of a row."""
        return f"{self.topic}/{self.partition[row]}/{self.offset[row]}"


@dataclass(frozen=True)
class KafkaRecords:
    """The JSON records of a topic: a frozen value, sent to every worker.

    Attributes
    ----------
    by_append_time : bool
        Whether the broker's append time is the records' arrival time: one with its producer's time goes to quarantine.
    """

    servers: Servers
    by_append_time: bool

    def read(self, segment: Segment, types: Types) -> RawSegment:
        """Read the columns of `types` of every record of a segment.

        Raises
        ------
        SourceChanged
            When the broker has no longer all of it.
        ConnectionError
            When no broker gives it.
        """
        records = self.fetch(segment)
        lines = [b"" if value is None else _one_line(value) for value in records.values]
        for faulty in records.faults:
            lines[faulty] = b""
        own = {name: kind for name, kind in types.items() if name not in (ID, APPEND_TIME)}
        parsed = parse(lines, own)
        table, row = parsed.table, parsed.row
        malformed = [
            MalformedRecord(fault.row, records.faults.get(fault.row, fault.reason), _text(records.values[fault.row]))
            for fault in parsed.malformed
        ]
        if ID in types:
            table = table.append_column(ID, pa.array([records.place(each) for each in row.tolist()], pa.string()))
        if APPEND_TIME in types:
            table = table.append_column(APPEND_TIME, pa.array(records.timestamp_ms[row]))
        return RawSegment(table, row, malformed)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        """The given records of a segment as text, for the quarantine."""
        values = self.fetch(segment).values
        return [_text(values[row]) for row in rows]

    def fetch(self, segment: Segment) -> Records:
        """Fetch the records of a segment, merged by append time, partition and offset."""
        cut = Cut.of_path(segment.path)
        messages = _consume(self.servers, cut)
        columns = [self._arranged(part, start, messages[part]) for part, (start, _) in sorted(cut.ranges.items())]
        partition, offset, merged_ms, timestamp_ms = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.lexsort((offset, partition, merged_ms))
        order = order[segment.first_row : segment.first_row + segment.rows]
        values, faults = list[bytes | None](), dict[int, str]()
        for row, index in enumerate(order.tolist()):
            part = int(partition[index])
            message = messages[part][int(offset[index]) - cut.ranges[part][0]]
            fault = self._fault(message)
            if fault is not None:
                faults[row] = fault
            values.append(message.value() if message is not None else None)
        return Records(cut.topic, partition[order], offset[order], timestamp_ms[order], values, faults)

    def _arranged(self, part: int, start: int, messages: list[Message | None]) -> tuple[NDArray[np.int64], ...]:
        """Partition, offset, time by which a row is merged, and timestamp, of n offsets of a partition; each (n,).

        The times by which rows are merged never fall in a partition, so that its records stay in their order.
        """
        kinds_and_times = [(None, 0) if message is None else message.timestamp() for message in messages]
        timestamp_ms = np.array([time for _, time in kinds_and_times], np.int64)
        counts = [kind == TIMESTAMP_LOG_APPEND_TIME or not self.by_append_time for kind, _ in kinds_and_times]
        merged_ms = np.where(np.array(counts, bool), timestamp_ms, 0)
        if len(merged_ms):
            merged_ms = np.maximum.accumulate(merged_ms)
        offset = np.arange(start, start + len(messages))
        return np.full(len(messages), part), offset, merged_ms, timestamp_ms

    def _fault(self, message: Message | None) -> str | None:
        """The reason for which an offset holds no record of the stream; None where it does."""
        if message is None:
            return _NO_RECORD
        if self.by_append_time and message.timestamp()[0] != TIMESTAMP_LOG_APPEND_TIME:
            return _CREATE_TIME
        return _TOMBSTONE if message.value() is None else None


def _consume(servers: Servers, cut: Cut) -> dict[int, list[Message | None]]:
    """The messages of a cut by partition, one for each offset; None for an offset without one."""
    messages: dict[int, list[Message | None]] = {p: [None] * (end - start) for p, (start, end) in cut.ranges.items()}
    open_ends = {part: end for part, (start, end) in cut.ranges.items() if end > start}
    if not open_ends:
        return messages
    access = AccessErrors(servers)
    consumer, last_s = new_consumer(access), time.monotonic()
    try:
        with access.as_network_errors():
            consumer.assign([TopicPartition(cut.topic, part, cut.ranges[part][0]) for part in open_ends])
            while open_ends:
                left = sum(end - cut.ranges[part][0] for part, end in open_ends.items())
                received = consumer.consume(min(left, _AT_ONCE), _POLL_S)  # returns when it has them all, or then
                if received:
                    last_s = time.monotonic()
                    access.clear()
                if access.is_persistent or time.monotonic() - last_s > _WAIT_S:
                    raise access.error(f"no record of {cut.path} in {_WAIT_S:.0f} s")
                for part in _take(received, cut, messages) & open_ends.keys():
                    del open_ends[part]
                    consumer.incremental_unassign([TopicPartition(cut.topic, part)])
    finally:
        consumer.close()
    return messages


def _take(received: list[Message], cut: Cut, messages: dict[int, list[Message | None]]) -> set[int]:
    """Put messages in their places; returns the partitions that are read to the cut's end."""
    done = set[int]()
    for message in received:
        part, offset, error = message.partition(), message.offset(), message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF and part is not None:
            done.add(part)
        elif error is not None and error.code() in _GONE:
            raise gone(cut.topic, f"{cut.path}: {error.str()}")
        elif error is not None:
            raise KafkaException(error)
        elif part is not None and offset is not None:
            start, end = cut.ranges[part]
            if start <= offset < end:
                messages[part][offset - start] = message
            if offset >= end - 1:
                done.add(part)
    return done


def gone(topic: str, wrong: str) -> SourceChanged:
    """Build the error for records that the broker has deleted, or that are not those of the stream."""
    right = (
        "a retention (retention.ms, retention.bytes) longer than any downtime; and another name for the query, "
        "to begin anew with what is there"
    )
    return SourceChanged([Problem(f"topic {topic}", wrong, right)])


def _one_line(value: bytes) -> bytes:
    """A JSON value on one line: in JSON a newline stands only between tokens."""
    return value.replace(b"\r", b" ").replace(b"\n", b" ")


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")
