"""A reader who polls the places of a query's answers: no answer of hers is ever replaced by an older version."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from kit.runs.topic_records import TopicRecords
from tailrace.tables.every import in_ms

Versions = dict[Any, tuple[Any, ...]]
"""The version of each answer: its `as_of`, of a topic after the generation."""

Names = Callable[[], Sequence[str]]
"""Returns the columns that identify an answer."""


@dataclass
class PlaceReader:
    """A reader of one place.

    Attributes
    ----------
    poll : callable
        Returns the id of the tables that the answers there come from, None where there is none, and their versions.
    awaits_tables : bool
        Whether other tables may be seen next, and with them other answers: the first ones, or `await_tables` says so.
    seen : dict
        The newest version of each answer that was there since.
    gone : set
        The answers that were there since, and are there no more.
    polls : int
        The number of looks.
    versions : int
        The number of versions of answers that were seen.
    """

    poll: Callable[[], tuple[Any, Versions]]
    origin: Any = None
    awaits_tables: bool = True
    seen: Versions = field(default_factory=dict)
    gone: set[Any] = field(default_factory=set)
    polls: int = 0
    versions: int = 0

    def look(self) -> None:
        """Poll the place, and compare it with what was there before."""
        self.polls += 1
        origin, there = self.poll()
        if origin not in (None, self.origin):
            assert self.awaits_tables, f"other tables came, though nothing made any: {origin} after {self.origin}"
            self.origin, self.awaits_tables, self.seen, self.gone = origin, False, {}, set()
        for answer, version in there.items():
            before = self.seen.get(answer, version)
            assert version >= before, f"{answer}: {version} came after {before}"
            assert version > before or answer not in self.gone, f"{answer}: {version} was gone, and is there again"
        self.versions += sum(version != self.seen.get(answer) for answer, version in there.items())
        self.gone = self.seen.keys() - there.keys()
        self.seen |= there

    def await_tables(self) -> None:
        """Let other tables come, once: something made them."""
        self.awaits_tables = True

    def forget_gone(self) -> None:
        """Let answers that are gone come again in any version: the place keeps no versions of what it deleted."""
        self.seen = {answer: version for answer, version in self.seen.items() if answer not in self.gone}
        self.gone = set()


def current_reader(path: Path, identity: Names) -> PlaceReader:
    """Read `current`: another table after it was lost, or one that was filled from another table of results."""

    def poll() -> tuple[Any, Versions]:
        if not (path / "_delta_log").exists():
            return None, {}
        table = DeltaTable(str(path))
        rows = in_ms(table.to_pyarrow_table(columns=[*identity(), "as_of"]), "results")
        return (table.metadata().id, table.transaction_version("id results")), _versions(rows.to_pylist())

    return PlaceReader(poll)


def postgres_reader(table: str, identity: Names, sql: Callable[..., Any]) -> PlaceReader:
    """Read the table of PostgreSQL, whose position names the table of results that it was filled from.

    `table` has its schema before its name.
    """
    schema, _, name_in_schema = table.partition(".")

    def poll() -> tuple[Any, Versions]:
        if sql("SELECT to_regclass(%s)", table) == [(None,)]:
            return None, {}
        names = [*identity(), "as_of"]
        columns = ", ".join(f'"{name}"' for name in names)
        position = f"(SELECT position FROM {schema}.tailrace_positions WHERE table_name = %s)"
        rows = sql(f"SELECT {position}, {columns} FROM {table}", name_in_schema)
        origin = json.loads(rows[0][0])["id results"] if rows else None
        return origin, _versions([dict(zip(names, row, strict=True)) for _, *row in rows])

    return PlaceReader(poll)


def topic_reader(topic: TopicRecords) -> PlaceReader:
    """Read the topic as a consumer that keeps the greatest version of each key."""

    def poll() -> tuple[Any, Versions]:
        records = [record for record in topic.newest().values() if record.value is not None]
        return None, {record.key: (record.version[0], record.value["as_of"]) for record in records}

    return PlaceReader(poll)


def _versions(rows: list[dict[str, Any]]) -> Versions:
    """Return the versions of answers; all rows of an answer are of the same one."""
    versions: Versions = {}
    for row in rows:
        *answer, as_of = row.values()
        assert versions.setdefault(tuple(answer), (as_of,)) == (as_of,), f"{answer}: of two versions"
    return versions
