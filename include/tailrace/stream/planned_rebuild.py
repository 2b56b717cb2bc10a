"""A planned rebuild of a stream: its result, its batches, and the step that puts the result in force."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tailrace.engine.pipeline import Pipeline
from tailrace.engine.progress import Progress
from tailrace.ground.files.object_path import on_disk
from tailrace.query.query import Query
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest, changes, keeps_answers, write_manifest
from tailrace.storage.replay import Replay, merged
from tailrace.storage.switch import set_aside, switch
from tailrace.storage.tables import Tables
from tailrace.storage.written_batches import write_note
from tailrace.stream.restated_journal import new_entries, versions_from_the_start
from tailrace.stream.run_options import RunOptions
from tailrace.tables.stream import UPSTREAM


@dataclass(frozen=True)
class Rebuild:
    """A planned rebuild.

    Attributes
    ----------
    query : Query
    layout : Layout
        The query's files.
    built : Layout
        The files of the result, beside the query's.
    before : CheckpointManifest
    manifest : CheckpointManifest
        The manifest of the result.
    pipeline : Pipeline
    replay : Replay
        The batches in which the journal's entries are run again.
    rows, stored_rows : int
        The number of records that are read again, and of those among them that are read from the tables.
    in_tables : dict
        If answers stay: how many of the first entries each table has completely.
    """

    query: Query
    layout: Layout
    built: Layout
    before: CheckpointManifest
    manifest: CheckpointManifest
    pipeline: Pipeline
    replay: Replay
    rows: int
    stored_rows: int
    in_tables: Mapping[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """The parts of the query that change: the values before and now, by field path."""
        return changes(self.before, self.query)

    @property
    def answers_anew(self) -> bool:
        """Whether the rebuild changes answers, so that it recomputes all of them."""
        return not keeps_answers(self.changed)

    @property
    def planner(self) -> JournalReplay:
        """The planner of its batches; a new journal has an entry for each of them."""
        replay = Replay(tuple(range(1, self.batches + 1))) if self.answers_anew else self.replay
        return JournalReplay(Journal(self.built.journal), replay)

    @property
    def entries(self) -> int:
        """The number of the journal's entries that are run again."""
        return self.replay.entries

    @property
    def batches(self) -> int:
        """The number of its batches."""
        return len(self.replay.ends)

    def begin(self) -> None:
        """Prepare the directory that the batches write to; remove the leftovers of an unfinished rebuild."""
        clear(self.layout)
        if not self.answers_anew:
            on_disk(self.built.checkpoint).mkdir(parents=True)
            tables = Tables(self.layout)
            last = {  # a table may be a batch ahead of the others; the note names the batches that all tables have
                name: min(tables.last_batch(name, self.before.id), count - 1)
                for name, count in self.in_tables.items()
                if count
            }
            write_note(self.built, {name: batch for name, batch in last.items() if batch >= 0})
            return
        self.built.journal.mkdir(parents=True)
        versions = on_disk(self.layout.table_versions)
        if versions.is_dir():
            shutil.copytree(versions, on_disk(self.built.table_versions))
        old = entries_of(Journal(self.layout.journal), self.entries)
        first = versions_from_the_start(self.query, self.layout, self.built, self.manifest.types)
        for entry in new_entries(self.query, self.pipeline.kind, old, self.replay, first):
            Journal(self.built.journal).append(entry)

    def put_in_force(self) -> None:
        """Put the rebuilt parts in force, and keep the replaced parts aside."""
        home, stream = on_disk(self.layout.home), on_disk(self.layout.stream)
        file, checkpoint = on_disk(self.layout.manifest_file), on_disk(self.layout.checkpoint)
        if not self.answers_anew:
            new = _new_manifest(self.layout)
            write_manifest(new, self.manifest)
            moves = set_aside(self.layout, [checkpoint, file])
            switch(self.layout, [*moves, (on_disk(self.built.checkpoint), checkpoint), (new, file)])
            return
        write_manifest(self.built.manifest_file, self.manifest)
        tables = [one for one in sorted(home.iterdir()) if (one / "_delta_log").is_dir() and one.name != UPSTREAM.name]
        moved = set_aside(self.layout, [*tables, stream, home / "_correction"])
        new_tables = [path for path in sorted(on_disk(self.built.home).iterdir()) if not path.name.startswith(".")]
        moves = [(path, home / path.name) for path in new_tables]
        switch(self.layout, [*moved, *moves])
        clear(self.layout)


def entries_of(journal: Journal, count: int) -> Iterator[BatchRecord]:
    return (journal[number] for number in range(count))


def clear(layout: Layout) -> None:
    """Remove the files of an unfinished rebuild."""
    shutil.rmtree(on_disk(layout.home) / "_built", ignore_errors=True)
    shutil.rmtree(on_disk(replace(layout, checkpoint_name="checkpoint.built").checkpoint), ignore_errors=True)
    _new_manifest(layout).unlink(missing_ok=True)


def _new_manifest(layout: Layout) -> Path:
    return on_disk(layout.stream) / "manifest.built.json"


@dataclass
class JournalReplay:
    """Runs the entries of a journal again, in the batches of a replay."""

    journal: Journal
    replay: Replay
    options: RunOptions = RunOptions(live=False, flush=False)  # noqa: RUF009 (frozen)
    problem: str | None = None
    wait_s: float = 0.0
    state: Literal["streaming", "waiting", "quiet"] = "streaming"

    def __post_init__(self) -> None:
        self._rows = self.rows_left = self.journal[self.batches - 1].position.rows if self.batches else 0

    @property
    def batches(self) -> int:
        """The number of entries to run."""
        return self.replay.entries

    def record(self, entries: int) -> BatchRecord:
        """Return the batch that follows the first `entries` entries."""
        return merged([self.journal[number] for number in range(entries, self.replay.end(entries))])

    def observe(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Observe how far the replay has come."""
        self.rows_left = self._rows - self.journal[metrics[0]["batch"]].position.rows

    def plan_batch(self, progress: Progress | None = None, takes_rows: bool = True) -> None:
        """Plan nothing."""
