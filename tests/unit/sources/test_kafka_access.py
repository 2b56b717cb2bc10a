"""Errors of access to Kafka: kept while the client is not let in, and told with the connection."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import KafkaError, KafkaException

from tailrace.ground.errors import Refused
from tailrace.sources.kafka.kafka_access import AccessErrors
from tailrace.sources.kafka.kafka_client import Topic
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_records import KafkaRecords
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.segments import Segment

UNVERIFIED = KafkaError(KafkaError._SSL, "certificate verify failed (after 17ms in state SSL_HANDSHAKE)")
REFUSED = KafkaError(KafkaError._AUTHENTICATION, "Invalid username or password")
AWAY = KafkaError(KafkaError._TRANSPORT, "Connection refused")
DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
WRONG = "hunter2"


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def access(clock):
    return AccessErrors(Servers("broker:9093", "main"), clock)


def test_the_reason_of_a_request_that_timed_out_is_the_newest_error_of_access(access):
    for error in (UNVERIFIED, REFUSED, AWAY, DOWN):
        access.take(error)
    with pytest.raises(ConnectionError) as failed, access.as_network_errors():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    assert str(failed.value).startswith("connection main: Kafka at broker:9093: Invalid username or password; right ")


def test_a_reason_says_nothing_that_differs_each_time(access):
    access.take(UNVERIFIED)
    assert "certificate verify failed; right would be: ssl.ca.location" in str(access.error(""))


def test_a_broker_that_is_away_is_no_error_of_access(access, clock):
    access.take(AWAY)
    access.take(DOWN)
    clock.now_s += 60
    assert not access.is_persistent
    assert str(access.error("timed out")) == "Kafka at broker:9093: timed out"


def test_errors_count_once_they_have_lasted_and_not_after_the_client_was_let_in(access, clock):
    access.take(UNVERIFIED)
    assert not access.is_persistent, "another broker may let it in"
    clock.now_s += 2
    access.take(REFUSED)
    clock.now_s += 2
    assert access.is_persistent, "since the first of them"
    access.clear()
    assert not access.is_persistent
    access.take(REFUSED)
    assert not access.is_persistent
    assert "broker:9093: Invalid" in str(AccessErrors(Servers("broker:9093")).error("Invalid"))


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"ssl.ca.pem": WRONG}, "ssl.ca.pem: not in PEM format"),
        ({"ssl.ca.location": "nowhere.pem"}, "ssl.ca.location failed"),
        ({"security.protocol": "TLS"}, "security.protocol"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.username and sasl.password must be set"),
    ],
)
def test_settings_that_the_client_does_not_take_are_refused(monkeypatch, settings, wrong):
    extra = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL"} | settings
    monkeypatch.setenv("AIRFLOW_CONN_MAIN", json.dumps({"extra": extra}))
    servers = Servers("127.0.0.1:1", "main")
    cut = Segment("kafka:topic?0=0-5", 0, 5, of_rows=5)
    attempts = [
        Topic(servers, "topic").description,
        lambda: TopicWriter(servers, "topic"),
        lambda: KafkaRecords(servers, True).fetch(cut),
    ]
    for attempt in attempts:
        with pytest.raises(Refused, match=r"^connection main: ") as refused:
            attempt()
        assert wrong in str(refused.value)
        assert WRONG not in str(refused.value)
