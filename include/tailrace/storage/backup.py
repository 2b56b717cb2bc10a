"""Backs up a query while its stream runs, by copying the parts in the reverse order of their writing.

A batch is written to the journal first, then to the tables one after the other, and noted last. The copy begins with
the tasks' state and ends with the journal. So it is like the files of a killed stream: each part holds at least the
batches of the parts that are written after it. One version of each table is copied, with the files that it names, which
the vacuum lock protects. The state of a running stream changes while it is copied, so it is left out; `tailrace
rebuild` can make it again from the tables.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Busy, Problem, refuse
from tailrace.ground.facts import is_table
from tailrace.ground.files.object_path import on_disk
from tailrace.storage.backup_manifest import BackupManifest, FileRecord, copy_file
from tailrace.storage.checkpoint import check_journal
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import require_files
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.table_schemas import stream_tables
from tailrace.storage.tables import VACUUM, Tables, last_batch_of
from tailrace.storage.writer import only_driver
from tailrace.storage.written_batches import path_of, read_written, write_note
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.correction import CORRECTION_TABLES
from tailrace.tables.stream import UPSTREAM

WAIT_S = 60.0  # the wait for a correction, or for a removal of files
_TRIES = 10  # for a table whose files vanish while it is copied, as its writer compacts it (rare)


def back_up(layout: Layout, output: Path) -> BackupManifest:
    """Copy a query's tables, journal and, unless its stream runs, its state to a directory, all or nothing.

    Raises
    ------
    Refused
        When the query never ran, its stream is of another format, or the directory is not empty.
    Damaged
        When a part is lost.
    Busy
        While a correction runs.
    """
    home = on_disk(layout.home)
    require_empty(output, "--output")
    manifest = layout.manifest()
    if manifest is None:
        raise refuse(str(home), "the query has never run in this warehouse", "tailrace run, first")
    with layout.lock(VACUUM, WAIT_S), new_directory(output, home.name) as new:
        made_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        copy = _Copy(layout, manifest, Layout(new / home.name))
        has_state = copy.take_state()
        copy.take_file(on_disk(layout.manifest_file))
        batches = copy.take_tables()
        copy.take_journal()
        copy.take_upstream()
        copy.take_directory(on_disk(layout.table_versions))
        if not (has_state := has_state and copy.has_note_of(batches)):
            copy.drop_state()
            copy.write_note(batches)
        check_journal(copy.target, max(batches.values(), default=-1) + 1)
        backup_manifest = BackupManifest(home.name, Journal(copy.target.journal).count, has_state, made_at, copy.files)
        backup_manifest.write(new)
    return backup_manifest


@dataclass
class _Copy:
    """A copy of a query's directory in progress; `files` has the files copied so far."""

    layout: Layout
    manifest: CheckpointManifest
    target: Layout
    files: dict[str, FileRecord] = field(default_factory=dict)

    def take_state(self) -> bool:
        """Copy the checkpoint unless the stream runs; the stream can't start meanwhile."""
        try:
            with only_driver(self.layout):
                self.take_directory(on_disk(self.layout.checkpoint))
        except Busy:
            return False
        return on_disk(self.layout.checkpoint).is_dir()

    def has_note_of(self, batches: Mapping[str, int]) -> bool:
        """Test whether the copied state is at most a batch older than the tables.

        If so, no stream has started meanwhile.
        """
        return max(read_written(self.target).values(), default=-1) + 1 >= batches.get("metrics", -1)

    def drop_state(self) -> None:
        """Remove the copied state, if there is one."""
        prefix = f"{on_disk(self.target.checkpoint).relative_to(on_disk(self.target.home))}/"
        shutil.rmtree(on_disk(self.target.checkpoint), ignore_errors=True)
        self.files = {file: record for file, record in self.files.items() if not file.startswith(prefix)}

    def take_tables(self) -> dict[str, int]:
        """Copy the tables; return the last batch of each of the stream's tables."""
        tables, streams = Tables(self.layout), sorted(name for name in self.manifest.types if not is_table(name))
        histories = [path.name for path in self.layout.histories(streams).values()]
        for name in (*reversed(CORRECTION_TABLES), PROPOSALS.name):  # last, as they depend on the stream's tables
            if tables.has(name):
                self._take_table(name)
        names = [name for name in reversed(stream_tables(histories)) if tables.has(name)]
        return {name: self._take_table(name) for name in names}

    def take_journal(self) -> None:
        """Copy the journal: single entries before blocks, as an entry may be merged into a block meanwhile."""
        journal = on_disk(self.layout.journal)
        for pattern in ("[0-9]*.json", "[0-9]*.jsonl.gz"):
            for file in sorted(journal.glob(pattern)):
                try:
                    self.take_file(file)
                except FileNotFoundError:
                    on_disk(self.target.journal / file.name).unlink(missing_ok=True)

    def take_upstream(self) -> None:
        """Copy the log of a chained query after the journal, which refers to its records."""
        if Tables(self.layout).has(UPSTREAM.name):
            self._take_table(UPSTREAM.name)

    def take_directory(self, directory: Path) -> None:
        """Copy the files of an unchanging directory, except hidden ones, which are incomplete or leftovers."""
        for file in sorted(directory.rglob("*")):
            if file.is_file() and not file.name.endswith(".new"):
                self.take_file(file)

    def take_file(self, file: Path) -> None:
        name = str(file.relative_to(on_disk(self.layout.home)))
        self.files[name] = copy_file(file, on_disk(self.target.home) / name)

    def write_note(self, batches: Mapping[str, int]) -> None:
        """Write the note of written batches, a part of the state; `metrics` has the batches that all tables have."""
        in_all = {name: min(batch, batches.get("metrics", -1)) for name, batch in batches.items()}
        write_note(self.target, {name: batch for name, batch in in_all.items() if batch >= 0})
        file = on_disk(path_of(self.target))
        self.files[str(file.relative_to(on_disk(self.target.home)))] = FileRecord.from_file(file)

    def _take_table(self, name: str) -> int:
        """Copy a version of a table; return its last batch, −1 where it has none."""
        tables, target = Tables(self.layout), on_disk(self.target.table(name))
        for _ in range(_TRIES):
            table = tables.open(name)
            try:
                self._take_version(name, table)
                copied = DeltaTable(target)
                if copied.version() == table.version():
                    return last_batch_of(table, self.manifest.id, name)
            except (FileNotFoundError, DeltaError):
                require_files(self.layout, name, tables.open(name))
            shutil.rmtree(target / "_delta_log", ignore_errors=True)
            self.files = {file: record for file, record in self.files.items() if not file.startswith(f"{name}/")}
        raise Busy([Problem(str(tables.layout.table(name)), "its files go while they are copied", "to try again")])

    def _take_version(self, name: str, table: DeltaTable) -> None:
        directory = on_disk(self.layout.table(name))
        for path in pa.table(table.get_add_actions()).column("path").to_pylist():
            self.take_file(directory / unquote(path))
        for file in sorted((directory / "_delta_log").iterdir()):
            number = file.name.split(".")[0]
            # A hint to a checkpoint after this version would mislead; without a hint the log is listed.
            if number.isdigit() and int(number) <= table.version() and file.suffix in (".json", ".parquet"):
                self.take_file(file)


def require_empty(directory: Path, option: str) -> None:
    """Refuse a path that is not a directory, or not empty."""
    if directory.exists() and not directory.is_dir():
        raise refuse(f"{option} {directory}", "it is a file", "a directory that is empty, or not there yet")
    if directory.is_dir() and any(directory.iterdir()):
        raise refuse(f"{option} {directory}", "the directory is not empty", "one that is empty, or not there yet")


@contextmanager
def new_directory(target: Path, owner: str) -> Iterator[Path]:
    """Yield a hidden directory beside the target.

    At the end of the block it is renamed to the target; on an error it is removed.
    """
    target = Path(os.path.abspath(target))
    new = target.with_name(f".{target.name}.{owner}.new")
    shutil.rmtree(new, ignore_errors=True)  # left by a process that was killed
    new.mkdir(parents=True)
    try:
        yield new
        os.sync()
        new.rename(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
