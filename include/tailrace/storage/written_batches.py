"""A note of the last batch that each of the stream's tables holds, kept inside Spark's checkpoint. No Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tailrace.ground.errors import Damaged, Problem
from tailrace.ground.files import write_atomically
from tailrace.storage.layout import Layout


def path_of(layout: Layout) -> Path:
    """The path of the note, inside the directory of Spark's checkpoint.

    Whoever removes that directory has every batch of the journal run again, and each table then gets what it lacks.
    """
    return layout.checkpoint / "tables.json"


def read_written(layout: Layout) -> dict[str, int]:
    """Read the last batch by table; empty before the first batch of a checkpoint.

    Raises
    ------
    Damaged
        When the note can't be read.
    """
    file = path_of(layout)
    try:
        return {str(name): int(batch) for name, batch in json.loads(file.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise Damaged([Problem(str(file), f"it is damaged ({error})", repair(layout))]) from None


def record_written(layout: Layout, tables: Iterable[str], batch: int) -> None:
    """Record that these tables hold a batch, and all before it."""
    write_note(layout, read_written(layout) | dict.fromkeys(tables, batch))


def write_note(layout: Layout, note: Mapping[str, int]) -> None:
    """Write the note: the last batch of each table."""
    file = path_of(layout)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(note))


def repair(layout: Layout) -> str:
    """The advice by which Spark's checkpoint, and what the tables lack, is made again from the journal."""
    return (
        f"{layout.rebuild_command()}, which makes it again from history; or, where the source still has all that was "
        f"read of it, mv {layout.checkpoint} {layout.checkpoint}.damaged and then to start the stream again. It runs "
        "every batch of its journal again and gives each table what that lacks"
    )
