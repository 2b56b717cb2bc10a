"""A note of each run names the file that declares its query, so that commands find the file by the query's name."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.storage.layout import Layout


@dataclass
class QueryFile:
    """Notes the query file of a run, as its callback after the first batch.

    Attributes
    ----------
    file, streams : Path, and Path or None
        The query file; and for SQL text, the file with its streams.
    """

    layout: Layout
    file: Path
    streams: Path | None = None
    is_noted: bool = False

    def __call__(self, *_: Any) -> None:
        """Write the note once; ignore a failure, as no answer depends on the note."""
        if not self.is_noted:
            self.is_noted = True
            paths = {"file": str(self.file.absolute())}
            if self.streams is not None:
                paths["streams"] = str(self.streams.absolute())
            with suppress(OSError):
                write_atomically(_note(self.layout), json.dumps(paths))

    @staticmethod
    def read(layout: Layout) -> QueryFile | None:
        """Read the note of the last run; None if there is none, or it can't be read."""
        try:
            paths = json.loads(_note(layout).read_text())
            streams = paths.get("streams")
            return QueryFile(layout, Path(paths["file"]), None if streams is None else Path(streams), is_noted=True)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


def _note(layout: Layout) -> Location:
    return layout.stream / "query_file.json"
