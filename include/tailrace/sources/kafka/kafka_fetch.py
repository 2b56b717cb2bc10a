"""Receives the records of a cut of a topic from its brokers, as columns."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from numpy.typing import NDArray

from tailrace.ground.errors import Problem, SourceChanged
from tailrace.sources.kafka.kafka_access import AccessErrors
from tailrace.sources.kafka.kafka_client import new_consumer
from tailrace.sources.kafka.kafka_cuts import TopicCut
from tailrace.sources.kafka.kafka_servers import Servers

_AT_ONCE, _POLL_S, _WAIT_S = 10_000, 0.05, 30.0
_OVERTAKEN = {KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET}


@dataclass(frozen=True)
class Received:
    """The n offsets of a cut, by partition and offset, with the brokers' content.

    Attributes
    ----------
    partition, offset : ndarray, shape (n,)
    time_kind : ndarray, shape (n,)
        The client's number for the kind of the timestamp; -1 if the offset has no record.
    timestamp_ms : ndarray, shape (n,)
    value : ndarray of (bytes or None), shape (n,)
    """

    partition: NDArray[np.int64]
    offset: NDArray[np.int64]
    time_kind: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]
    value: NDArray[np.object_]


def receive(servers: Servers, cut: TopicCut) -> Received:
    """Receive the records of a cut.

    Raises
    ------
    SourceChanged
        When the broker no longer has all of it.
    ConnectionError
        When no broker returns it.
    """
    messages = _consume(servers, cut)
    ranges = sorted(cut.ranges.items())
    parts, starts, ends = np.array([(part, start, end) for part, (start, end) in ranges], np.int64).reshape(-1, 3).T
    rows = ends - starts
    before = np.cumsum(rows) - rows  # the number of offsets in earlier partitions
    partition = np.repeat(parts, rows)
    offset = np.arange(len(partition)) + np.repeat(starts - before, rows)
    of_part = np.searchsorted(parts, _ints([message.partition() for message in messages]))
    of_message = _ints([message.offset() for message in messages])
    in_cut = np.flatnonzero((of_message >= starts[of_part]) & (of_message < ends[of_part]))
    times = _ints([message.timestamp() for message in messages]).reshape(-1, 2)
    kind, timestamp_ms, value = np.full(len(offset), -1), np.zeros(len(offset), np.int64), np.full(len(offset), None)
    index = (before[of_part] + of_message - starts[of_part])[in_cut]
    kind[index], timestamp_ms[index] = times[in_cut].T
    values = np.empty(len(messages), object)
    values[:] = [message.value() for message in messages]
    value[index] = values[in_cut]
    return Received(partition, offset, kind, timestamp_ms, value)


def _consume(servers: Servers, cut: TopicCut) -> list[Message]:
    """Return the messages of a cut, by offset in each partition; some may be from after its ends."""
    messages = list[Message]()
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
                received = consumer.consume(min(left, _AT_ONCE), _POLL_S)  # returns once it has all, or after this time
                if received:
                    last_s = time.monotonic()
                    access.clear()
                if access.is_persistent or time.monotonic() - last_s > _WAIT_S:
                    raise access.error(f"no record of {cut.path} in {_WAIT_S:.0f} s")
                for part in _over(received, cut, messages) & open_ends.keys():
                    del open_ends[part]
                    consumer.incremental_unassign([TopicPartition(cut.topic, part)])
    finally:
        consumer.close()
    return messages


def _over(received: list[Message], cut: TopicCut, messages: list[Message]) -> set[int]:
    """Add received records to `messages`; return the partitions that are read to the cut's end."""
    over = set[int]()
    records = [message for message in received if message.error() is None]
    if len(records) < len(received):
        for message in received:
            error, part = message.error(), message.partition()
            if error is not None and error.code() == KafkaError._PARTITION_EOF and part is not None:
                over.add(part)
            elif error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise gone(cut.topic, f"{cut.path}: {error.str()}")
            elif error is not None and error.code() in _OVERTAKEN:
                raise overtaken(cut.topic, f"{cut.path}: {error.str()}")
            elif error is not None:
                raise KafkaException(error)
    newest: dict[int | None, int | None] = {}
    for message in reversed(records):
        newest.setdefault(message.partition(), message.offset())
        if len(newest) == len(cut.ranges):
            break
    ends = ((part, newest.get(part), end) for part, (_, end) in cut.ranges.items())
    over |= {part for part, offset, end in ends if offset is not None and offset >= end - 1}
    messages += records
    return over


def _ints(numbers: list[Any]) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


def gone(topic: str, fault: str) -> SourceChanged:
    """Build the error for a topic whose records no longer belong to the stream."""
    remedy = "another name for the query, to begin again with what is there, beside the answers so far"
    return SourceChanged([Problem(f"topic {topic}", fault, remedy)])


def overtaken(topic: str, fault: str) -> SourceChanged:
    """Build the error for records that the topic no longer has, usually because its retention has deleted them."""
    alter = f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}"
    remedy = (
        f"a retention longer than any downtime: {alter} --add-config retention.ms=-1,retention.bytes=-1 keeps all; and "
        "another name for the query, to begin again with what is there, beside the answers so far"
    )
    return SourceChanged([Problem(f"topic {topic}", fault, remedy)])
