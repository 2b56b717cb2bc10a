"""Sends the answers of a query to a Kafka topic, at least once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tailrace.answers.model import AnswerModel
from tailrace.ground.errors import refuse
from tailrace.ground.json_rows import json_rows
from tailrace.ground.times import TIMES
from tailrace.query.query import Query
from tailrace.sources.kafka_access import AccessErrors
from tailrace.sources.kafka_client import Topic
from tailrace.sources.kafka_producer import TopicWriter, new_producer
from tailrace.sources.kafka_servers import Servers
from tailrace.sources.kafka_topic import KafkaTopic

_MS = pa.timestamp("ms", "UTC")


@dataclass
class AnswerTopic:
    """Sends rows of the table `results` as JSON records, whose key is the row's identity.

    A batch that is written again is sent again, with the same values.

    Attributes
    ----------
    key_columns : tuple of str
        The columns that identify a row.
    """

    servers: Servers
    topic: str
    key_columns: tuple[str, ...]
    make_producer: Callable[[AccessErrors], Any] = new_producer
    _writer: TopicWriter | None = field(default=None, init=False)

    @staticmethod
    def of(query: Query, model: AnswerModel) -> AnswerTopic | None:
        """The topic that a query declares; None where it declares none."""
        declared = query.answers.kafka
        return None if declared is None else AnswerTopic(_servers(declared), declared.topic, model.row_identity)

    def send(self, results: pa.Table) -> None:
        """Send rows, and wait until the brokers have them all.

        Raises
        ------
        ConnectionError
            When a record could not be delivered; some of the others may have been.
        """
        rows = _as_sent(results)
        writer = self._writer = self._writer or TopicWriter(self.servers, self.topic, self.make_producer)
        try:
            for value, key in zip(json_rows(rows), json_rows(rows.select(self.key_columns)), strict=True):
                writer.send(value, key)
            writer.flush()
        except BaseException:  # a producer after a failure may have records of this batch left
            self._writer = None
            raise


def check_answer_topic(query: Query, is_new: bool) -> None:
    """Refuse a query whose topic of answers lacks its connection or, of a new query, is not there.

    Raises
    ------
    Refused
    ConnectionError
        When no broker answers.
    """
    declared = query.answers.kafka
    if declared is None:
        return
    servers = _servers(declared)
    servers.settings()
    if is_new and Topic(servers, declared.topic).description() is None:
        remedy = f"one that is there: kafka-topics.sh --create --topic {declared.topic}"
        raise refuse(f"answers.kafka: topic {declared.topic}", "there is no such topic", remedy)


def _servers(declared: KafkaTopic) -> Servers:
    return Servers(declared.servers, declared.connection)


def _as_sent(results: pa.Table) -> pa.Table:
    """The columns that follow from the tuples, and are the same each time; times of the tables' own in ms."""
    rows = results.drop_columns([name for name in ("emitted_at",) if name in results.column_names])
    for place, column in enumerate(rows.schema):
        if column.name in TIMES and pa.types.is_timestamp(column.type):
            rows = rows.set_column(place, column.name, rows.column(place).cast(_MS, safe=False))
        elif pa.types.is_decimal(column.type):  # a number of JSON may be read as a double
            rows = rows.set_column(place, column.name, rows.column(place).cast(pa.string()))
    return rows
