"""Removes uncommitted leftovers of earlier runs: files of tables, versions of a dimension table, parts."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from itertools import compress, groupby, pairwise
from pathlib import Path

import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from tailrace.engine.task_states import TaskStates
from tailrace.ground.facts import TASKS, is_table
from tailrace.ground.files.object_path import Location
from tailrace.ground.words import counted
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

_OF_TABLES = ~ds.field("about").isin(["settings", "plan", TASKS])


def sweep(layout: Layout, journal: Journal, staged: Iterable[str], committed: int) -> int:
    """Remove orphaned files; return their number. Files that can't be removed now are left to the next start.

    The stream's only writer calls it before its tasks run.

    Parameters
    ----------
    staged : iterable of str
        The tables whose files tasks write.
    committed : int
        The number of committed batches; later batches of the journal will run again.
    """
    count = 0
    try:
        count += sum(map(Tables(layout).sweep, staged))
        for directory in (layout.states, layout.chunks, layout.journal, layout.table_versions):
            if isinstance(directory, Path) and directory.is_dir():
                count += _remove(directory.rglob(".*.new"))
        count += TaskStates(layout.states).sweep(committed)
        count += _remove_chunks_of_ended_tasks(layout)
        if layout.table_versions.is_dir():
            count += _remove_versions(layout, _needed_versions(layout, journal, committed))
    except (OSError, DeltaError):
        return count
    return count


def _remove_chunks_of_ended_tasks(layout: Layout) -> int:
    """Remove the chunks of tasks that ended when the number of tasks was lowered."""
    tasks = layout.chunks.iterdir() if layout.chunks.is_dir() else ()
    ended = [task for task in tasks if not any((layout.states / task.name).glob("[0-9]*.state"))]
    return _remove(chunk for task in ended for chunk in task.glob("[0-9]*"))


def _needed_versions(layout: Layout, journal: Journal, committed: int) -> set[str]:
    """Return the files of the newest version, and of the versions that a replay or a rebuild reads.

    A version holds from its first segment until the next version's first segment. If both are the same segment, no
    tuple was joined with it. Any other version stays, because the journal keeps all its entries. Facts of batches that
    have not run yet also name versions.
    """
    tables, needed = Tables(layout), set[str]()
    if tables.has("facts"):
        names = ["about", "version", "from_segment", "value"]
        rows = [row for row in tables.read("facts", names, _OF_TABLES).to_pylist() if is_table(row["about"])]
        rows.sort(key=lambda row: (row["about"], row["version"]))
        for _, versions in groupby(rows, lambda row: row["about"]):
            of_table = [*versions]
            files = [json.loads(row["value"])["file"] for row in of_table]
            is_joined = [row["from_segment"] != after["from_segment"] for row, after in pairwise(of_table)]
            needed |= {*compress(files, is_joined), *files[-1:]}
    while committed in journal:
        needed |= {fact.value["file"] for fact in journal[committed].header.facts if is_table(fact.about)}
        committed += 1
    return needed


def _remove_versions(layout: Layout, needed: Collection[str]) -> int:
    """Remove the other versions, and report which."""
    files = [file for file in layout.table_versions.iterdir() if file.name not in needed]
    removed = _remove(files)
    if removed:
        names = ", ".join(sorted(file.name for file in files))
        said = f"removed {counted(removed, 'version')} of a table that no tuple was joined with: {names}"
        print(said, file=sys.stderr, flush=True)
    return removed


def _remove(files: Iterable[Location]) -> int:
    removed = 0
    for file in list(files):
        file.unlink(missing_ok=True)
        removed += 1
    return removed
