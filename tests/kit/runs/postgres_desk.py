"""A driver of a kind's query whose answers go to PostgreSQL, too; with a reader that looks at each statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from psycopg2.extensions import connection as Session
from psycopg2.extensions import cursor as Cursor

from kit.runs.current_tables import Desk
from kit.runs.deaths import Died
from tailrace.delivery.postgres import deliver
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.query.answers_section import AnswersSection
from tailrace.storage.results import read_answers
from tailrace.tables.every import in_ms

TABLE = "reports.answers"
PASSWORD = "s3cret'pass\"word"


class PostgresDesk(Desk):
    """A query over streams with late tuples, repeats and poison, and its table of PostgreSQL."""

    def __init__(self, name: str, directory: Path, seed: int, connection: str, sql: Callable[..., Any]) -> None:
        super().__init__(name, directory, seed)
        self.sql = sql
        answers = AnswersSection.model_validate({"postgres": {"connection": connection, "table": TABLE}})
        self.driver.query = self.driver.query.model_copy(update={"answers": answers})
        self._seen: dict[Any, Any] = {}

    def deliver(self) -> int:
        return deliver(self.driver.layout, self.query, self.driver.pipeline.kind, 10.0)

    @property
    def columns(self) -> list[str]:
        return self.shown(read_answers(self.driver.query, self.driver.warehouse, streamed=False)[1])

    def shown(self, columns: Iterable[str]) -> list[str]:
        """Select the columns that the table has: `key` where the query has a key."""
        return [name for name in columns if name != "key" or not self.name.endswith("without a key")]

    def rows(self) -> list[str]:
        """The rows of the table, with times in ms."""
        return rows_of_table(self.sql, TABLE, self.columns)

    def assert_delivered(self) -> None:
        """The table has each row that readers get; one of those whose tuples have the same ids, and came at once."""
        rows, columns = read_answers(self.driver.query, self.driver.warehouse, streamed=False)
        public = PublicAnswers.from_query(self.query, self.driver.pipeline.kind)
        by_identity: dict[Any, list[str]] = {}
        for row in in_ms(rows.select(self.shown(columns)), "results").to_pylist():
            text = str({name: row[name] for name in sorted(row)})
            by_identity.setdefault(tuple(row[name] for name in self.shown(public.row_identity)), []).append(text)
        there = self.rows()
        assert len(there) == len(by_identity)
        assert all(set(there) & set(texts) for texts in by_identity.values())

    def look(self) -> None:
        """Look at the table as a reader: no version is older than one seen before, and each answer is of one version.

        A reader of another session sees what is committed alone.
        """
        if self.sql("SELECT to_regclass(%s)", TABLE) == [(None,)]:
            assert not self._seen
            return
        identity = self.shown(PublicAnswers.from_query(self.query, self.driver.pipeline.kind).identity)
        columns = ", ".join(f'"{name}"' for name in identity)
        versions: dict[Any, Any] = {}
        for *answer, as_of in self.sql(f"SELECT {columns}, as_of FROM {TABLE}"):
            assert versions.setdefault(tuple(answer), as_of) == as_of
        for answer, as_of in versions.items():
            assert as_of >= self._seen.get(answer, as_of)
        self._seen |= versions

    def forget(self) -> None:
        """Let the reader forget what it saw: other answers come into force."""
        self._seen.clear()


def rows_of_table(sql: Callable[..., Any], table: str, columns: Iterable[str]) -> list[str]:
    """The texts of a table's rows, with times in ms."""
    is_time = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND atttypid = 'timestamptz'::regtype"
    times, names = {name for (name,) in sql(is_time, table)}, sorted(columns)
    shown = ", ".join(
        f'(extract(epoch FROM "{name}") * 1000)::bigint' if name in times else f'"{name}"' for name in names
    )
    return sorted(str(dict(zip(names, row, strict=True))) for row in sql(f"SELECT {shown} FROM {table}"))


@contextmanager
def at_each_statement(patch: pytest.MonkeyPatch, look: Callable[[str], None]) -> Iterator[None]:
    """Call a function after each statement and after each commit of a delivery, by its text."""

    class LookingCursor(Cursor):
        def execute(self, statement, arguments=None):
            super().execute(statement, arguments)
            look(statement)

        def copy_expert(self, statement, file):
            super().copy_expert(statement, file)
            look(statement)

    class LookingSession(Session):
        def cursor(self, *arguments, **named):
            return super().cursor(*arguments, **named, cursor_factory=LookingCursor)

        def commit(self):
            look("before COMMIT")
            super().commit()
            look("COMMIT")

    connect = psycopg2.connect

    def connect_looking(**settings):
        is_delivery = settings.get("application_name") == "tailrace"
        return connect(**settings, **({"connection_factory": LookingSession} if is_delivery else {}))

    with patch.context() as own:
        own.setattr(psycopg2, "connect", connect_looking)
        yield


@contextmanager
def dying_at(patch: pytest.MonkeyPatch, statement: int, look: Callable[[], None]) -> Iterator[list[str]]:
    """Let a delivery die after one of its statements; a reader looks at each. Yields the statements that were run."""
    run: list[str] = []

    def note(text: str) -> None:
        look()
        run.append(text)
        if len(run) == statement + 1:
            raise Died

    with at_each_statement(patch, note), suppress(Died):
        yield run
