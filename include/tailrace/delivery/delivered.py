"""Records how many of a query's answers each delivery target has, in a file for each target.

Each process that delivers writes this note, under the target's lock. So Airflow's tasks that watch a target need
neither its address nor its secrets; and a topic can't be asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Self

from deltalake import DeltaTable

from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.query.answers_section import CURRENT, POSTGRES, TOPIC
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.table_snapshot import TableSnapshot

_NOTHING = TableSnapshot(0, None)


@dataclass(frozen=True)
class DeliveryNote:
    """The content of a delivery target, in a file of the query's directory.

    Attributes
    ----------
    uri : str or None
        The URI of the target, as declared in a query file; None for the table `current`.
    snapshot : TableSnapshot
        The number of rows that it has of the tables of answers, and their greatest `as_of`.
    versions : dict
        The ids and versions of these tables.
    """

    uri: str | None
    snapshot: TableSnapshot
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, layout: Layout, place: str) -> Self:
        """Read the note of a target; an empty one if the file is missing or damaged."""
        try:
            noted = json.loads(cls._file(layout, place).read_text())
            return cls(noted["uri"], TableSnapshot(**noted["snapshot"]), noted["versions"])
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return cls(None, _NOTHING)

    def write(self, layout: Layout, place: str) -> None:
        """Write the note of a target, atomically."""
        layout.stream.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file(layout, place), json.dumps(asdict(self)))

    @staticmethod
    def _file(layout: Layout, place: str) -> Location:
        return layout.stream / f"delivered_{place}.json"


def open_answers(tables: OpenedTables) -> dict[str, DeltaTable]:
    """Open the existing tables of answers, by name; call it before a delivery, which will have at least these rows."""
    return {name: tables.open(name) for name in ("results", "corrections") if tables.has(name)}


def note_delivered(layout: Layout, place: str, uri: str | None, answers: Mapping[str, DeltaTable]) -> None:
    """Note that a target has all rows of opened tables of answers (idempotent); the caller holds the target's lock.

    The statistics of a table's files are read only if its version differs from the note's.
    """
    versions = {name: f"{table.metadata().id} {table.version()}" for name, table in answers.items()}
    noted = DeliveryNote.read(layout, place)
    if (noted.uri, noted.versions) != (uri, versions):
        DeliveryNote(uri, count_answers(answers), versions).write(layout, place)


def count_answers(answers: Mapping[str, DeltaTable]) -> TableSnapshot:
    """Return the number of rows of the opened tables of answers, and their greatest `as_of`."""
    snapshots = [TableSnapshot.from_table(table) for table in answers.values()]
    times = [snapshot.as_of for snapshot in snapshots if snapshot.as_of is not None]
    return TableSnapshot(sum(snapshot.rows for snapshot in snapshots), max(times, default=None))


def delivered(layout: Layout, place: str, uri: str | None) -> TableSnapshot:
    """Return the snapshot of a target's answers; without rows if nothing was delivered to it."""
    note = DeliveryNote.read(layout, place)
    return note.snapshot if note.uri == uri else _NOTHING


def all_delivered(layout: Layout) -> dict[str, TableSnapshot]:
    """Return the snapshot of each target's answers, by its name, with any URI."""
    return {place: DeliveryNote.read(layout, place).snapshot for place in (CURRENT, TOPIC, POSTGRES)}
