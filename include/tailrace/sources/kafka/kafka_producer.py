"""Writes records to a topic, each acknowledged by all of its in-sync replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from tailrace.sources.kafka.kafka_access import AccessErrors, new_client
from tailrace.sources.kafka.kafka_servers import Servers

DELIVERY_S = 30.0
"""The longest time, in s, for which delivery of a record is tried before it counts as failed."""

_POLL_S = 0.1


def new_producer(access: AccessErrors) -> Producer:
    """Create an idempotent producer, which writes each record once and in order, even if it sends one again.

    Keys go to the same partitions as with Java's clients.
    """
    return new_client(
        Producer,
        access,
        {
            "acks": "all",
            "enable.idempotence": True,
            "delivery.timeout.ms": int(DELIVERY_S * 1000),
            "partitioner": "murmur2_random",
            "linger.ms": 5,
        },
    )


class TopicWriter:
    """Writes records to a topic.

    Attributes
    ----------
    acknowledged : int
        The number of records that the brokers have.
    """

    def __init__(
        self, servers: Servers, topic: str, make_producer: Callable[[AccessErrors], Any] = new_producer
    ) -> None:
        self.topic, self.acknowledged = topic, 0
        self._access = AccessErrors(servers)
        self._producer = make_producer(self._access)
        self._error: KafkaError | None = None

    def send(
        self,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Send a record, by default to the partition of its key; wait while too many are in transit.

        A record without a value is a tombstone, which removes its key.

        Raises
        ------
        ConnectionError
            When a record could not be delivered.
        """
        options: dict[str, Any] = {} if partition is None else {"partition": partition}
        if headers:
            options["headers"] = headers
        while True:
            self.wait(0)
            try:
                with self._access.as_network_errors():
                    self._producer.produce(self.topic, value, key, on_delivery=self._delivered, **options)
            except BufferError:  # its queue is full
                self.wait(_POLL_S)
            else:
                return

    def wait(self, seconds: float) -> None:
        """Receive acknowledgements; wait for the first one at most for some time."""
        self._producer.poll(seconds)
        self._raise_error()

    def flush(self) -> None:
        """Wait until the brokers have all that was sent.

        Raises
        ------
        ConnectionError
            When a record could not be delivered.
        """
        while self._producer.flush(_POLL_S):
            self._raise_error()
        self._raise_error()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged += 1
            self._access.clear()
        else:
            self._error = self._error or error

    def _raise_error(self) -> None:
        if self._error is not None or self._access.is_persistent:
            self._producer.purge()
            reason = "no access" if self._error is None else self._error.str()
            raise self._access.error(f"topic {self.topic}: {reason}")
