"""Puts the result of a rebuild in force by renaming directories; a record makes this atomic and resumable.

The record is written in one piece. Before, nothing has changed. Afterwards the query's stream can't be read until all
moves are made, if necessary by running the command again.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import on_disk
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import FORMAT

_BEFORE = "_before"

Move = tuple[Path, Path]
"""A directory or file, and its new path."""


def set_aside(layout: Layout, paths: Iterable[Path]) -> list[Move]:
    """Return the moves of the present directories into a numbered directory, where they are kept."""
    before = on_disk(layout.home) / _BEFORE
    target = next(before / str(number) for number in itertools.count(1) if not (before / str(number)).exists())
    return [(path, target / path.name) for path in paths if path.exists()]


def tables_aside(layout: Layout) -> list[Path]:
    """Return the directories that rebuilds have replaced; none in an object store, where nothing is rebuilt."""
    return [] if layout.is_remote else sorted((on_disk(layout.home) / _BEFORE).glob("*"))


def switch(layout: Layout, moves: Iterable[Move]) -> None:
    """Make all these moves, even if the process is killed and `resume` is called later."""
    home = on_disk(layout.home)
    record = [[str(source.relative_to(home)), str(target.relative_to(home))] for source, target in moves]
    write_atomically(layout.switch, json.dumps({"format": FORMAT, "moves": record}))
    resume(layout)


def resume(layout: Layout) -> bool:
    """Continue a record of moves; return False where there is none.

    Raises
    ------
    Refused
        When a rebuild of another format has written it.
    """
    home = on_disk(layout.home)
    try:
        record = json.loads(layout.switch.read_text())
    except FileNotFoundError:
        return False
    if record["format"] != FORMAT:
        raise layout.other_format(record["format"])
    for source, target in ((home / source, home / target) for source, target in record["moves"]):
        if source.exists() and not target.exists():  # otherwise it was made; the next move may fill its source
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
    layout.switch.unlink()
    return True
