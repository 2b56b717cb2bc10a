"""The journal: entry n says what batch n is. It is Spark's source, so a replayed batch is the same batch.

An entry names the segments to be read, settings that are to hold from then on, and whether the run ends with it. The
driver writes one entry at a time, between two batches; it is never changed. So which files came together, in which
order, and when those without an arrival time were taken in, is decided once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tailrace.spark.layout import write_whole
from tailrace.streams.segments import Segment


@dataclass(frozen=True)
class Entry:
    """What a batch is.

    Attributes
    ----------
    settings : str or None
        The slack policy's settings, where they are to change.
    flush : bool
        Whether this is the last batch of a bounded run.
    """

    batch: int
    segments: tuple[Segment, ...]
    settings: str | None
    flush: bool

    def head(self) -> bytes:
        """All but the segments, as every task is told."""
        return json.dumps({"batch": self.batch, "settings": self.settings, "flush": self.flush}).encode()


@dataclass(frozen=True)
class Journal:
    """The entries in a directory, from 0 on without a gap."""

    directory: Path

    def __len__(self) -> int:
        return sum(1 for file in self.directory.iterdir() if file.suffix == ".json" and file.name[0] != ".")

    def __getitem__(self, batch: int) -> Entry:
        kept = json.loads(self._file(batch).read_text())
        return Entry(**kept | {"segments": tuple(Segment(**segment) for segment in kept["segments"])})

    def __iter__(self) -> Iterator[Entry]:
        return (self[batch] for batch in range(len(self)))

    def append(self, entry: Entry) -> None:
        """Add the next entry; it is there whole or not at all."""
        write_whole(self._file(entry.batch), json.dumps(asdict(entry)))

    def _file(self, batch: int) -> Path:
        return self.directory / f"{batch:08d}.json"
