"""Replays a stream to a Kafka topic: its tuples as JSON records, in the order of arrival."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pyarrow as pa

from tailrace.ground.arrow.json_rows import json_rows
from tailrace.ground.errors import refuse
from tailrace.sources.kafka.kafka_client import Topic
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_servers import Servers

_PROGRESS_S, _AT_ONCE = 5.0, 10_000


def partitions_of(servers: Servers, topic: str) -> int:
    """Return the number of a topic's partitions.

    Raises
    ------
    Refused
        When there is no such topic.
    ConnectionError
        When no broker answers.
    """
    description = Topic(servers, topic).description()
    if description is None:
        command = f"kafka-topics.sh --create --topic {topic} --config message.timestamp.type=LogAppendTime"
        raise refuse(f"topic {topic}", "there is no such topic", f"one that is there: {command}")
    return len(description[1])


def send(
    table: pa.Table,
    writer: TopicWriter,
    partitions: int,
    key: str | None = None,
    rate: float | None = None,
    progress: Callable[[int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Send the rows of a stream in order, and wait until the brokers have all of them.

    Parameters
    ----------
    key : str, optional
        The column whose value is a record's key, so that equal ones are in one partition. Without it records have no
        key, and go to the partitions in turn.
    rate : float, optional
        Rows a second; by default as fast as the brokers accept them.
    progress : callable, optional
        Called with the number of rows that the brokers have, every few seconds and at the end.

    Raises
    ------
    ValueError
        When there is no column `key`, or a value is of a type that JSON has not; nothing is sent then.
    ConnectionError
        When a record could not be delivered.
    """
    if key is not None and key not in table.column_names:
        raise ValueError(
            f"there is no column {key} for --partition-by; right is one of {', '.join(table.column_names)}"
        )
    if rate is not None and not 0 < rate < float("inf"):
        raise ValueError(f"rate is {rate}; right is a number of rows a second greater than 0")
    begin_s = told_s = clock()
    for row, (value, name) in enumerate(zip(json_rows(table), _keys(table, key), strict=False)):
        while rate is not None and (left_s := begin_s + row / rate - clock()) > 0:
            writer.wait(left_s)
        writer.send(value, name, None if key is not None else row % partitions)
        if progress is not None and clock() - told_s >= _PROGRESS_S:
            progress(writer.acknowledged)
            told_s = clock()
    writer.flush()
    if progress is not None:
        progress(writer.acknowledged)


def _keys(table: pa.Table, key: str | None) -> Iterator[bytes | None]:
    """Yield the key of each row, the text of its value; None for null."""
    if key is None:
        return repeat(None)
    values = chain.from_iterable(batch.column(0).to_pylist() for batch in table.select([key]).to_batches(_AT_ONCE))
    return (None if value is None else str(value).encode() for value in values)
