"""A consumer of the demonstration's topic of answers, and the comparison of its answers with the truth.

It reads records as another program would, by what docs/answers-kafka.md says of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from demo.truth import share_right, truth
from tailrace.query.query import Query
from tailrace.sources.kafka.kafka_topic import KafkaTopic

_ANSWER_S = 30.0
_VERSION = ("generation", "as_of")
_TIMES = ("window_start", "window_end")
_COLUMNS = pa.schema(
    {"key": pa.string(), **dict.fromkeys(_TIMES, pa.int64()), "value": pa.float64(), "tuples": pa.int64()}
)


class TopicRecord(NamedTuple):
    """A record of the topic of answers: its key and value, and the version that its headers have."""

    key: bytes | None
    value: bytes | None
    version: tuple[int, int]


def read_records(topic: KafkaTopic) -> list[TopicRecord]:
    """Read all that a topic of answers holds now, in the order of its partitions."""
    records: list[TopicRecord] = []
    consumer = Consumer({"bootstrap.servers": topic.servers, "group.id": "demonstration", "enable.auto.commit": False})
    try:
        for number in consumer.list_topics(topic.topic, _ANSWER_S).topics[topic.topic].partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic.topic, number), _ANSWER_S)
            consumer.assign([TopicPartition(topic.topic, number, low)])
            messages = consumer.consume(high - low, _ANSWER_S) if high > low else []
            if len(messages) != high - low or any(message.error() for message in messages):
                raise ConnectionError(f"topic {topic.topic}: {len(messages)} of {high - low} records were read")
            for message in messages:
                headers = dict(message.headers() or [])
                generation, as_of = (int(headers[name] or b"") for name in _VERSION)
                records.append(TopicRecord(message.key(), message.value(), (generation, as_of)))
    finally:
        consumer.close()
    return records


def newest(records: Iterable[TopicRecord]) -> dict[bytes | None, Mapping[str, Any]]:
    """Keep of each key the record with the greatest version, of equal ones the later; a tombstone leaves no answer."""
    kept: dict[bytes | None, TopicRecord] = {}
    for record in records:
        if record.key not in kept or record.version >= kept[record.key].version:
            kept[record.key] = record
    return {key: json.loads(record.value) for key, record in kept.items() if record.value is not None}


def as_table(answers: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return answers as a consumer of their topic has them, as a table."""
    rows = [{**answer, **{name: _ms(answer[name]) for name in _TIMES}} for answer in answers]
    return pa.Table.from_pylist([{name: row[name] for name in _COLUMNS.names} for row in rows], _COLUMNS)


def _ms(time: str) -> int:
    """Return a time of a record in epoch milliseconds."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def check_topic(query: Query, sent: Path) -> tuple[str, bool]:
    """Compare the newest versions in the topic of a query's answers with the truth; return it in words, and if all are.

    Parameters
    ----------
    sent : Path
        The files with what was sent to the topic that the query reads.
    """
    assert query.answers.kafka is not None
    topic, true = query.answers.kafka, truth(query, sent)
    records = read_records(topic)
    answers = as_table(newest(records).values())
    share = share_right(answers, true)
    is_right = share == 1 and answers.num_rows == len(true)
    right = "all of them right" if is_right else f"{share:.2%} of {len(true):,} windows right"
    counts = f"{len(records):,} records, the newest versions are {answers.num_rows:,} answers"
    return f"topic {topic.topic}: {counts}, {right}", is_right
