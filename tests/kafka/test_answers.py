"""Answers on a real broker: keys stay in a partition, and a broker that is away is an error that passes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.sources import kafka_producer
from tailrace.sources.kafka_servers import Servers
from tailrace.stream.answer_topic import AnswerTopic
from tailrace.stream.failures import Failure

KEYS = ("left_id", "right_id")
ROWS = pa.table(
    {"left_id": [f"l{n % 5}" for n in range(100)], "right_id": [n % 2 for n in range(100)], "n": range(100)}
)


def test_all_rows_are_there_when_sending_returns_and_again_after_a_fault(broker, monkeypatch):
    topic = broker.make_topic(3)
    answers = AnswerTopic(Servers(broker.servers), topic, KEYS)
    answers.send(ROWS)
    records = broker.records(topic)
    assert sorted(value["n"] for _, _, value in records) == list(range(100))
    assert all(key == {name: value[name] for name in KEYS} for _, key, value in records)
    assert len({(str(key), part) for part, key, _ in records}) == 10, "each of ten keys in one partition"
    monkeypatch.setattr(kafka_producer, "DELIVERY_S", 2.0)
    again = AnswerTopic(Servers(broker.servers), topic, KEYS)
    broker.stop()
    try:
        with pytest.raises(ConnectionError, match=f"topic {topic}: .*timed out") as away:
            again.send(ROWS)
    finally:
        broker.start()
    assert Failure.of(away.value).kind == "transient"
    monkeypatch.undo()
    again.send(ROWS)
    assert sorted(value["n"] for _, _, value in broker.records(topic))[-2:] == [99, 99]


def test_a_topic_that_is_deleted_fails_for_now(broker, monkeypatch):
    topic = broker.make_topic(1)
    monkeypatch.setattr(kafka_producer, "DELIVERY_S", 2.0)
    answers = AnswerTopic(Servers(broker.servers), topic, KEYS)
    broker.delete_topic(topic)
    with pytest.raises(ConnectionError, match=f"topic {topic}: "):
        answers.send(ROWS)
