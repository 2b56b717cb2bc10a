"""A real Kafka broker in KRaft mode on loopback, from Maven's artifacts by the Ivy that PySpark has."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition, admin
from cryptography.x509 import DNSName
from filelock import FileLock

from processes import until
from tailrace.bench.maven import Artifact, fetch, java
from tls import ELSEWHERE, Authority, loopback_names

_VERSION = "4.2.0"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{secured}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{secured}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,LOGIN:SASL_SSL,MUTUAL:SSL,MISNAMED:SSL
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
log.dirs={directory}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
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


class Broker:
    """A broker with its data in a directory; it can be stopped and started again.

    Attributes
    ----------
    servers : str
        Its address without TLS.
    secured : dict
        Its addresses with TLS, by the names in `SECURED`.
    authority : Authority
        The certificate authority of its certificates.
    """

    def __init__(self, directory: Path, jars: str) -> None:
        self.directory, self.jars = directory, jars
        self.port, controller = free_port(), free_port()
        self.servers = f"127.0.0.1:{self.port}"
        self.properties = directory / "server.properties"
        self.secured = {name: f"127.0.0.1:{free_port()}" for name in SECURED}
        secured = "".join(f",{name}://{address}" for name, address in self.secured.items())
        self.authority = Authority.make("authority")
        (directory / "authority.pem").write_text(self.authority.pem)
        self.authority.issue_file(directory / "broker.pem", *loopback_names())
        self.authority.issue_file(directory / "misnamed.pem", DNSName(ELSEWHERE))
        values = {"port": self.port, "controller": controller, "directory": directory, "secured": secured}
        values |= {"tls": directory, "user": USER, "password": PASSWORD}
        self.properties.write_text(_PROPERTIES.format(**values))
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        format_ = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self.properties), "--standalone"]
        subprocess.run([java(), "-cp", jars, *format_], check=True, capture_output=True)
        self.start()

    def start(self) -> None:
        command = [java(), "-Xmx400m", "-cp", self.jars, "kafka.Kafka", str(self.properties)]
        with (self.directory / "broker.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.admin = admin.AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        until(self._answers, 300)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _answers(self) -> bool:
        try:
            self.admin.list_topics(timeout=1)
        except KafkaException:
            return False
        return True

    def make_topic(self, partitions: int, **config: str) -> str:
        """Make a topic whose records have the broker's append time; returns its name."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.remake_topic(name, partitions, **config)
        return name

    def remake_topic(self, name: str, partitions: int, **config: str) -> None:
        settings = {"message.timestamp.type": "LogAppendTime"} | {k.replace("_", "."): v for k, v in config.items()}
        self.admin.create_topics([admin.NewTopic(name, partitions, 1, config=settings)])[name].result()
        until(lambda: name in self.admin.list_topics(timeout=5).topics)

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result()
        until(lambda: name not in self.admin.list_topics(timeout=5).topics)

    def send(self, topic: str, partition: int, *values: Mapping[str, Any] | bytes | None) -> None:
        """Send records, and wait until the broker has them."""
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        for value in values:
            text = json.dumps(value).encode() if isinstance(value, Mapping) else value
            producer.produce(topic, text, partition=partition)
        assert producer.flush(30) == 0

    def records(self, topic: str) -> list[tuple[int, Any, Any]]:
        """Partition, key and value of all records of a topic; keys and values are read as JSON, or else as text."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "test", "log_level": 0})
        found = list[tuple[int, Any, Any]]()
        try:
            for part in self.admin.list_topics(timeout=5).topics[topic].partitions:
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, part), 5)
                consumer.assign([TopicPartition(topic, part, low)])
                messages = consumer.consume(high - low, 30) if high > low else []
                assert len(messages) == high - low
                found += [(part, _read(message.key()), _read(message.value())) for message in messages]
        finally:
            consumer.close()
        return found


def _read(text: bytes | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text.decode()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def kafka_jars() -> Path:
    """The directory of Kafka's jars, which are fetched the first time."""
    jars = Path.home() / ".cache" / "tailrace" / f"kafka-{_VERSION}"
    jars.mkdir(parents=True, exist_ok=True)
    with FileLock(jars / ".lock"):  # tests run in several processes
        if not (jars / "complete").exists():
            fetch(Artifact("org.apache.kafka", "kafka_2.13", _VERSION), jars)
            (jars / "complete").touch()
    return jars


@contextmanager
def running_broker(directory: Path) -> Iterator[Broker]:
    """A broker that is ended with its process group."""
    broker = Broker(directory, f"{kafka_jars()}/*")
    try:
        yield broker
    finally:
        broker.stop()
