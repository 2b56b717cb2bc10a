"""Sends the answers of a query to a Kafka topic, at least once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tailrace.delivery.topic_position import TopicPosition
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.json_rows import json_rows
from tailrace.ground.errors import refuse
from tailrace.query.query import Query
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.storage.layout import Layout
from tailrace.tables.every import ANSWER_TIMES

if TYPE_CHECKING:
    from tailrace.sources.kafka.kafka_access import AccessErrors
    from tailrace.sources.kafka.kafka_producer import TopicWriter

_MS = pa.timestamp("ms", "UTC")


def _new_producer(access: AccessErrors) -> Any:
    from tailrace.sources.kafka.kafka_producer import new_producer

    return new_producer(access)


class TopicAway(ConnectionError):
    """Raised when the answers of a batch could not be sent to their topic."""


@dataclass
class AnswerTopic:
    """Sends answers as JSON records, whose key is the row's identity; a tombstone retracts a row.

    The headers `generation` and `as_of`, in ms, order the versions of a key; `query` names the query. A batch that is
    written again is sent again, with the same values.

    Attributes
    ----------
    key_columns : tuple of str
        The columns that identify a row.
    generation : callable
        Returns the generation of the records that are sent now. A stream reads it once `results` has the answers: a
        process that begins another generation meanwhile sends these answers, too.
    """

    servers: Servers
    topic: str
    key_columns: tuple[str, ...]
    make_producer: Callable[[AccessErrors], Any] = _new_producer
    generation: Callable[[], int] = lambda: 0
    query: str = ""
    _writer: TopicWriter | None = field(default=None, init=False)

    @staticmethod
    def from_query(query: Query, key_columns: tuple[str, ...], layout: Layout) -> AnswerTopic | None:
        """Return the topic that a query declares; None without one."""
        declared = query.answers.kafka
        if declared is None:
            return None
        generation = partial(_generation, layout)
        return AnswerTopic(_servers(declared), declared.topic, key_columns, generation=generation, query=query.name)

    def send(self, results: pa.Table, order: pa.Array | None = None) -> None:
        """Send rows, and wait until the brokers have all of them.

        Parameters
        ----------
        order : Array, optional
            The `as_of` for the headers, in ms; by default the rows' own.

        Raises
        ------
        ConnectionError
            When a record could not be delivered; some of the others may have been.
        """
        rows = _as_sent(results)
        self._send(json_rows(rows), rows, self.key_columns, order)

    def remove(self, rows: pa.Table, key_columns: Sequence[str]) -> None:
        """Send a tombstone for each row, given by key and `as_of`; raises as `send`."""
        self._send((None for _ in range(rows.num_rows)), _as_sent(rows), key_columns)

    def _send(
        self,
        values: Iterable[bytes | None],
        rows: pa.Table,
        key_columns: Sequence[str],
        order: pa.Array | None = None,
    ) -> None:
        if not rows.num_rows:
            return
        writer = self._writer = self._writer or self._new_writer()
        headers = [("query", self.query.encode()), ("generation", str(self.generation()).encode())]
        try:
            for value, key, as_of in zip(
                values,
                json_rows(rows.select([*key_columns])),
                _numbers(rows["as_of"] if order is None else order),
                strict=True,
            ):
                writer.send(value, key, headers=[*headers, ("as_of", as_of)])
            writer.flush()
        except BaseException:  # after a failure, a producer may still have records of this batch
            self._writer = None
            raise

    def _new_writer(self) -> TopicWriter:
        from tailrace.sources.kafka.kafka_producer import TopicWriter

        return TopicWriter(self.servers, self.topic, self.make_producer)


def _generation(layout: Layout) -> int:
    """Return the generation of a topic's records; 0 if its position is lost, so that all answers will be sent."""
    position = TopicPosition.read(layout)
    return 0 if position is None else position.generation


def check_answer_topic(query: Query, is_new: bool) -> None:
    """Refuse a query whose topic of answers lacks its connection, or (for a new query) does not exist.

    Raises
    ------
    Refused
    ConnectionError
        When no broker answers.
    """
    declared = query.answers.kafka
    if declared is None:
        return
    from tailrace.sources.kafka.kafka_client import Topic

    servers = _servers(declared)
    servers.settings()
    if is_new and Topic(servers, declared.topic).description() is None:
        remedy = f"one that is there: kafka-topics.sh --create --topic {declared.topic}"
        raise refuse(f"answers.kafka: topic {declared.topic}", "there is no such topic", remedy)


def _servers(declared: KafkaTopic) -> Servers:
    return Servers(declared.servers, declared.connection)


def _as_sent(results: pa.Table) -> pa.Table:
    """Return the columns that follow from the tuples, and so are the same each time; the tables' times in ms."""
    rows = results.drop_columns([name for name in ("emitted_at", RETRACTED) if name in results.column_names])
    for index, column in enumerate(rows.schema):
        if column.name in ANSWER_TIMES and (pa.types.is_timestamp(column.type) or pa.types.is_integer(column.type)):
            rows = rows.set_column(index, column.name, rows.column(index).cast(_MS, safe=False))
        elif pa.types.is_decimal(column.type):  # readers may parse a JSON number as a double
            rows = rows.set_column(index, column.name, rows.column(index).cast(pa.string()))
    return rows


def _numbers(times: pa.Array | pa.ChunkedArray) -> list[bytes]:
    """Return times in ms as decimal numbers."""
    texts: list[bytes] = times.cast(pa.int64()).cast(pa.string()).cast(pa.binary()).to_pylist()
    return texts
