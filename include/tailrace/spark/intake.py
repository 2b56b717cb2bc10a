"""What the driver decides between two batches: the next entry of the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tailrace.errors import refuse
from tailrace.spark.journal import Entry, Journal
from tailrace.streams.segments import Segment


class Intake:
    """Plans the batches of a bounded run: what is there when it begins, in the order of the log.

    Parameters
    ----------
    files : list of Path
        The source's, in order. What the journal names already is known by the file's name and the first row.
    split : callable
        Gives a file's segments.
    settings : str
        The policy's, as declared now.
    batch_rows : int
        A batch takes segments up to so many rows, at least one.
    flush : bool
        Whether the last entry ends the stream.
    now_ms : int or None
        The arrival time of what brings none.
    """

    def __init__(
        self,
        journal: Journal,
        files: list[Path],
        split: Callable[[Path], list[Segment]],
        settings: str,
        batch_rows: int,
        flush: bool,
        now_ms: int | None,
    ) -> None:
        self.journal, self.batch_rows, self.flush = journal, batch_rows, flush
        entries = list(journal)
        taken = [segment for entry in entries for segment in entry.segments]
        self.batches, self.ended = len(entries), bool(entries and entries[-1].flush)
        in_force = next((entry.settings for entry in reversed(entries) if entry.settings is not None), None)
        self.settings = settings if settings != in_force else None
        self.log = _End(len(taken), sum(segment.rows for segment in taken))
        known = {(Path(segment.path).name, segment.first_row): segment for segment in taken}
        begun, fresh = {name for name, _ in known}, list[Segment]()
        for segment in (segment for file in files for segment in split(file)):
            old = known.get((Path(segment.path).name, segment.first_row))
            if old is None:
                fresh.append(replace(segment, ingested_ms=now_ms))
            elif (old.path, old.rows) != (segment.path, segment.rows):
                raise refuse(
                    segment.path,
                    f"a file of this name was read before: {old.rows} records of {old.path}; here are {segment.rows}",
                    "files that stay as they are, and new names for new ones",
                )
        # The rest of what was begun comes first.
        self.fresh = sorted((s for s in fresh if s.rows), key=lambda s: Path(s.path).name not in begun)
        if self.ended and self.fresh:
            raise refuse(
                self.fresh[0].path,
                "it came after the end of the stream was planned, and would never be read",
                "another warehouse, or another name for the query; --keep-open leaves a run open",
            )

    @property
    def rows_left(self) -> int:
        """How many rows no entry has named yet."""
        return sum(segment.rows for segment in self.fresh)

    def plan(self) -> Entry | None:
        """Write the next entry, or nothing when the run has no more to do."""
        if self.ended or not (self.fresh or self.settings is not None or self.flush):
            return None
        segments: list[Segment] = []
        while self.fresh and (not segments or sum(s.rows for s in segments) + self.fresh[0].rows <= self.batch_rows):
            segment = self.fresh.pop(0)
            segments.append(replace(segment, ordinal=self.log.segments, position=self.log.rows))
            self.log = _End(self.log.segments + 1, self.log.rows + segment.rows)
        entry = Entry(self.batches, tuple(segments), self.settings, self.flush and not self.fresh)
        self.journal.append(entry)
        self.batches, self.settings, self.ended = self.batches + 1, None, entry.flush
        return entry


@dataclass(frozen=True)
class _End:
    """Where the log ends: how many segments and rows are in it."""

    segments: int
    rows: int
