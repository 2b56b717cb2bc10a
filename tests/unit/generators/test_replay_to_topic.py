"""Replays to a topic keep their rate and order, and end with acknowledged records or an error."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from generators.replay_to_topic import send
from kit.fakes.fake_producer import FakeProducer
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_servers import Servers

TABLE = pa.table({"n": list(range(40)), "k": [None, "a", "b", "a"] * 10})


def writer_of(producer: FakeProducer) -> TopicWriter:
    return TopicWriter(Servers("broker:9092"), "readings", lambda servers: producer)


def test_records_leave_at_the_rate():
    producer = FakeProducer()
    send(TABLE, writer_of(producer), 3, None, rate=4, clock=lambda: producer.now_s)
    assert [json.loads(value)["n"] for value, _, _ in producer.sent] == list(range(40))
    assert producer.times_s == pytest.approx([row / 4 for row in range(40)])
    assert [partition for _, _, partition in producer.sent[:4]] == [0, 1, 2, 0]


def test_progress_counts_what_the_brokers_have():
    producer, told = FakeProducer(), list[int]()
    send(TABLE, writer_of(producer), 3, "k", 4, told.append, lambda: producer.now_s)
    assert told == [20, 40]
    assert {key for _, key, _ in producer.sent} == {None, b"a", b"b"}


def test_a_full_queue_waits():
    producer = FakeProducer(most_waiting=3)
    writer = writer_of(producer)
    send(TABLE, writer, 3)
    assert writer.acknowledged == 40


def test_a_record_that_cannot_be_delivered_ends_the_replay():
    producer = FakeProducer(fails_at=10)
    writer = writer_of(producer)
    with pytest.raises(ConnectionError, match="Kafka at broker:9092: topic readings: Local: Message timed out"):
        send(TABLE, writer, 3)
    assert writer.acknowledged == 10
    assert producer.purged
