"""The places of answers that have a server: a table of PostgreSQL, and a topic of Kafka."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pyarrow as pa
from answer_place import IDENTITY, AnswerPlace, Away
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kit.fakes.fake_topic import as_shown, texts
from kit.parts.kafka_broker import Broker
from kit.parts.postgres import Server
from kit.runs.place_readers import postgres_reader, topic_reader
from kit.runs.postgres_desk import rows_of_table
from kit.runs.topic_records import Record, TopicRecords
from tailrace.embedded.embedded_processes import free_port
from tailrace.query.answers_section import POSTGRES, TOPIC

_SCRAM = "--auth-host=scram-sha-256 --auth-local=scram-sha-256"


class PostgresPlace(AnswerPlace):
    """A table of a PostgreSQL server."""

    name = POSTGRES
    _TABLE = "reports.answers"

    def __init__(self, server: Server) -> None:
        self._server, self._session = server, None
        self.declared = {"postgres": {"connection": "reports", "table": self._TABLE}}
        self.environment = {"AIRFLOW_CONN_REPORTS": server.connection()}
        self._sql("CREATE SCHEMA reports")
        self.reader = postgres_reader(self._TABLE, lambda: IDENTITY, self._sql)

    @staticmethod
    @contextmanager
    def running(directory: Path) -> Iterator[PostgresPlace]:
        server = Server(str(free_port()), "secret", _SCRAM)
        try:
            server.create_database()
            place = PostgresPlace(server)
            yield place
            place._close()
        finally:
            server.end()

    def stop(self) -> None:
        for process in self._processes():
            process.suspend()

    def resume(self) -> None:
        for process in reversed(self._processes()):
            process.resume()

    def kill(self) -> None:
        processes = self._processes()
        for process in processes:
            process.kill()
        psutil.wait_procs(processes)

    def start(self) -> None:
        self._server.start()

    def _processes(self) -> list[psutil.Process]:
        root = psutil.Process(self._server.process.pid)
        return [root, *root.children(recursive=True)]

    def newest_ms(self) -> int:
        ((newest,),) = self._sql(f"SELECT (extract(epoch FROM max(as_of)) * 1000)::bigint FROM {self._TABLE}")
        return newest or 0

    def views(self, columns: Sequence[str]) -> Mapping[str, list[str]]:
        return {"its table": rows_of_table(self._sql, self._TABLE, columns)}

    def _sql(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Run a statement as a reader of another session does, which comes again where its server was away."""
        try:
            if self._session is None:
                login = {"host": "127.0.0.1", "port": self._server.port, "dbname": "airflow", "user": "airflow"}
                self._session = psycopg2.connect(**login, password=self._server.password)
                self._session.autocommit = True
            with self._session.cursor() as cursor:
                cursor.execute(statement, arguments or None)
                return cursor.fetchall() if cursor.description else []
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            self._close()
            raise Away(str(error)) from None

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


class TopicPlace(AnswerPlace):
    """A topic of a Kafka broker, and all its records."""

    name = TOPIC
    holds_the_stream = True

    def __init__(self, broker: Broker) -> None:
        self._broker, self._topic = broker, broker.make_topic(2)
        self.declared = {"kafka": {"servers": broker.servers, "topic": self._topic}}
        self._records = _ConsumedRecords(broker.servers, self._topic, 2)
        self.reader = topic_reader(self._records)

    @staticmethod
    @contextmanager
    def running(directory: Path) -> Iterator[TopicPlace]:
        home = directory / "kafka"
        home.mkdir()
        broker = Broker(home)
        try:
            yield TopicPlace(broker)
        finally:
            broker.stop()

    def stop(self) -> None:
        os.killpg(self._broker.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self._broker.process.pid, signal.SIGCONT)
        self._records.reopen()

    def kill(self) -> None:
        self._broker.stop()

    def start(self) -> None:
        self._broker.start()
        self._records.reopen()

    def origin(self) -> int | None:
        """Return the newest generation, which each other origin of the answers begins."""
        return max((record.version[0] for record in self._records.records), default=None)

    def newest_ms(self) -> int:
        return max((record.version[1] for record in self._records.newest().values()), default=0)

    def views(self, columns: Sequence[str]) -> Mapping[str, list[str]]:
        names, records = _in_records(columns), self._records
        return {"the greatest versions": texts(records.shown(), names), "compacted": texts(records.compacted(), names)}

    def expected(self, rows: pa.Table, columns: Sequence[str]) -> list[str]:
        return as_shown(rows, _in_records(columns))

    def order_problem(self, is_restored: bool) -> str | None:
        try:
            self._records.require_no_older_version(is_restored)
        except AssertionError as error:
            return str(error)
        return None


def _in_records(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name != "coverage"]


class _ConsumedRecords(TopicRecords):
    """The records of a real topic, as a consumer gets them that begins again, where it was, once its broker is back.

    Else a consumer of librdkafka now and then fetches nothing any more, without an error.
    """

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        super().__init__()
        self._servers, self._topic = servers, topic
        self._next = dict.fromkeys(range(partitions), OFFSET_BEGINNING)
        self._reopens = threading.Event()
        self._consumer = self._open()

    def reopen(self) -> None:
        """Let the next look open another consumer."""
        self._reopens.set()

    def newest(self) -> dict[str, Record]:
        if self._reopens.is_set():
            self._reopens.clear()
            self._consumer.close()
            self._consumer = self._open()
        while messages := self._consumer.consume(10_000, 0.2):
            for message in messages:
                if message.error() is None:
                    self.records.append(Record.of(message.key(), message.value(), message.headers()))
                    self._next[message.partition()] = message.offset() + 1
        return super().newest()

    def _open(self) -> Consumer:
        options = {"bootstrap.servers": self._servers, "group.id": "reader", "enable.auto.commit": False}
        consumer = Consumer({**options, "log_level": 0})
        consumer.assign([TopicPartition(self._topic, *position) for position in self._next.items()])
        return consumer
