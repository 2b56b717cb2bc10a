"""A fake of a topic of answers, whose records may end with a death of who sends them, and what its consumers show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from kit.runs.deaths import Died
from kit.runs.topic_records import Record, TopicRecords
from tailrace.query.answers_section import AnswersSection
from tailrace.query.query import Query
from tailrace.sources.kafka import kafka_producer
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.tables.every import ANSWER_TIMES


@dataclass
class FakeTopic(TopicRecords):
    """A topic of one partition.

    Attributes
    ----------
    left : int, optional
        The number of records after which who sends dies; None: never.
    """

    left: int | None = None

    @contextmanager
    def dying(self, left: int) -> Iterator[None]:
        """Let who sends inside die instead of sending one more record than `left`."""
        self.left = left
        try:
            with suppress(Died):
                yield
        finally:
            self.left = None

    def produce(self, topic, value, key, on_delivery, headers) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Died
        self.records.append(Record.of(key, value, headers))
        on_delivery(None, None)

    def poll(self, seconds: float) -> int:
        return 0

    def flush(self, seconds: float) -> int:
        return 0

    def purge(self) -> None:
        pass


def fake_topic(patch: pytest.MonkeyPatch) -> FakeTopic:
    """A topic to which all producers send."""
    topic = FakeTopic()
    patch.setattr(kafka_producer, "new_client", lambda *arguments: topic)
    return topic


def sending(query: Query, topic: str = "answers") -> Query:
    """The query, with a topic of its answers."""
    return query.model_copy(update={"answers": AnswersSection(kafka=KafkaTopic(servers="b:1", topic=topic))})


def as_shown(rows: pa.Table, columns: list[str]) -> list[str]:
    """Rows of answers, with times in ms, as the text of what a consumer shows of these columns."""
    return texts([{name: _plain(name, row[name]) for name in columns} for row in rows.to_pylist()], columns)


def texts(rows: list[dict[str, Any]], columns: list[str]) -> list[str]:
    return sorted(str({name: row[name] for name in columns}) for row in rows)


def _plain(name: str, value: Any) -> Any:
    if name in ANSWER_TIMES and value is not None:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
