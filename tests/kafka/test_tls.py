"""TLS and passwords on a real broker: a connection of a query reads and writes by them; a wrong one is told as such."""

from __future__ import annotations

import json
import re

import pytest

from kafka.test_source import answers, query_on, readings, topic_query
from kit.parts.kafka_broker import PASSWORD, USER
from kit.parts.tls import Authority
from kit.runs.local_driver import Driver
from tailrace.query.answers_section import AnswersSection
from tailrace.sources.kafka.kafka_client import Topic
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_records import KafkaRecords
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.sources.segments import Segment
from tailrace.stream.failures import Failure

AUTHORITY = r"right would be: ssl.ca.location or ssl.ca.pem .*, and brokers by a name"
LOGIN = "right would be: the login and password"
LISTENER = "right would be: the security.protocol of the listener .* ssl.certificate.pem"
WRONG = "hunter2"


def declare(
    monkeypatch, name: str, brokers: str, authority: str | None, login: tuple[str, str] | None = None, **settings: str
):
    """Declare a connection with TLS; settings have `_` for `.`."""
    extra = {"bootstrap.servers": brokers, "security.protocol": "SSL" if login is None else "SASL_SSL"}
    extra |= {} if authority is None else {"ssl.ca.pem": authority}
    extra |= {} if login is None else {"sasl.mechanism": "PLAIN"}
    extra |= {key.replace("_", "."): value for key, value in settings.items()}
    user, password = login or (None, None)
    connection = {"conn_type": "kafka", "login": user, "password": password, "extra": extra}
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(connection))


@pytest.mark.parametrize("listener", ["SSL", "LOGIN", "MUTUAL"])
def test_a_query_reads_and_answers_by_tls(broker, tmp_path, monkeypatch, listener):
    key, certificate = broker.authority.issue("client")
    own = {"ssl_key_pem": key, "ssl_certificate_pem": certificate} if listener == "MUTUAL" else {}
    login = (USER, PASSWORD) if listener == "LOGIN" else None
    declare(monkeypatch, "secured", broker.secured[listener], broker.authority.pem, login, **own)
    topic, target = broker.make_topic(2), broker.make_topic(2)
    broker.send(topic, 0, *readings(100))
    broker.send(topic, 1, *readings(100, seed=2))
    place = {"connection": "secured"}  # which has the brokers
    query = query_on({"format": "kafka", "topic": topic} | place)
    query = query.model_copy(update={"answers": AnswersSection(kafka=KafkaTopic(topic=target, **place))})
    app, plain = Driver(query, tmp_path / "secured"), Driver(topic_query(broker, topic), tmp_path / "plain")
    for each in (app, plain):
        each.run(batch_rows=70, flush=True)
    assert answers(app) == answers(plain) != []
    assert sorted(value["value"] for _, _, value in broker.records(target)) == sorted(row[4] for row in answers(app))


@pytest.mark.parametrize(
    ("listener", "case", "told"),
    [
        ("SSL", "another authority", f"certificate verify failed.*{AUTHORITY}"),
        ("SSL", "no authority", f"certificate verify failed.*{AUTHORITY}"),
        ("MISNAMED", "right", f"certificate verify failed.*{AUTHORITY}"),
        ("LOGIN", "wrong password", f"Invalid username or password.*{LOGIN}"),
        ("LOGIN", "wrong mechanism", f"supported mechanisms: PLAIN.*{LOGIN}"),
        ("MUTUAL", "right", f"(bad certificate|certificate required|SSL connection closed by peer).*{LISTENER}"),
        (None, "right", f"(connecting to a PLAINTEXT broker listener|SSL connection closed by peer).*{LISTENER}"),
    ],
)
def test_access_that_fails_is_told_with_what_would_be_right(broker, monkeypatch, listener, case, told):
    topic = broker.make_topic(1)
    broker.send(topic, 0, *readings(5))
    authority = {"another authority": Authority.make("another").pem, "no authority": None}
    login = (USER, WRONG) if listener == "LOGIN" else None
    own = {"sasl_mechanism": "SCRAM-SHA-256"} if case == "wrong mechanism" else {}
    brokers = broker.servers if listener is None else broker.secured[listener]
    declare(monkeypatch, "secured", brokers, authority.get(case, broker.authority.pem), login, **own)
    servers = Servers(brokers, "secured")

    def write():
        writer = TopicWriter(servers, topic)
        writer.send(b"{}")
        writer.flush()

    read = KafkaRecords(servers, True).fetch
    attempts = [
        Topic(servers, topic).description,
        write,
        lambda: read(Segment(f"kafka:{topic}?0=0-5", 0, 5, of_rows=5)),
    ]
    for attempt in attempts:
        with pytest.raises(ConnectionError) as failed:
            attempt()
        text = str(failed.value)
        assert re.search(f"^connection secured: Kafka at {servers.bootstrap}: .*{told}", text), text
        assert "\n" not in text
        assert WRONG not in text
        assert "BEGIN" not in text
        assert Failure.classify(failed.value).kind == "transient", "a live run tries again"
    assert len(broker.records(topic)) == 5
