"""Connections to Kafka: the settings of its client, and its errors as those of a network.

The client is librdkafka, by the package confluent-kafka. Spark's connector plans its own batches, which the journal
could not repeat, and brings each record through the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition, admin

from tailrace.ground.connections import read_connection
from tailrace.ground.errors import refuse

_TIMEOUT_S = 15.0
_CLIENT: Any = admin  # it exports these classes, but not in its types
_SPEC = _CLIENT.OffsetSpec
_CONFIG_TOPIC = _CLIENT.ConfigResource.Type.TOPIC  # type of a resource that has a configuration

SETTINGS = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "sasl.kerberos.service.name",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)
"""The settings of the client that a connection may have; those of the delivery of records are ours."""


@dataclass(frozen=True)
class Servers:
    """A Kafka cluster, as a query names it.

    Attributes
    ----------
    bootstrap : str
        Its bootstrap servers: host:port, with commas between them.
    connection : str or None
        The connection with its secrets: the environment variable AIRFLOW_CONN_NAME of each process that reads.
    """

    bootstrap: str
    connection: str | None = None

    def settings(self) -> dict[str, Any]:
        """The settings of a client, secrets included: never to be printed or stored."""
        return {"bootstrap.servers": self.bootstrap, "log_level": 0} | _settings_of(self.connection)


def _settings_of(connection: str | None) -> dict[str, str]:
    """The client settings of a connection in Airflow's JSON: its `extra`; its login and password are for SASL."""
    if connection is None:
        return {}
    read = read_connection(connection, '{"security.protocol": "SASL_SSL", …}')
    settings = {name: value for name, value in read.extra.items() if name != "bootstrap.servers"}
    login = {"sasl.username": read.login, "sasl.password": read.password}
    if unknown := sorted(settings.keys() - set(SETTINGS)):
        where = f"connection {connection}"
        raise refuse(where, f"it has settings that no connection may have: {', '.join(unknown)}", ", ".join(SETTINGS))
    return settings | {name: value for name, value in login.items() if value}


@contextmanager
def network_errors(servers: Servers) -> Iterator[None]:
    """Raise the errors of the client as a `ConnectionError`, which a live run tries again."""
    try:
        yield
    except KafkaException as error:
        reason = error.args[0] if error.args else error
        text = reason.str() if isinstance(reason, KafkaError) else str(reason)
        raise ConnectionError(f"Kafka at {servers.bootstrap}: {text}") from None


class Topic:
    """A topic as it stands in the cluster, by requests to its brokers."""

    def __init__(self, servers: Servers, name: str) -> None:
        self.servers, self.name = servers, name

    @cached_property
    def _admin(self) -> admin.AdminClient:
        return admin.AdminClient(self.servers.settings())

    def description(self) -> tuple[str, list[int]] | None:
        """Its id, and the numbers of its partitions; None where there is no such topic."""
        with network_errors(self.servers):
            future = self._admin.describe_topics(TopicCollection([self.name]), request_timeout=_TIMEOUT_S)[self.name]
            try:
                topic = future.result()
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    return None
                raise
            return str(topic.topic_id), sorted(partition.id for partition in topic.partitions)

    def configuration(self) -> dict[str, str]:
        """Its configuration, defaults included."""
        resource = _CLIENT.ConfigResource(_CONFIG_TOPIC, self.name)
        with network_errors(self.servers):
            future = self._admin.describe_configs([resource], request_timeout=_TIMEOUT_S)[resource]
            return {name: entry.value for name, entry in future.result().items()}

    def first(self, partitions: list[int]) -> dict[int, int]:
        """The offset of the first record that is still there, by partition."""
        return {part: info[0] for part, info in self._offsets(partitions, _SPEC.earliest()).items()}

    def ends(self, partitions: list[int]) -> dict[int, int]:
        """The offset after the last record that may be read (of transactions: those that are over), by partition."""
        return {part: info[0] for part, info in self._offsets(partitions, _SPEC.latest()).items()}

    def newest_ms(self, partitions: list[int]) -> dict[int, int]:
        """The largest timestamp, by partition; -1 where there is no record."""
        return {part: info[1] for part, info in self._offsets(partitions, _SPEC.max_timestamp()).items()}

    def offsets_at(self, partitions: list[int], time_ms: int) -> dict[int, int]:
        """The offset of the first record with a timestamp at or after a time, by partition; -1 where there is none."""
        return {part: info[0] for part, info in self._offsets(partitions, _SPEC.for_timestamp(time_ms)).items()}

    def _offsets(self, partitions: list[int], spec: Any) -> dict[int, tuple[int, int]]:
        if not partitions:
            return {}
        asked = {TopicPartition(self.name, part): spec for part in partitions}
        with network_errors(self.servers):
            futures = self._admin.list_offsets(
                asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_TIMEOUT_S
            )
            results = {partition.partition: future.result() for partition, future in futures.items()}
        return {part: (info.offset, info.timestamp) for part, info in results.items()}


def new_consumer(servers: Servers) -> Consumer:
    """A consumer that reads assigned partitions, and commits no offsets: the journal has them."""
    return Consumer(
        servers.settings()
        | {
            "group.id": "tailrace",  # required by the client; nothing joins or commits to it
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "check.crcs": True,
        }
    )
