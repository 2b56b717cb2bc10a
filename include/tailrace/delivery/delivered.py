"""How much of a query's answers each of its places has, in a file for each place.

A server tells this only to who can reach it, and a topic to nobody. So each process that delivers notes it, under the
place's lock: Airflow's tasks that follow a place need neither its address nor its secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Self

from deltalake import DeltaTable

from tailrace.ground.files import write_atomically
from tailrace.ground.object_path import Location
from tailrace.query.answers_section import CURRENT, POSTGRES, TOPIC
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.table_snapshot import TableSnapshot

_NOTHING = TableSnapshot(0, None)


@dataclass(frozen=True)
class DeliveryNote:
    """What a place has, in a file of the query's directory.

    Attributes
    ----------
    uri : str or None
        The target of the place, as a query file names it; None for the table `current`.
    snapshot : TableSnapshot
        The rows of the tables of answers that it has, and their greatest `as_of`.
    versions : dict
        The ids and versions of these tables.
    """

    uri: str | None
    snapshot: TableSnapshot
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, layout: Layout, place: str) -> Self:
        """Read the note of a place; one of nothing where the file is missing or damaged."""
        try:
            noted = json.loads(cls._file(layout, place).read_text())
            return cls(noted["uri"], TableSnapshot(**noted["snapshot"]), noted["versions"])
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return cls(None, _NOTHING)

    def write(self, layout: Layout, place: str) -> None:
        """Write the note of a place, atomically."""
        layout.stream.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file(layout, place), json.dumps(asdict(self)))

    @staticmethod
    def _file(layout: Layout, place: str) -> Location:
        return layout.stream / f"delivered_{place}.json"


def open_answers(tables: OpenedTables) -> dict[str, DeltaTable]:
    """Open the tables of answers that there are, by name; call it before a delivery, which has at least these rows."""
    return {name: tables.open(name) for name in ("results", "corrections") if tables.has(name)}


def note_delivered(layout: Layout, place: str, uri: str | None, answers: Mapping[str, DeltaTable]) -> None:
    """Note that a place has all rows of opened tables of answers (idempotent); the caller holds the place's lock.

    The statistics of the tables' files are read only where a table has another version than the note.
    """
    versions = {name: f"{table.metadata().id} {table.version()}" for name, table in answers.items()}
    noted = DeliveryNote.read(layout, place)
    if (noted.uri, noted.versions) != (uri, versions):
        DeliveryNote(uri, count_answers(answers), versions).write(layout, place)


def count_answers(answers: Mapping[str, DeltaTable]) -> TableSnapshot:
    """Return how many rows the opened tables of answers have, and their greatest `as_of`."""
    snapshots = [TableSnapshot.from_table(table) for table in answers.values()]
    times = [snapshot.as_of for snapshot in snapshots if snapshot.as_of is not None]
    return TableSnapshot(sum(snapshot.rows for snapshot in snapshots), max(times, default=None))


def delivered(layout: Layout, place: str, uri: str | None) -> TableSnapshot:
    """Return how much of the answers a place has; no rows where nothing was delivered to this target."""
    note = DeliveryNote.read(layout, place)
    return note.snapshot if note.uri == uri else _NOTHING


def all_delivered(layout: Layout) -> dict[str, TableSnapshot]:
    """Return how much of the answers each place has, by its name, whatever its target."""
    return {place: DeliveryNote.read(layout, place).snapshot for place in (CURRENT, TOPIC, POSTGRES)}
