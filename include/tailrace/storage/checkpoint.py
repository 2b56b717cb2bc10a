"""Checks that what a stream has written belongs together: its journal, Spark's checkpoint and the tables. No Spark.

A batch is written in this order: its entry in the journal, Spark's offsets, the tables, the note of what the tables
hold, Spark's commit. So after a kill at any point each of them holds at least the batches of the next one. One that
holds less was lost, damaged, or restored from an older backup.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailrace.ground.errors import Busy, Damaged, Problem, Refused
from tailrace.query.query import Query
from tailrace.storage.journal import Journal
from tailrace.storage.layout import CheckpointManifest, Layout
from tailrace.storage.tables import STREAM_TABLES, Tables
from tailrace.storage.written_batches import path_of, read_written, repair


def readable(layout: Layout, query: Query) -> CheckpointManifest | None:
    """The manifest of the query's stream, when it fits the query and its tables are whole; None where it never ran.

    Raises
    ------
    Refused
        When the checkpoint was made for another query.
    Damaged
        When the manifest or a table is lost, damaged, or older than the checkpoint.
    Busy
        While the stream has to run its batches again, to make up for what was lost.
    """
    origin, tables = _manifest(layout, query), Tables(layout)
    if origin is None:
        return None
    last = tables.last_batch("metrics", origin.id) if tables.has("metrics") else -1
    noted = read_written(layout)  # after it: a stream that goes on notes a batch when `metrics` has it
    if noted or tables.has("metrics"):  # the table that is made last
        _check_tables(layout, origin, noted)
    again = max(noted.values(), default=-1)
    if again + 1 < last:
        wrong = f"its batches are to be run again, {again + 1} of {last + 1} so far: its tables are not whole yet"
        raise Busy([Problem(str(layout.home), wrong, "to start the stream, and to wait for it")])
    return origin


def resumable(layout: Layout, query: Query) -> CheckpointManifest | None:
    """The manifest of the query's stream, when a driver can go on from its checkpoint; None where it never ran.

    What comes last in a batch is looked at first: so a stream that goes on meanwhile is not taken for a damaged one.

    Raises
    ------
    Refused
        When the checkpoint was made for another query.
    Damaged
        With the command that repairs it, or with what is to be restored.
    """
    origin = _manifest(layout, query)
    if origin is None:
        return None
    committed, begun_by_spark = committed_batches(layout), _batches(layout.checkpoint / "offsets")
    noted, tables = read_written(layout), Tables(layout)
    if committed and not noted:
        raise _lost(str(path_of(layout)), "it is lost, though Spark has committed batches", repair(layout))
    written = tables.last_batch("metrics", origin.id) + 1 if tables.has("metrics") else 0
    if noted:
        _check_tables(layout, origin, noted)
    _check_journal(layout, max(committed, begun_by_spark, written, *(batch + 1 for batch in noted.values()), 0))
    return origin


def _manifest(layout: Layout, query: Query) -> CheckpointManifest | None:
    """The manifest of a stream that fits the query."""
    origin = layout.manifest()
    if origin is not None:
        layout.require_same(origin, query.structure())
    elif Tables(layout).has("metrics"):
        raise _lost(str(layout.stream), "it is lost, though the stream's tables are there", _restore(layout))
    return origin


def committed_batches(layout: Layout) -> int:
    """The number of batches that Spark has committed."""
    return _batches(layout.checkpoint / "commits")


def _check_journal(layout: Layout, batches: int) -> None:
    """Refuse a journal that has a gap, or holds fewer batches than were run."""
    journal = Journal(layout.journal)
    gap = journal.missing()
    if gap is not None:
        wrong = f"entry {gap} is lost, though a later one is there"
        raise _lost(str(layout.journal), wrong, _restore(layout))
    try:
        last = journal.last()
    except (ValueError, TypeError, KeyError) as error:
        raise _lost(str(layout.journal), f"its newest entry is damaged ({error})", _restore(layout)) from None
    planned = 0 if last is None else last.header.batch + 1
    if planned < batches:
        wrong = f"it has {planned} entries, and the stream has run {batches} batches: it is lost, or an older one"
        raise _lost(str(layout.journal), wrong, _restore(layout))


def _check_tables(layout: Layout, origin: CheckpointManifest, noted: Mapping[str, int]) -> None:
    """Refuse tables that are not there, or hold less than the stream has noted of them."""
    tables = Tables(layout)
    for name in STREAM_TABLES:
        place, last = str(layout.table(name)), noted.get(name, -1)
        if not tables.has(name):
            if name != "history" or last >= 0:
                raise _lost(place, "the table is lost, though the stream has written it", repair(layout))
        elif (there := tables.last_batch(name, origin.id)) < last:
            wrong = f"it ends with batch {there}, though the stream has written batch {last}: it is an older table"
            raise _lost(place, wrong, repair(layout))


def _batches(log: Path) -> int:
    """The number of batches that one of Spark's logs tells of: it keeps the newest ones, a file each."""
    names = [int(file.name) for file in log.iterdir() if file.name.isdigit()] if log.is_dir() else []
    return max(names, default=-1) + 1


def _restore(layout: Layout) -> str:
    return (
        f"to restore all of {layout.home} from one backup; or, to begin anew and read the source from its start, "
        f"mv {layout.home} {layout.home}.damaged"
    )


def _lost(where: str, wrong: str, right: str) -> Refused:
    return Damaged([Problem(where, wrong, right)])
