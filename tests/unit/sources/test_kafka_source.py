"""A topic as a source: what it says of itself. Its feed and its records are in tests/kafka."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from kit.parts.source_mappings import source_mapping
from tailrace.query.sections import Source
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import DeclaredSource
from tailrace.sources.kafka.kafka_records import KafkaRecords
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import APPEND_TIME, ID, KafkaTopic
from tailrace.sources.segments import Segment


def topic(**fields: str) -> DeclaredSource:
    return TypeAdapter(Source).validate_python({"format": "kafka", "topic": "readings"} | fields)


SOURCE = topic(servers="a:1,b:2")


def columns(arrival_time: str) -> SourceMapping:
    return source_mapping("at", arrival_time, ID, None, carried={"left_more": "more"})


def test_a_topic_has_a_place_and_no_path() -> None:
    assert SOURCE.uri() == "kafka://a:1,b:2/readings"
    assert SOURCE.local_path is None
    assert SOURCE.at(Path("/data")) is None


@pytest.mark.parametrize("servers", ["a:1,b:2", "b:2,a:1", "B:2,A:1", "a:1,b:2,a:1"])
def test_a_topic_has_one_place_and_one_dataset_however_its_servers_are_written(servers) -> None:
    assert topic(servers=servers).uri() == SOURCE.uri()
    assert topic(servers=servers).dataset({}.get) == topic(connection="prod").dataset({"prod": servers}.get)
    assert SOURCE.reads(KafkaTopic(servers=servers.upper(), topic="readings"))


@pytest.mark.parametrize(
    ("fields", "brokers", "namespace"),
    [
        ({"servers": "b:2,a:1"}, None, "kafka://a:1"),
        ({"connection": "prod"}, "d:4, C:3", "kafka://c:3"),
        ({"connection": "prod"}, "c,C:9092", "kafka://c:9092"),
        ({"connection": "prod"}, "[::1],[::2]:4", "kafka://[::1]:9092"),
        ({"connection": "prod"}, None, "kafka://prod"),
        ({"connection": "prod"}, " , ", "kafka://prod"),
    ],
)
def test_its_dataset_is_named_by_the_first_broker_that_is_known(fields, brokers, namespace) -> None:
    assert topic(**fields).dataset({"prod": brokers}.get) == (namespace, "readings")


def test_it_reads_itself_and_no_other_topic() -> None:
    assert SOURCE.reads(KafkaTopic(servers="b:2", topic="readings"))
    assert not SOURCE.reads(KafkaTopic(servers="b:2", topic="answers"))


@pytest.mark.parametrize(("arrival_time", "by_append_time"), [(APPEND_TIME, True), ("came", False)])
def test_its_records_bring_ids_and_times_and_are_no_history(arrival_time: str, by_append_time: bool) -> None:
    assert SOURCE.own_columns == {"arrival_time": APPEND_TIME, "id": ID}
    read = columns(arrival_time)
    assert SOURCE.reader(read) == KafkaRecords(Servers("a:1,b:2"), by_append_time, frozenset({"more"}))
    assert not SOURCE.is_history(read)
    assert SOURCE.has(Segment("kafka:readings?0=0-5", 0, 5)), "the broker is asked when it is read"
