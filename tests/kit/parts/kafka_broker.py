"""A real Kafka broker in KRaft mode on loopback, with listeners for TLS."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition, admin
from cryptography.x509 import DNSName

from bench.kafka.broker import LocalBroker
from kit.parts.tls import ELSEWHERE, Authority, loopback_names
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.ports import free_port

_PROPERTIES = """
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,LOGIN:SASL_SSL,MUTUAL:SSL,MISNAMED:SSL
inter.broker.listener.name=PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={tls}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={tls}/authority.pem
listener.name.misnamed.ssl.keystore.type=PEM
listener.name.misnamed.ssl.keystore.location={tls}/misnamed.pem
listener.name.mutual.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    user_{user}="{password}";
"""
USER, PASSWORD = "tailrace", "known-to-the-broker"
SECURED = ("SSL", "LOGIN", "MUTUAL", "MISNAMED")
"""The listeners with TLS: plain; with a password; with a client's certificate; with the certificate of another host."""


class Broker(LocalBroker):
    """A broker with listeners for TLS, and with what tests do to topics.

    Attributes
    ----------
    secured : dict
        Its addresses with TLS, by the names in `SECURED`.
    authority : Authority
        The certificate authority of its certificates.
    """

    def __init__(self, directory: Path) -> None:
        self.secured = {name: f"127.0.0.1:{free_port()}" for name in SECURED}
        self.authority = Authority.make("authority")
        (directory / "authority.pem").write_text(self.authority.pem)
        self.authority.issue_file(directory / "broker.pem", *loopback_names())
        self.authority.issue_file(directory / "misnamed.pem", DNSName(ELSEWHERE))
        listeners = "".join(f",{name}://{address}" for name, address in self.secured.items())
        super().__init__(directory, listeners, _PROPERTIES.format(tls=directory, user=USER, password=PASSWORD))

    def make_topic(self, partitions: int, **config: str) -> str:
        """Make a topic whose records have the broker's append time; returns its name."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.remake_topic(name, partitions, **config)
        return name

    def remake_topic(self, name: str, partitions: int, **config: str) -> None:
        settings = {"message.timestamp.type": "LogAppendTime"} | {k.replace("_", "."): v for k, v in config.items()}
        self.admin.create_topics([admin.NewTopic(name, partitions, 1, config=settings)])[name].result()
        until(lambda: name in self.admin.list_topics(timeout=PATIENCE_S).topics)

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result()
        until(lambda: name not in self.admin.list_topics(timeout=PATIENCE_S).topics)

    def send(self, topic: str, partition: int, *values: Mapping[str, Any] | bytes | None) -> None:
        """Send records, and wait until the broker has them."""
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        for value in values:
            text = json.dumps(value).encode() if isinstance(value, Mapping) else value
            producer.produce(topic, text, partition=partition)
        assert producer.flush(PATIENCE_S) == 0

    def records(self, topic: str) -> list[tuple[int, Any, Any]]:
        """Partition, key and value of all records of a topic; keys and values are read as JSON, or else as text."""
        return [(part, _read(key), value) for part, key, value, _ in self.messages(topic)]

    def messages(self, topic: str) -> list[tuple[int, Any, Any, dict[str, bytes]]]:
        """Partition, key in bytes, value and headers of all records of a topic."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "test", "log_level": 0})
        found = list[tuple[int, Any, Any, dict[str, bytes]]]()
        try:
            for part in self.admin.list_topics(timeout=PATIENCE_S).topics[topic].partitions:
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, part), PATIENCE_S)
                consumer.assign([TopicPartition(topic, part, low)])
                messages = consumer.consume(high - low, PATIENCE_S) if high > low else []
                assert len(messages) == high - low
                found += [
                    (part, message.key(), _read(message.value()), dict(message.headers() or ())) for message in messages
                ]
        finally:
            consumer.close()
        return found


def _read(text: bytes | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text.decode()


@contextmanager
def running_broker(directory: Path) -> Iterator[Broker]:
    """A broker that is ended with its process group."""
    broker = Broker(directory)
    try:
        yield broker
    finally:
        broker.stop()
