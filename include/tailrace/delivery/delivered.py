"""How much of a query's answers each of its places has, in a file for each place.

A server tells this only to who can reach it, and a topic to nobody. So each process that delivers notes it, under the
place's lock: Airflow's tasks that follow a place need neither its address nor its secrets.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from tailrace.ground.files import write_atomically
from tailrace.ground.object_path import Location
from tailrace.query.answers_section import CURRENT, POSTGRES, TOPIC
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.table_snapshot import TableSnapshot

_NOTHING = TableSnapshot(0, None)


def written_answers(tables: OpenedTables) -> TableSnapshot:
    """Return how many rows the tables of answers have, and their greatest `as_of`; call it before a delivery."""
    names = [name for name in ("results", "corrections") if tables.has(name)]
    snapshots = [TableSnapshot.from_table(tables.open(name)) for name in names]
    times = [snapshot.as_of for snapshot in snapshots if snapshot.as_of is not None]
    return TableSnapshot(sum(snapshot.rows for snapshot in snapshots), max(times, default=None))


def note_delivered(layout: Layout, place: str, uri: str | None, written: TableSnapshot) -> None:
    """Note that a place has all that was written before its delivery (idempotent); the caller holds the place's lock.

    Parameters
    ----------
    uri : str or None
        The target of the place, as a query file names it; None for the table `current`.
    """
    if _read(layout, place) != (uri, written):
        layout.stream.mkdir(parents=True, exist_ok=True)
        write_atomically(_file(layout, place), json.dumps({"uri": uri, **asdict(written)}))


def delivered(layout: Layout, place: str, uri: str | None) -> TableSnapshot:
    """Return how much of the answers a place has; no rows where nothing was delivered to this target."""
    noted_uri, snapshot = _read(layout, place)
    return snapshot if noted_uri == uri else _NOTHING


def all_delivered(layout: Layout) -> dict[str, TableSnapshot]:
    """Return how much of the answers each place has, by its name, whatever its target."""
    return {place: _read(layout, place)[1] for place in (CURRENT, TOPIC, POSTGRES)}


def _read(layout: Layout, place: str) -> tuple[str | None, TableSnapshot]:
    """Read a target and what it has; nothing where the file is missing or damaged."""
    try:
        noted = json.loads(_file(layout, place).read_text())
        return noted.pop("uri"), TableSnapshot(**noted)
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
        return None, _NOTHING


def _file(layout: Layout, place: str) -> Location:
    return layout.stream / f"delivered_{place}.json"
