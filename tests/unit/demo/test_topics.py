"""What the demonstration sends to its topic, and how it reads the topic of answers, against clients in memory."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from demo import topic_answers, topics
from demo.generated_data import METERS, READINGS
from demo.topic_answers import TopicRecord, read_records
from demo.topics import Sending
from generators.replay import write
from tailrace.query.loading import load
from tailrace.sources.kafka.kafka_topic import KafkaTopic


class Writer:
    """A topic in memory; it takes so many records, and then fails."""

    most = 1000

    def __init__(self, servers: object, topic: str) -> None:
        self.topic, self.sent, self.acknowledged = topic, list[tuple[dict, int]](), 0

    def send(self, value: bytes, key: bytes | None = None, partition: int | None = None) -> None:
        if len(self.sent) == self.most:
            raise ConnectionError("the broker is gone")
        self.sent.append((json.loads(value), partition))

    def wait(self, seconds: float) -> None:
        """Return at once: the test waits for nothing."""

    def flush(self) -> None:
        """Do nothing: what is sent is there."""


@pytest.fixture
def sending(tmp_path, monkeypatch):
    """The sending of 200 readings, at once and in this thread."""
    monkeypatch.setattr(topics, "TopicWriter", Writer)
    monkeypatch.setattr(topics, "RATE", 1e9)
    monkeypatch.setattr(
        topics.threading, "Thread", lambda target, name, daemon: SimpleNamespace(start=target, daemon=daemon)
    )
    table = READINGS[METERS]._replace(rows=200).tables(["readings"])[0]
    write(table, tmp_path / "readings", 2)
    return Sending(tmp_path / "readings", load(METERS).stream[1].source)


def test_all_readings_are_sent_in_order_of_arrival_without_a_time_of_arrival(sending, tmp_path):
    sending.begin()
    sending.require_success()
    records = [record for record, _ in sending._writer.sent]
    assert len(records) == sending.rows == 200
    assert [record["id"] for record in records] == pq.read_table(tmp_path / "readings")["id"].to_pylist()
    assert {name for record in records for name in record} == {"id", "event_time", "district", "energy"}
    assert [partition for _, partition in sending._writer.sent[:4]] == [0, 1, 0, 1]
    assert sending._writer.topic == "meters"


def test_readings_that_the_broker_does_not_take_are_an_error(sending, monkeypatch):
    monkeypatch.setattr(Writer, "most", 3)
    sending.begin()
    with pytest.raises(ConnectionError, match="the readings could not be sent: the broker is gone"):
        sending.require_success()


def consumer_of(partitions: list[list[TopicRecord]], lost: int = 0):
    """A consumer in memory; it does not get so many records of each partition."""

    class Consumer:
        def __init__(self, settings: dict) -> None:
            assert settings["bootstrap.servers"] == "127.0.0.1:4711"
            self.closed = False

        def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
            return SimpleNamespace(topics={topic: SimpleNamespace(partitions=dict(enumerate(partitions)))})

        def get_watermark_offsets(self, part, timeout: float) -> tuple[int, int]:
            return 5, 5 + len(partitions[part.partition])

        def assign(self, parts: list) -> None:
            [self.part] = parts
            assert self.part.offset == 5

        def consume(self, count: int, timeout: float) -> list[SimpleNamespace]:
            return [_message(record) for record in partitions[self.part.partition][: count - lost]]

        def close(self) -> None:
            """Do nothing."""

    return Consumer


def _message(record: TopicRecord) -> SimpleNamespace:
    numbers = dict(zip(("generation", "as_of"), record.version, strict=True))
    headers = [("query", b"meters"), *((name, b"%d" % number) for name, number in numbers.items())]
    return SimpleNamespace(
        error=lambda: None, key=lambda: record.key, value=lambda: record.value, headers=lambda: headers
    )


def test_all_records_of_all_partitions_are_read(monkeypatch):
    records = [
        [TopicRecord(b"a", b"1", (1, 2)), TopicRecord(b"b", None, (2, 0))],
        [],
        [TopicRecord(b"c", b"3", (1, 5))],
    ]
    topic = KafkaTopic(servers="127.0.0.1:4711", topic="meter_answers")
    monkeypatch.setattr(topic_answers, "Consumer", consumer_of(records))
    assert read_records(topic) == [*records[0], *records[2]]
    monkeypatch.setattr(topic_answers, "Consumer", consumer_of(records, lost=1))
    with pytest.raises(ConnectionError, match="topic meter_answers: 1 of 2 records were read"):
        read_records(topic)
