"""The brokers of a topic are its connection's: no query file has a connection's password sent elsewhere."""

from __future__ import annotations

import json

import pytest

from kit.fakes.impostor import Impostor
from tailrace.ground.errors import Refused
from tailrace.sources.kafka.kafka_client import Topic
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_records import KafkaRecords
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.sources.segments import Segment

SECRET = "hunter2-of-production"
LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}


@pytest.fixture
def declare(monkeypatch):
    """Declares the connection `prod_kafka`, with extra and fields beside its login."""

    def declare(extra: dict[str, str], **fields) -> None:
        connection = {"conn_type": "kafka", "login": "me", "password": SECRET, "extra": LOGIN | extra, **fields}
        monkeypatch.setenv("AIRFLOW_CONN_PROD_KAFKA", json.dumps(connection))

    return declare


@pytest.fixture
def impostor():
    with Impostor() as impostor:
        yield impostor


@pytest.mark.needs("long")
def test_a_password_goes_to_the_brokers_of_its_connection(declare, impostor):
    """What the other tests rest on: the impostor does get a password that is sent to it."""
    declare({"bootstrap.servers": impostor.address})
    with pytest.raises(ConnectionError):
        Topic(Servers(None, "prod_kafka"), "readings").description()
    assert SECRET.encode() in impostor.received


@pytest.mark.parametrize("own", [{"bootstrap.servers": "127.0.0.1:1"}, {}])
@pytest.mark.parametrize("among", ["{}", "127.0.0.1:1,{}"])
def test_no_client_sends_a_password_to_servers_of_the_query_file(declare, impostor, own, among):
    declare(own)
    servers = Servers(among.format(impostor.address), "prod_kafka")

    def write():
        writer = TopicWriter(servers, "answers")
        writer.send(b"{}")
        writer.flush()

    attempts = {
        "its brokers": Topic(servers, "readings").description,
        "its records": lambda: KafkaRecords(servers, True).fetch(Segment("kafka:t?0=0-5", 0, 5, of_rows=5)),
        "answers": write,
    }
    for attempt in attempts.values():
        with pytest.raises(Refused, match=r"^connection prod_kafka: ") as refused:
            attempt()
        assert SECRET not in str(refused.value)
    assert not impostor.is_asked.is_set()


def test_servers_beside_a_connection_choose_among_its_brokers(declare):
    declare({"bootstrap.servers": "One:9092, two:9092"})
    assert Servers("two:9092", "prod_kafka").settings()["bootstrap.servers"] == "two:9092"
    assert Servers("one:9092", "prod_kafka").settings()["bootstrap.servers"] == "one:9092"
    assert Servers(None, "prod_kafka").settings()["bootstrap.servers"] == "One:9092, two:9092"
    with pytest.raises(Refused, match="two:9093 is none of its brokers"):
        Servers("two:9093", "prod_kafka").settings()


def test_the_brokers_of_a_connection_may_be_its_host_and_port(declare):
    declare({}, host="broker", port=9092)
    assert Servers(None, "prod_kafka").settings()["bootstrap.servers"] == "broker:9092"


def test_a_connection_without_brokers_is_refused_with_what_it_lacks(declare):
    declare({}, host="broker")
    with pytest.raises(Refused, match=r"it has no brokers") as refused:
        Servers("broker:9092", "prod_kafka").settings()
    assert '"bootstrap.servers": "broker:9092"' in str(refused.value)


def test_without_a_connection_the_servers_are_the_query_files():
    assert Servers("a:1", None).settings() == {"bootstrap.servers": "a:1", "log_level": 0}


@pytest.mark.parametrize(
    ("target", "is_same"),
    [
        ({"servers": "a:1"}, True),
        ({"servers": "b:1,c:1"}, True),
        ({"servers": "c:1"}, False),
        ({"connection": "main"}, True),
        ({"connection": "other"}, False),
        ({"connection": "other", "servers": "a:1"}, True),
    ],
)
def test_a_topic_is_the_same_by_its_connection_or_one_of_its_servers(target, is_same):
    source = KafkaTopic(servers="a:1,b:1", topic="readings", connection="main")
    assert source.is_same_topic(KafkaTopic(topic="readings", **target)) is is_same
    assert not source.is_same_topic(KafkaTopic(topic="answers", **target))
