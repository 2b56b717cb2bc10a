"""The section of a query file with the targets to which its answers are sent."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from tailrace.ground.duration import Duration
from tailrace.ground.fields import Section
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.sources.lookup.postgres_table import PostgresTable

CURRENT, TOPIC, POSTGRES = "current", "kafka", "postgres"
"""The names of delivery targets: the table `current`, which every query has, and the fields for other targets."""

_SHORTEST = timedelta(minutes=2)  # the least buffer, as deliveries of a healthy stream are less than a minute apart


class AnswersSection(Section):
    """The targets to which answers are sent, beside the tables."""

    kafka: KafkaTopic | None = Field(
        default=None,
        description="Kafka topic that receives each answer as JSON: {servers: 'broker:9092', topic: answers}",
    )
    postgres: PostgresTable | None = Field(
        default=None,
        description="PostgreSQL table that holds the newest version of each answer: "
        "{connection: reports, table: revenue}",
    )

    buffer: Annotated[Duration, Field(ge=_SHORTEST)] = Field(
        default=timedelta(days=1),
        description="how long a live stream runs on while its answers can't be delivered, at least 2 min; "
        "then it takes no rows: 1 h",
    )

    @property
    def uris(self) -> dict[str, str]:
        """The URIs of these targets, by name."""
        uris = {
            TOPIC: None if self.kafka is None else self.kafka.uri(),
            POSTGRES: None if self.postgres is None else self.postgres.uri(),
        }
        return {name: uri for name, uri in uris.items() if uri is not None}

    @property
    def connections(self) -> list[str]:
        """The names of the connections to these targets."""
        places = [place for place in (self.kafka, self.postgres) if place is not None]
        return [place.connection for place in places if place.connection is not None]
