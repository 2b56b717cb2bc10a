"""The sections of a query file that name a Kafka topic."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tailrace.ground.fields import Name, Section


class KafkaTopic(Section):
    """A topic, and the cluster that has it."""

    servers: Annotated[str, Field(pattern=r"^[^\s,:/]+:\d+(,[^\s,:/]+:\d+)*$")] = Field(
        description="bootstrap servers of the cluster, with commas between them: broker:9092"
    )
    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")] = Field(description="the topic: readings")
    connection: Name | None = Field(
        default=None,
        description="connection with the settings of TLS and SASL: kafka_main",
    )


class Answers(Section):
    """Where answers are sent, beside the tables."""

    kafka: KafkaTopic | None = Field(
        default=None, description="topic that gets answers as JSON: {servers: 'broker:9092', topic: answers}"
    )
