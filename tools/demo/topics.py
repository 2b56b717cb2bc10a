"""The broker of the demonstration, its topics, and the readings that are sent to one of them."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.cimpl import NewTopic

from bench.kafka.broker import LocalBroker
from generators import replay, replay_to_topic
from tailrace.query.query import Query
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import KafkaTopic

_PARTITIONS = 2
RATE = 1000  # records a second: a minute, in which the driver starts and catches up
_ARRIVAL = "arrival_time"  # of the generated stream; a record has the time at which the broker appends it


class Topics:
    """The broker of a demonstration, which a context manager starts and ends.

    Parameters
    ----------
    directory : Path
        Holds the broker's data and its log.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        self.broker = LocalBroker(self._directory)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.broker.stop()

    @property
    def servers(self) -> str:
        """The broker's address on loopback, without TLS."""
        return self.broker.servers

    def make(self, query: Query) -> None:
        """Make the topics of a query; each record gets the time at which the broker appends it."""
        topics = [*(stream.source for stream in query.streams.values()), query.answers.kafka]
        config = {"message.timestamp.type": "LogAppendTime"}
        names = [topic.topic for topic in topics if isinstance(topic, KafkaTopic)]
        new = [NewTopic(name, _PARTITIONS, 1, config=config) for name in names]
        for made in self.broker.admin.create_topics(new).values():
            made.result()


class Sending:
    """Sends a stream to a topic, in a thread, from `begin` on.

    Attributes
    ----------
    rows : int
        The number of its rows.
    """

    def __init__(self, files: Path, topic: KafkaTopic) -> None:
        self._table = replay.read(files).drop_columns([_ARRIVAL])
        self._writer = TopicWriter(Servers(topic.servers, topic.connection), topic.topic)
        self.rows, self._error = self._table.num_rows, ""

    def begin(self) -> None:
        """Begin to send; it goes on beside everything else, and ends with the process."""
        threading.Thread(target=self._run, name="readings", daemon=True).start()

    def require_success(self) -> None:
        """Raise an error where the broker did not take a record.

        Raises
        ------
        ConnectionError
        """
        if self._error:
            raise ConnectionError(f"the readings could not be sent: {self._error}")

    def _run(self) -> None:
        try:
            replay_to_topic.send(self._table, self._writer, _PARTITIONS, rate=RATE)
        except (ConnectionError, ValueError) as error:
            self._error = str(error)
