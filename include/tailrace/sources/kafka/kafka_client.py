"""Requests to Kafka's brokers about a topic, and consumers of its records.

The client is librdkafka, in the package confluent-kafka. Spark's connector plans its own batches, which the journal
could not repeat, and passes each record through the JVM.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition, admin

from tailrace.sources.kafka.kafka_access import AccessErrors, new_client
from tailrace.sources.kafka.kafka_servers import Servers

TIMEOUT_S, _POLL_S = 15.0, 0.1
_CLIENT: Any = admin  # its types don't export these classes
_SPEC = _CLIENT.OffsetSpec
_CONFIG_TOPIC = _CLIENT.ConfigResource.Type.TOPIC  # type of a resource that has a configuration


class Topic:
    """A topic in the cluster, by requests to its brokers."""

    def __init__(self, servers: Servers, name: str) -> None:
        self.servers, self.name = servers, name
        self._access = AccessErrors(servers)

    @cached_property
    def _admin(self) -> admin.AdminClient:
        return new_client(admin.AdminClient, self._access)

    def _result(self, future: Future[Any]) -> Any:
        """Return the result of a request; fail before its timeout if access is refused."""
        while True:
            try:
                result = future.result(_POLL_S)
            except TimeoutError:
                self._admin.poll(0)  # receives the errors that the client reports
                if self._access.is_persistent:
                    raise self._access.error("no access") from None
            except KafkaException:
                self._admin.poll(0)
                raise
            else:
                self._access.clear()
                return result

    def description(self) -> tuple[str, list[int]] | None:
        """Return its id and the numbers of its partitions; None if the topic does not exist."""
        with self._access.as_network_errors():
            future = self._admin.describe_topics(TopicCollection([self.name]), request_timeout=TIMEOUT_S)[self.name]
            try:
                topic = self._result(future)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    return None
                raise
            return str(topic.topic_id), sorted(partition.id for partition in topic.partitions)

    def configuration(self) -> dict[str, str]:
        """Return its configuration, including defaults."""
        resource = _CLIENT.ConfigResource(_CONFIG_TOPIC, self.name)
        with self._access.as_network_errors():
            future = self._admin.describe_configs([resource], request_timeout=TIMEOUT_S)[resource]
            return {name: entry.value for name, entry in self._result(future).items()}

    def first(self, partitions: list[int]) -> dict[int, int]:
        """Return the offset of the first existing record, by partition."""
        return {part: info[0] for part, info in self._offsets(partitions, _SPEC.earliest()).items()}

    def ends(self, partitions: list[int]) -> dict[int, int]:
        """Return the offset after the last readable record (ended transactions only), by partition."""
        return {part: info[0] for part, info in self._offsets(partitions, _SPEC.latest()).items()}

    def newest_ms(self, partitions: list[int]) -> dict[int, int]:
        """Return the largest timestamp, by partition; -1 without a record."""
        return {part: info[1] for part, info in self._offsets(partitions, _SPEC.max_timestamp()).items()}

    def offsets_at(self, partitions: list[int], time_ms: int) -> dict[int, int]:
        """Return the offset of the first record with a timestamp at or after a time, by partition; -1 without one."""
        return {part: info[0] for part, info in self._offsets(partitions, _SPEC.for_timestamp(time_ms)).items()}

    def _offsets(self, partitions: list[int], spec: Any) -> dict[int, tuple[int, int]]:
        if not partitions:
            return {}
        asked = {TopicPartition(self.name, part): spec for part in partitions}
        with self._access.as_network_errors():
            futures = self._admin.list_offsets(
                asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_S
            )
            results = {partition.partition: self._result(future) for partition, future in futures.items()}
        return {part: (info.offset, info.timestamp) for part, info in results.items()}


def new_consumer(access: AccessErrors) -> Consumer:
    """Create a consumer that reads assigned partitions and commits no offsets, as these are in the journal."""
    return new_client(
        Consumer,
        access,
        {
            "group.id": "tailrace",  # required by the client; nothing joins or commits to it
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "check.crcs": True,
        },
    )
