"""The fields of a query file that name a Kafka topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from tailrace.ground.extras import validate_extra
from tailrace.ground.fields import Name, Section, field_error
from tailrace.sources.kafka.kafka_servers import addresses_of

ID, APPEND_TIME = "(topic/partition/offset)", "(append time)"
"""The columns that the broker adds to a record: its place as text, and the time (ms) at which it was appended."""


class KafkaTopic(Section):
    """A topic, and its cluster, given by a connection or by `servers`."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["servers"]}, {"required": ["connection"]}]})

    servers: Annotated[str, Field(pattern=r"^[^\s,:/]+:\d+(,[^\s,:/]+:\d+)*$")] | None = Field(
        default=None, description="bootstrap servers of the Kafka cluster, separated by commas: broker:9092"
    )
    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")] = Field(description="name of the topic: readings")
    connection: Name | None = Field(
        default=None,
        description="Airflow connection with the brokers and the TLS and SASL settings: kafka_main",
    )

    @model_validator(mode="after")
    def _validate_cluster(self) -> Self:
        validate_extra("kafka")
        if self.servers is None and self.connection is None:
            raise field_error("is missing", "servers: 'broker:9092'; or connection: NAME, which has them", "servers")
        return self

    @property
    def cluster(self) -> str:
        """The servers in one form, or the name of the connection that has them."""
        return ",".join(addresses_of(self.servers)) if self.servers else str(self.connection)

    def uri(self) -> str:
        """Return the topic as a URI, which is the same for queries that write and that read it.

        Without servers it contains the connection's name, as the process that parses a DAG may not know the connection.
        """
        return f"kafka://{self.cluster}/{self.topic}"

    def namespace(self, brokers_of: Callable[[str], str | None]) -> str:
        """Return the namespace of the cluster's topics by OpenLineage's naming: its first bootstrap server, as sorted.

        The connection's name takes its place if the query names no server and `brokers_of` does not know the
        connection.
        """
        addresses = addresses_of(self.servers or brokers_of(str(self.connection)) or "")
        return f"kafka://{addresses[0] if addresses else self.cluster}"

    def is_same_topic(self, other: KafkaTopic) -> bool:
        """Return whether another section names the same topic, by its connection or by one of its servers."""
        own, others = (set(addresses_of(each.servers or "")) for each in (self, other))
        is_connected = self.connection is not None and self.connection == other.connection
        return self.topic == other.topic and (is_connected or not own.isdisjoint(others))
