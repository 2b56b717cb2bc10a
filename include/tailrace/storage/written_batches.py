"""The note of the last batch that all tables of a stream have; writing it commits that batch."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tailrace.ground.errors import Busy, Damaged, Problem
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import moving_away


def path_of(layout: Layout) -> Location:
    """Return the path of the note, beside the states of the tasks.

    If that directory is removed, the stream repeats every batch of the journal, which restores missing rows of each
    table.
    """
    return layout.checkpoint / "tables.json"


def read_written(layout: Layout) -> dict[str, int]:
    """Read the last batch by table; empty before the first batch of a checkpoint.

    Raises
    ------
    Damaged
        When the note can't be read.
    """
    try:
        return _parsed(layout, path_of(layout).read_text())
    except FileNotFoundError:
        return {}


def record_written(layout: Layout, tables: Iterable[str], batch: int) -> None:
    """Record that these tables have a batch, and all earlier ones.

    Raises
    ------
    Busy
        In an object store, when another driver has recorded this batch or a later one while this one was suspended.
    """
    file, written = path_of(layout), dict.fromkeys(tables, batch)
    if isinstance(file, Path):
        write_note(layout, read_written(layout) | written)
        return
    stored = file.stored()
    before = _parsed(layout, stored.content.decode()) if stored else {}
    content = json.dumps(before | written).encode()
    if max(before.values(), default=-1) < batch and (
        file.replace(content, stored.version) if stored else file.create(content)
    ):
        return
    if (stored := file.stored()) is None:
        raise OSError(errno.EIO, "a write was refused, though nothing is there", str(file))
    if stored.content != content:  # a client's second try is refused because of its first write
        fault = f"another driver has written batch {batch} meanwhile"
        raise Busy([Problem(str(file), fault, "one driver a query: this one ends")])


def _parsed(layout: Layout, text: str) -> dict[str, int]:
    try:
        return {str(name): int(batch) for name, batch in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise Damaged([Problem(str(path_of(layout)), f"it is damaged ({error})", repair(layout))]) from None


def write_note(layout: Layout, note: Mapping[str, int]) -> None:
    """Write the note: the last batch of each table."""
    file = path_of(layout)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(note))


def repair(layout: Layout) -> str:
    """Return the advice that restores the tasks' states, and the missing rows of tables, from the journal."""
    again = (
        f"{moving_away(layout.checkpoint)} and then to start the stream again. It runs all batches of its journal again"
    )
    if layout.is_remote:
        return f"{again} and gives each table what that lacks; what it has read of its source must still be there"
    return (
        f"{layout.rebuild_command()}, which makes it again from history; or, where the source still has all that was "
        f"read of it, {again} and gives each table what that lacks"
    )
