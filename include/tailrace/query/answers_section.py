"""The section of a query file that says where its answers are sent."""

from __future__ import annotations

from pydantic import Field

from tailrace.ground.fields import Section
from tailrace.sources.kafka_topic import KafkaTopic


class Answers(Section):
    """Where answers are sent, beside the tables."""

    kafka: KafkaTopic | None = Field(
        default=None, description="topic that gets answers as JSON: {servers: 'broker:9092', topic: answers}"
    )
