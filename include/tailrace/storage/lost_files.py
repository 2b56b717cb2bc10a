"""Finds lost parts of a query's tables, and names the command that repairs them.

A lost file causes an error of Delta's library, of Arrow or of the disk. So each failure on a table is examined. If the
table is complete, the error is raised unchanged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Damaged, Problem, refuse
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import moving_away, storage_options
from tailrace.tables.correction import CORRECTION_TABLES
from tailrace.tables.stream import is_history

_DAMAGED_LOG = (
    "Expected contiguous commit files",
    "No table metadata or protocol",
    "Invalid Checkpoint",
    "Invalid Parquet file",
    "No files in log segment",
    "Json error",
    "not found",
)
"""Texts by which Delta's library reports a table's log as partly lost or damaged; other texts may come from a disk."""

_DAMAGED_FILE = ("deserialize thrift", "Corrupt", "decompress", "Unexpected end of stream")
"""Texts of disk errors by which Arrow reports a Parquet file with wrong bytes."""

_NO_COLUMN = re.compile(r"No match for FieldRef\.Name\((.*?)\) in ")
_OTHER_WRITER = (
    "the query file with which the stream was deployed: the table is whole; another kind or program wrote it"
)


@contextmanager
def naming_what_is_lost(layout: Layout, name: str) -> Iterator[None]:
    """Raise `Damaged`, with the repair, if the block fails because the table's log or files are lost or damaged.

    A missing column is not damage: it is `Refused`.
    """
    try:
        yield
    except (OSError, DeltaError, pa.ArrowInvalid) as error:
        if isinstance(error, pa.ArrowInvalid) and (missing := _NO_COLUMN.search(str(error))) is not None:
            fault = f"the table has no column {missing[1]}"
            raise refuse(str(layout.table(name)), fault, _OTHER_WRITER) from None
        if (problem := _problem(layout, name, error)) is not None:
            raise Damaged([problem]) from None
        raise


def require_files(layout: Layout, name: str, table: DeltaTable) -> None:
    """Refuse an opened table that names missing or truncated files; only on a disk, as a store does not lose files.

    Raises
    ------
    Damaged
        With the repair.
    """
    if (problem := lost_file(layout, name, named_files(table))) is not None:
        raise Damaged([problem])


def named_files(table: DeltaTable) -> pa.Table:
    """Return the path and size of each file that an opened table names."""
    return pa.table(table.get_add_actions()).select(["path", "size_bytes"])


def lost_file(layout: Layout, name: str, named: pa.Table) -> Problem | None:
    """Return the problem of a table with a missing or truncated file; None if all are complete, and in a store."""
    path = layout.table(name)
    if not isinstance(path, Path):
        return None
    faults = []
    for file, size in zip(named["path"].to_pylist(), named["size_bytes"].to_pylist(), strict=True):
        try:
            actual = os.stat(f"{path}/{unquote(file)}").st_size  # a Path for each of thousands would take longer
        except FileNotFoundError:
            faults.append((file, "is lost, though the table names it"))
            continue
        if actual != size:
            faults.append((file, f"is damaged: it has {actual:,} bytes, and {size:,} when it was written"))
    if not faults:
        return None
    (file, fault), others = faults[0], len(faults) - 1
    more = f"; {others:,} more of the table's files are lost or damaged" if others else ""
    return Problem(str(path / unquote(file)), f"it {fault}{more}", repair_of(layout, name))


def has_leftovers(layout: Layout, name: str) -> bool:
    """Test whether a table's directory has data files; a process killed while creating a table leaves none."""
    path = layout.table(name)
    if isinstance(path, Path):
        return any(path.rglob("*.parquet"))
    return any(part.suffix == ".parquet" or "=" in part.name for part in path.iterdir())


def lost(where: str, fault: str) -> Damaged:
    """Build the error for a part of the log that the stream has written, but that is in no table."""
    remedy = (
        "to restore the query's tables from a backup (tailrace restore); or to begin again under another name or in "
        "another warehouse, where the source still has all"
    )
    return Damaged([Problem(where, fault, remedy)])


def repair_of(layout: Layout, name: str) -> str:
    """Return the advice that restores a table whose log or files are lost.

    If a driver writes the table, the advice first ends it.
    """
    home = layout.home.parent
    away = moving_away(layout.table(name))
    if name in CORRECTION_TABLES:
        return f"{away} and then tailrace correct FILE --warehouse {home}, which gives all corrections again"
    if name == "activity":
        return f"{away}: a live driver makes it again, without what it had"
    if name == "proposals":
        return f"{away} and then tailrace calibrate FILE --warehouse {home}"
    away = f"tailrace drain {layout.home.name}, if a driver runs it; then {away}"
    if name == "current":
        return f"{away}: the next correction, or a driver that starts, makes it again from the other tables"
    if layout.is_remote or is_history(name) or name in ("segments", "quarantine"):
        return (
            f"{away} and {moving_away(layout.checkpoint)}, and then to start the stream again: it runs its journal "
            "again from the source, which must still have all of it; or to restore a backup (tailrace restore)"
        )
    return f"{away} and then {layout.rebuild_command()}, which makes the table again, from history"


def _problem(layout: Layout, name: str, error: Exception) -> Problem | None:
    """Return the loss or damage of a table that failed; None if it is complete, or can't be examined."""
    path = layout.table(name)
    try:
        table = DeltaTable(str(path), storage_options=storage_options(path))
        lacking = lost_file(layout, name, named_files(table))
    except (OSError, DeltaError) as other:
        if not any(text in str(other) for text in _DAMAGED_LOG):
            return None
        fault = f"a part of its log is lost or damaged ({str(other).splitlines()[0][:200]})"
        return Problem(str(path / "_delta_log"), fault, repair_of(layout, name))
    if lacking is None and (isinstance(error, pa.ArrowInvalid) or any(text in str(error) for text in _DAMAGED_FILE)):
        return Problem(str(path), f"a file of it is damaged ({error})", repair_of(layout, name))
    return lacking
