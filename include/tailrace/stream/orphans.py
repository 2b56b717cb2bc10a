"""Sweeps what earlier runs have staged and no commit names: files of tables, versions of a dimension table, parts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from tailrace.engine.task_states import TaskStates
from tailrace.ground.object_path import Location
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


def sweep(layout: Layout, journal: Journal, staged: Iterable[str], committed: int) -> int:
    """Remove orphaned files; returns their number. What can't be removed now is left to the next start.

    To be called by the stream's only writer, before its tasks run.

    Parameters
    ----------
    staged : iterable of str
        The tables whose files tasks write.
    committed : int
        The number of committed batches; those of the journal after them will run again.
    """
    count = 0
    try:
        count += sum(map(Tables(layout).sweep, staged))
        for directory in (layout.states, layout.chunks, layout.journal, layout.table_versions):
            if isinstance(directory, Path) and directory.is_dir():
                count += _remove(directory.rglob(".*.new"))
        count += TaskStates(layout.states).sweep(committed)
        if layout.table_versions.is_dir():
            named = _named_versions(layout, journal, committed)
            count += _remove(file for file in layout.table_versions.iterdir() if file.name not in named)
    except (OSError, DeltaError):
        return count
    return count


def _named_versions(layout: Layout, journal: Journal, committed: int) -> set[str]:
    """The versions of a dimension table that facts name: those of the table `facts`, and of batches still to run."""
    tables, named = Tables(layout), set[str]()
    if tables.has("facts"):
        values = tables.read("facts", ["value"], ds.field("about") == "table").column("value").to_pylist()
        named |= {file.name for file in layout.table_versions.iterdir() if any(file.name in text for text in values)}
    while committed in journal:
        named |= {fact.value["file"] for fact in journal[committed].header.facts if fact.about == "table"}
        committed += 1
    return named


def _remove(files: Iterable[Location]) -> int:
    removed = 0
    for file in list(files):
        file.unlink(missing_ok=True)
        removed += 1
    return removed
