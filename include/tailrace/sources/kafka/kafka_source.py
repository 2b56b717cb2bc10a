"""A Kafka topic as a stream's source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import FORMAT, RATE, DeclaredSource, Opening
from tailrace.sources.feed import Feed
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import APPEND_TIME, ID, KafkaTopic
from tailrace.sources.segments import Segment, Types

if TYPE_CHECKING:
    from tailrace.sources.kafka.kafka_records import KafkaRecords


class KafkaSource(KafkaTopic, DeclaredSource):
    """A topic whose values are JSON objects."""

    own_columns: ClassVar[Mapping[str, str]] = {"arrival_time": APPEND_TIME, "id": ID}

    format: Literal["kafka"] = Field(description=FORMAT)
    rate: None = Field(default=None, description=RATE)

    def dataset(self, brokers_of: Callable[[str], str | None]) -> tuple[str, str]:
        return self.namespace(brokers_of), self.topic

    def reads(self, topic: KafkaTopic) -> bool:
        return topic.is_same_topic(self)

    def is_history(self, columns: SourceMapping) -> bool:
        return False

    def reader(self, columns: SourceMapping) -> KafkaRecords:
        from tailrace.sources.kafka.kafka_records import KafkaRecords

        servers = Servers(self.servers, self.connection)
        return KafkaRecords(servers, columns.arrival_time == APPEND_TIME, columns.exact)

    def open(self, opening: Opening) -> Feed:
        from tailrace.sources.kafka.kafka_client import Topic
        from tailrace.sources.kafka.kafka_feed import KafkaFeed

        records = self.reader(opening.columns)
        topic, before = Topic(records.servers, self.topic), (opening.path, opening.row) if opening.path else None
        of_log = opening.columns, opening.types, before, opening.identity
        return KafkaFeed(topic, records, *of_log, opening.idle_s, opening.live)

    def sample(self, opening: Opening) -> tuple[Types, list[Segment]]:
        feed = self.open(opening)
        segments = feed.fresh()
        return feed.types, [*segments[:1], *segments[1:][-1:]]

    def has(self, segment: Segment) -> bool:
        return True  # the broker is asked when the segment is read
