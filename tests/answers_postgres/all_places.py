"""A query whose answers go to all places: everything may die at any write, and each place may be away for a while."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import dropwhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import psycopg2
import pyarrow as pa
import pytest
from confluent_kafka import KafkaError
from deltalake import DeltaTable

from kit.fakes.fake_topic import FakeTopic, as_shown, sending, texts
from kit.runs.current_tables import rows_of
from kit.runs.deaths import deaths
from kit.runs.kind_streams import KINDS, SESSIONS, TABLE_JOIN, query_of
from kit.runs.local_driver import correct_here
from kit.runs.place_readers import current_reader, postgres_reader, topic_reader
from kit.runs.postgres_desk import TABLE, PostgresDesk, at_each_statement
from kit.runs.warehouse import EPOCH
from kit.suite.waiting import PATIENCE_S
from tailrace.correction.correction_range import CorrectionRange
from tailrace.delivery import current
from tailrace.delivery.places import places_of
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.errors import Busy, Refused
from tailrace.ground.retries import Retries
from tailrace.query.answers_section import CURRENT, POSTGRES, TOPIC
from tailrace.query.query import Query
from tailrace.storage.backup import back_up
from tailrace.storage.restore import restore
from tailrace.storage.results import read_answers
from tailrace.stream import delivery as delivery_module
from tailrace.stream.delivery import EVERY_S, Delivery
from tailrace.stream.status_reporter import StatusReporter

OUTAGE_S = 120.0
CHANGES = {
    "aggregate": ("window", "size", "750 ms"),
    "named aggregates": ("window", "slide", "500 ms"),
    "sessions": ("window", "session", "120 ms"),
    "topk": ("topk", "k", 1),
    "emd_join": ("emd_join", "threshold", 0.25),
    "spatial interval": ("spatial_join", "distance", 2),
    "spatial window": ("spatial_join", "distance", 2),
    TABLE_JOIN: ("spatial_join", "where", "left.x >= 2"),
}
"""A change of each query by which a rebuild gives other answers."""


class AllPlaces(PostgresDesk):
    """A query whose answers go to `current`, to a topic and to PostgreSQL, with a reader at each.

    Attributes
    ----------
    away : dict
        The places that are away, or will be: with the number of writes that they still take.
    now_s : float
        The clock of deliveries.
    restored_at : int, optional
        The number of the topic's records when the backup was restored.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        seed: int,
        patch: pytest.MonkeyPatch,
        topic: FakeTopic,
        sql: Callable[..., Any],
    ) -> None:
        super().__init__(name, directory, seed, "reports", sql)
        self.patch, self.topic, self.now_s = patch, topic, 1000.0
        self.away: dict[str, int] = {}
        self.restored_at: int | None = None
        self.driver.query = self._delivering()
        self.deaths = deaths(patch)
        self.readers = {
            CURRENT: current_reader(self.table, self._identity),
            TOPIC: topic_reader(topic),
            POSTGRES: postgres_reader(TABLE, self._identity, sql),
        }
        patch.setattr(delivery_module, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        self._watch_writes()
        self.query_of_backup = self.driver.query

    def _delivering(self) -> Query:
        """Return the kind's query as it is declared now, with all places."""
        query = query_of(self.name, self.directory)
        kafka = sending(query).answers.kafka
        return query.model_copy(update={"answers": self.driver.query.answers.model_copy(update={"kafka": kafka})})

    def _watch_writes(self) -> None:
        """Make a step of each write to a place: the place may be away, the process may die, and the reader looks."""
        write, produce = current.write_deltalake, self.topic.produce

        def write_current(*arguments: Any, **named: Any) -> None:
            if self._takes(CURRENT):
                raise OSError(errno.EIO, "Input/output error")
            self.deaths.step("current")
            write(*arguments, **named)
            self.readers[CURRENT].look()
            self.deaths.step("current is written")

        def send(topic: Any, value: Any, key: Any, on_delivery: Any, headers: Any) -> None:
            if self._takes(TOPIC):
                return on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT), None)
            self.deaths.step("record")
            return produce(topic, value, key, on_delivery, headers)

        def run_statement(statement: str) -> None:
            if self._takes(POSTGRES):
                raise psycopg2.OperationalError("server closed the connection unexpectedly")
            self.readers[POSTGRES].look()
            self.deaths.step(statement)

        self.patch.setattr(current, "write_deltalake", write_current)
        self.patch.setattr(self.topic, "produce", send)
        at_each_statement(self.patch, run_statement).__enter__()  # until the patch of the test is undone

    def _takes(self, place: str) -> bool:
        """Count a write to a place; returns whether it is away."""
        if place not in self.away:
            return False
        self.away[place] -= 1
        return self.away[place] < 0

    def look(self) -> None:
        for reader in self.readers.values():
            reader.look()

    def live(self) -> None:
        """Live through everything in an order that is drawn; then end."""
        deeds: list[Callable[[], None]] = [self.stream, self.deliver_all] + [self.correct] * 3
        deeds += [lambda place=place: self.lose(place) for place in self.readers]
        deeds += [self.deliver_all, lambda: self.rebuild(self._with_tasks(3))]
        self.draw.shuffle(deeds)
        place = len(deeds)
        for deed in (self.restore, self.back_up, self.change_answers):  # in the other order: a backup has that change
            place = self.draw.randrange(place + 1)
            deeds.insert(place, deed)
        self.driver.run(40)
        for deed in deeds:
            deed()
            self.look()
            self.write()
            self.stream()
            self.look()
        self.away.clear()
        self.driver.run(flush=True)
        self.correct_range(CorrectionRange())
        self.deliver_all()
        self.look()

    def die(self, act: Callable[[], object], steps: int) -> bool:
        """Let something die at one of its writes, or not; returns whether it ended."""
        ended = False

        def run() -> None:
            nonlocal ended
            act()
            ended = True

        with self.deaths.after(self.draw.choice([None, self.draw.randrange(steps)])):
            run()
        return ended

    def stream(self) -> None:
        """Let a driver read what there is; one whose topic is away ends, and the next goes on with its batch."""
        try:
            self.die(lambda: self.driver.run(40), 40)
        except RuntimeError as failure:
            if TOPIC not in self.away or "the stream failed: " not in str(failure):
                raise

    def correct(self) -> None:
        points = sorted(EPOCH + 100 * self.draw.randrange(200) for _ in range(2))
        some = CorrectionRange(points[0], points[1] + 100, arrival=False)
        try:
            with self.without_places():
                self.die(lambda: self.correct_range(self.draw.choice([some, CorrectionRange()])), 40)
        except (Busy, Refused) as refused:
            if "committed nothing yet" not in str(refused) and "are to be run again" not in str(refused):
                raise

    def correct_range(self, span: CorrectionRange) -> None:
        if self.name == TABLE_JOIN:  # nothing is late
            return
        correct_here(self.driver.query, self.driver.warehouse, span)

    @contextmanager
    def without_places(self) -> Iterator[None]:
        """Take the failure of a job that could not deliver, while a place is away."""
        try:
            yield
        except RuntimeError as failure:
            if not self.away or "all answers are committed, but" not in str(failure):
                raise

    def deliver_all(self) -> None:
        """Deliver, and die perhaps; then beside a driver, which tries again until two minutes of outages are over."""
        places = places_of(self.driver.layout, self.query, self.driver.pipeline.kind)
        for place in places:
            with suppress(OSError):
                self.die(lambda place=place: place.deliver(10.0), 20)
        reporter, until_s = StatusReporter(self.driver.layout), self.now_s + OUTAGE_S
        deliveries = [Delivery(place, reporter, retries=Retries(lambda: self.now_s)) for place in places]
        while any(delivery._delivered < 1 for delivery in deliveries):
            for delivery in deliveries:
                delivery.advance(1)
                if delivery._running is not None:
                    assert delivery._running.wait(PATIENCE_S)
                    delivery.advance(1)
            self.look()
            self.now_s += EVERY_S
            if self.now_s > until_s:
                self.away.clear()
            assert self.now_s < until_s + OUTAGE_S, "it delivers again when everything is back"
        self.away.clear()

    def lose(self, place: str) -> None:
        """Let a place be away after some more writes, for two minutes of deliveries."""
        self.away[place] = self.draw.randrange(12)

    def rebuild(self, query: Query) -> None:
        with self.without_places():
            if not self.die(lambda: self.driver.rebuild(query), 80):
                self.driver.rebuild(query)
        self.driver.query = query

    def change_answers(self) -> None:
        section, field, value = CHANGES[self.name]
        self.patch.setitem((KINDS | SESSIONS)[self.name][section], field, value)
        for place in (CURRENT, POSTGRES):
            self.readers[place].await_tables()
        self.rebuild(self._delivering())

    def _with_tasks(self, number: int) -> Query:
        return self.driver.query.model_copy(update={"parallelism": number})

    def back_up(self) -> None:
        """Take a backup, and a copy of the tables that rebuilds have put aside, as docs/backups.md says."""
        back_up(self.driver.layout, self.directory / "backup")
        if self._aside.exists():
            shutil.copytree(self._aside, self.directory / "aside")
        self.query_of_backup = self.driver.query

    @property
    def _aside(self) -> Path:
        return Path(self.driver.layout.home) / "_before"

    def restore(self) -> None:
        """Restore the backup, whose table of results has the id that it had, and which is without `current`."""
        self.readers[CURRENT].await_tables()
        self.readers[POSTGRES].forget_gone()
        self.restored_at = len(self.topic.records)
        shutil.rmtree(self.driver.layout.home)
        restore(self.directory / "backup", self.driver.warehouse)
        if (aside := self.directory / "aside").exists():
            shutil.copytree(aside, self._aside)
        self.driver.query = self.query_of_backup  # a rebuild for more tasks may be lost

    def assert_shown(self) -> None:
        """Each place shows what `tailrace results` gives, and what one statement of SQL over the tables does."""
        rows, columns = read_answers(self.driver.query, self.driver.warehouse, streamed=False)
        assert rows.num_rows > 20
        self.assert_equal()
        self.assert_delivered()
        self.assert_sent(rows, [name for name in columns if name != "coverage"])
        if self.name != TABLE_JOIN:
            assert self._by_sql() == rows_of(rows.select([*self._columns(rows)]))

    def assert_sent(self, rows: pa.Table, columns: list[str]) -> None:
        """The topic shows the results to who compares versions, and to who takes the last record of each key.

        A join with a table may have several answers to an id that came again: the topic has one of them.
        """
        self.assert_order()
        expected = as_shown(rows, columns)
        for shown in (self.topic.shown(), self.topic.compacted()):
            if self.name == TABLE_JOIN:
                assert set(texts(shown, columns)) <= set(expected)
                assert len(shown) == len({*zip(*(rows[name].to_pylist() for name in self._identity()), strict=True)})
            else:
                assert texts(shown, columns) == expected

    def assert_order(self) -> None:
        """No record is older than an earlier one of its key.

        A restored stream has no generation, so its answers are of generation 0 until all answers are sent again.
        """
        records, number = self.topic.records, self.restored_at
        assert number is not None
        generated = [*records[:number], *dropwhile(lambda record: record.version[0] == 0, records[number:])]
        assert all(record.version[0] > 0 for record in generated)
        self.topic.require_no_older_version(is_restored=True)

    def _columns(self, rows: pa.Table) -> list[str]:
        """Return the columns that readers get as the tables have them."""
        return [name for name in self.driver.tables.schema("results").names if name in rows.column_names]

    def _identity(self) -> tuple[str, ...]:
        return PublicAnswers.from_query(self.query, self.driver.pipeline.kind).identity

    def _by_sql(self) -> list[str]:
        """Return the newest versions by DuckDB, from the files of the Delta tables."""
        public = PublicAnswers.from_query(self.query, self.driver.pipeline.kind)
        identity = ", ".join(public.model.identity.determining)
        parts = [
            f"SELECT *, {number} AS is_correction FROM read_parquet({DeltaTable(self._path(name)).file_uris()})"
            for number, name in enumerate(("results", "corrections"))
        ]
        names = ", ".join(self._columns(read_answers(self.driver.query, self.driver.warehouse, streamed=False)[0]))
        statement = f"""
            SELECT DISTINCT {names} FROM (
                SELECT *, rank() OVER (PARTITION BY {identity} ORDER BY as_of DESC, is_correction DESC) AS place
                FROM ({" UNION ALL BY NAME ".join(parts)})
            ) WHERE place = 1 AND NOT coalesce(retracted, false)
        """
        return rows_of(duckdb.sql(statement).to_arrow_table())

    def _path(self, name: str) -> str:
        return str(self.driver.layout.table(name))
