"""Consistency checks of a stream's journal, states, tables and note of written batches.

A batch is written in this order: its entry in the journal (the write-ahead log), the states, the tables, and the note
of written batches, which commits it. So after a kill at any point, each part holds at least the batches of the next
one. A part that holds fewer was lost, damaged, or restored from an older backup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tailrace.engine.task_states import CLOCK, TaskStates
from tailrace.ground.errors import Busy, Damaged, Problem, Refused, refuse
from tailrace.ground.facts import TABLE, tables_in_force
from tailrace.ground.files.object_path import Location
from tailrace.query.query import Query
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import repair_of, require_files
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.table_schemas import stream_tables
from tailrace.storage.tables import Tables, last_batch_of
from tailrace.storage.tasks_in_force import tasks_after_batch
from tailrace.storage.warehouses import moving_away
from tailrace.storage.written_batches import path_of, read_written, repair
from tailrace.tables.correction import CORRECTION_TABLES


def readable(tables: Tables, query: Query) -> CheckpointManifest | None:
    """Return the manifest of a query's stream, and check that its tables are complete; None if it never ran.

    A running stream writes its tables, then the note of written batches. The note is read before the tables, which must
    hold its batches. It is read again after them: it must be at most a batch behind `metrics`.

    Raises
    ------
    Refused
        When the checkpoint was made for another query.
    Damaged
        When the manifest or a table is lost, damaged, or older than the checkpoint, or newer than the journal.
    Busy
        While the stream still has to repeat batches to restore lost rows.
    """
    layout = tables.layout
    manifest = _manifest(layout, query)
    if manifest is None:
        return None
    note = read_written(layout)
    _check_journal_of(layout, _check_tables(tables, query, manifest, note, resumes=False))
    last = tables.last_batch("metrics", manifest.id) if tables.has("metrics") else -1
    newest = committed_batches(layout) - 1
    if newest + 1 < last:
        fault = f"its batches are to be run again, {newest + 1} of {last + 1} so far: its tables are not whole yet"
        raise Busy([Problem(str(layout.home), fault, "to start the stream, and to wait for it")])
    return manifest


def require_begun(tables: Tables, query: Query) -> CheckpointManifest:
    """Return the manifest of a query's stream like `readable`; refuse a query that never ran."""
    manifest = readable(tables, query)
    if manifest is None:
        raise never_ran(tables.layout)
    require_corrections(tables)
    return manifest


def never_ran(layout: Layout) -> Refused:
    """Return the refusal of a query without a stream; a run over empty input also leaves none."""
    fault = "the query has never run in this warehouse, or its input had no rows"
    return refuse(str(layout.home), fault, "tailrace run, first")


def resumable(layout: Layout, query: Query) -> CheckpointManifest | None:
    """Return the manifest of a query's stream, and check that a driver can resume from the checkpoint.

    Return None if the stream never ran. Parts that are written last are read first, so that a running stream does not
    look damaged.

    Raises
    ------
    Refused
        When the checkpoint was made for another query.
    Damaged
        When a part is lost, damaged or too old; the error names the command that repairs it, or what to restore.
    """
    manifest = _manifest(layout, query)
    if manifest is None:
        return None
    note, states = read_written(layout), TaskStates(layout.states)
    if not note and states.newest() > 0:
        raise _damage(str(path_of(layout)), "it is lost, though there are states", repair(layout))
    in_tables = _check_tables(Tables(layout), query, manifest, note, resumes=True)
    check_journal(layout, max(in_tables, *(batch + 1 for batch in note.values()), 0))
    newest = max(note.values(), default=-1)
    lost = states.missing(tasks_after_batch(layout, query, manifest, newest), newest)
    if lost is not None and read_written(layout) == note:  # a running stream may have deleted it meanwhile
        raise _damage(str(lost), f"this state of {_owner(lost)} is lost", repair(layout))
    return manifest


def _owner(state: Location) -> str:
    """Return the owner of a state's file."""
    return "the clock" if state.parent.name == CLOCK else "a task"


def _manifest(layout: Layout, query: Query) -> CheckpointManifest | None:
    """Read the manifest, and check that it fits the query; None where the stream never ran."""
    manifest = layout.manifest()
    if manifest is not None:
        layout.require_same(manifest, query)
    elif Tables(layout).has("metrics"):
        raise _damage(str(layout.stream), "it is lost, though the stream's tables are there", _restore_advice(layout))
    return manifest


def committed_batches(layout: Layout) -> int:
    """Return the number of committed entries of the journal, according to the note of written batches."""
    return max(read_written(layout).values(), default=-1) + 1


def check_journal(layout: Layout, batches: int) -> None:
    """Refuse a journal with a gap, or with fewer entries than batches were run."""
    journal = Journal(layout.journal)
    gap = journal.missing()
    if gap is not None:
        fault = f"entry {gap} is lost, though a later one is there"
        raise _damage(str(layout.journal), fault, _restore_advice(layout))
    try:
        last = journal.last()
    except (ValueError, TypeError, KeyError) as error:
        raise _damage(str(layout.journal), f"its newest entry is damaged ({error})", _restore_advice(layout)) from None
    entries = 0 if last is None else last.header.batch + 1
    for table in tables_in_force(last.header.facts).values() if last else ():
        if not (file := layout.table_versions / table.value["file"]).is_file():
            name = "dimension table" if table.about == TABLE else f"table of {table.about}"
            raise _damage(str(file), f"this version of the {name} is lost", _restore_advice(layout))
    _require_entries(layout, entries, batches)


def _check_journal_of(layout: Layout, batches: int) -> None:
    """Refuse a journal with fewer entries than batches in the tables, which were read before it."""
    if batches:
        _require_entries(layout, Journal(layout.journal).count, batches)


def _require_entries(layout: Layout, entries: int, batches: int) -> None:
    if entries < batches:
        fault = (
            f"it has {entries} entries, and the stream has run {batches} batches: it is lost, or an older one, as in a "
            "copy of tables that were being written"
        )
        raise _damage(str(layout.journal), fault, _restore_advice(layout))


def _check_tables(
    tables: Tables, query: Query, manifest: CheckpointManifest, note: Mapping[str, int], resumes: bool
) -> int:
    """Return the number of batches with rows in any of the stream's tables.

    Tables that are missing, or hold fewer batches than the note of written batches, are refused. A driver that
    `resumes` needs their files. Without a note it repeats all batches, and restores the rows of a missing table.
    """
    layout = tables.layout
    histories = [table.name for table in layout.histories(query.streams).values()]
    batches, is_begun = 0, bool(note) or (not resumes and tables.has("metrics"))  # this table is created last
    for name in stream_tables(histories):
        where, last = str(layout.table(name)), note.get(name, -1)
        if not tables.has(name):
            if (is_begun or (batches and not resumes)) and (name not in histories or last >= 0):
                raise _damage(where, "the table is lost, though the stream has written it", repair(layout))
            continue
        table = tables.open(name)
        actual = last_batch_of(table, manifest.id, name)
        if actual < last:
            fault = f"it ends with batch {actual}, though the stream has written batch {last}: it is an older table"
            raise _damage(where, fault, repair(layout))
        if resumes:
            require_files(layout, name, table)
        batches = max(batches, actual + 1)
    return batches


def require_corrections(tables: Tables) -> None:
    """Refuse to continue if a table of corrections is lost; the tables are created one after the other.

    Raises
    ------
    Damaged
        With the repair: a correction of everything.
    """
    layout, there = tables.layout, [tables.has(name) for name in CORRECTION_TABLES]
    for index, name in enumerate(CORRECTION_TABLES):
        is_used = any(there[index + 1 :]) or (any(there[:index]) and _has_ledger(tables, there))
        if not there[index] and is_used:
            raise _damage(str(layout.table(name)), "the table is lost", repair_of(layout, name))


def _has_ledger(tables: Tables, there: Sequence[bool]) -> bool:
    """Test whether a correction has completed, as it writes the ledger last."""
    return there[1] and tables.read("correction_runs", ["interval"]).num_rows > 0


def entries_in_tables(layout: Layout, manifest: CheckpointManifest, names: Iterable[str]) -> dict[str, int]:
    """Return how many of the journal's first entries each of a stream's tables holds completely.

    The number is 0 for a lost table. `metrics` gets a batch when all other tables have it, and the note follows; a
    table without rows of a batch is not written. Without both, the newest batch in any table may be incomplete.
    """
    tables, names = Tables(layout), list(names)
    last = {name: tables.last_batch(name, manifest.id) if tables.has(name) else None for name in names}
    try:
        note = read_written(layout)
    except Damaged:
        note = {}
    in_metrics = last["metrics"]
    newest = [batch for batch in last.values() if batch is not None]
    count = max(newest, default=0) if in_metrics is None and not note else max(in_metrics or -1, *note.values(), -1) + 1
    return {
        name: 0 if batch is None else batch + 1 if batch < note.get(name, -1) else count for name, batch in last.items()
    }


def _restore_advice(layout: Layout) -> str:
    return (
        f"to restore all of {layout.home} from one backup; or, to begin again and read the source from its start, "
        f"{moving_away(layout.home)}"
    )


def _damage(where: str, fault: str, remedy: str) -> Refused:
    return Damaged([Problem(where, fault, remedy)])
