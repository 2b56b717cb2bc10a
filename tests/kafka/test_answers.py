"""Answers on a real broker: keys stay in a partition, and a broker that is away is an error that passes."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kit.fakes.fake_topic import FakeTopic
from kit.runs.answers_page import write_example
from kit.runs.topic_records import Record
from tailrace.delivery.answer_topic import AnswerTopic
from tailrace.ground.arrow.times import TIME
from tailrace.sources.kafka import kafka_producer
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.stream.failures import Failure

KEYS = ("left_id", "right_id")
ROWS = pa.table(
    {
        "left_id": [f"l{n % 5}" for n in range(100)],
        "right_id": [n % 2 for n in range(100)],
        "n": range(100),
        "as_of": pa.array(range(100), TIME),
    }
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
    assert Failure.classify(away.value).kind == "transient"
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


def test_a_consumer_that_compares_headers_shows_what_readers_get(broker, tmp_path, tailrace):
    """The example of docs/answers-kafka.md, with corrections, on a topic with partitions."""
    topic = broker.make_topic(3)
    file, warehouse = write_example(tmp_path, broker.servers, topic), ["--warehouse", tmp_path / "wh"]
    tailrace("run", file, *warehouse, "--bounded", "--engine", "local")
    streamed = len(broker.records(topic))
    tailrace("correct", file, *warehouse, "--engine", "local")
    shown = FakeTopic()
    for _, key, value, headers in broker.messages(topic):
        shown.records.append(Record(key, value, (int(headers["generation"]), int(headers["as_of"]))))
    assert len(shown.records) > streamed > 0
    shown.require_no_older_version()
    lines = tailrace("results", file, *warehouse, "--format", "jsonl").stdout.splitlines()
    expected = {(row["key"], row["window_end"]): row["value"] for row in map(json.loads, lines)}
    assert {(row["key"], row["window_end"]): row["value"] for row in shown.shown()} == expected
