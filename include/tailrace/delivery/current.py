"""The table `current`: only the newest version of each answer, in the columns for readers.

So every reader of Delta tables reads it correctly. A refresh replaces whole groups of answers: the windows with the
same end, or the pairs with the same left tuple. A correction comes in one commit, so nobody sees it in part. The commit
records the versions of the query's tables up to which it was read, so a killed refresh is repeated.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from tailrace.delivery.answer_changes import AnswerChanges, Position
from tailrace.delivery.answer_parts import PART_ROWS, answer_parts
from tailrace.delivery.delivered import note_delivered, open_answers
from tailrace.delivery.groups import Changes, changes_of
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.errors import Damaged
from tailrace.kind.protocol import Kind
from tailrace.query.answers_section import CURRENT
from tailrace.query.query import Query
from tailrace.storage.checkpoint import require_corrections
from tailrace.storage.holding import RequireHeld
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import naming_what_is_lost
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerTables
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import storage_options

COMPACT_EVERY = 64  # commits between compactions, as each adds a file
MOST_COMMITS = 256  # commits of the query's tables without a changed answer after which the position is written anyway
_FILE_BYTES = 4 << 20  # files with a replaced row are rewritten
_CONFIGURATION = {
    "delta.targetFileSize": str(_FILE_BYTES),
    # Each refresh may replace files, and nobody reads an old version for long.
    "delta.logRetentionDuration": "interval 60 minutes",
    "delta.deletedFileRetentionDuration": "interval 60 minutes",
}


def refresh(layout: Layout, query: Query, kind: Kind, wait_s: float = 0.0) -> int:
    """Bring `current` up to date with the query's tables (idempotent).

    Parameters
    ----------
    query : Query
        The query as the stream runs it.
    wait_s : float
        The longest wait, in s, for another process that refreshes it.

    Returns
    -------
    int
        The number of rows written.

    Raises
    ------
    Busy
        When another process still refreshes it after that time.
    Damaged
        When another table is lost or damaged; in an object store also when this one is. On a disk it is rebuilt.
    """
    public = PublicAnswers.from_query(query, kind)
    with layout.lock(CURRENT, wait_s) as require_held:
        try:
            return _refresh(layout, public, require_held)
        except Damaged as damaged:
            path = layout.table(CURRENT)
            if not isinstance(path, Path) or not damaged.problems[0].where.startswith(str(path)):
                raise
            shutil.rmtree(path)  # it can be rebuilt from the other tables
            return _refresh(layout, public, require_held)


def _refresh(layout: Layout, public: PublicAnswers, require_held: RequireHeld) -> int:
    tables = OpenedTables(layout)
    require_corrections(tables)
    if not tables.has("results"):
        return 0
    with naming_what_is_lost(layout, CURRENT):
        answers = open_answers(tables)
        before = tables.open(CURRENT).version() if tables.has(CURRENT) else -1
        written = _Refresh(tables, public, require_held).run()
    if before // COMPACT_EVERY != Tables(layout).open(CURRENT).version() // COMPACT_EVERY and before >= 0:
        Tables(layout).compact([CURRENT])
    require_held()
    note_delivered(layout, CURRENT, None, answers)
    return written


@dataclass(frozen=True)
class _Refresh:
    """One refresh, from tables at their present versions."""

    tables: OpenedTables
    public: PublicAnswers
    require_held: RequireHeld

    def run(self) -> int:
        """Refresh the table, and return the number of rows written."""
        if not self.tables.has(CURRENT):
            return self._write_all(AnswerChanges(self.tables, self.public, lambda table: None).position)
        table = self.tables.open(CURRENT)
        affected = AnswerChanges(self.tables, self.public, table.transaction_version)
        changes = changes_of(affected, table)
        if changes is None:
            return self._write_all(affected.position)
        if not changes.rows and changes.replaced is None and affected.commits < MOST_COMMITS:
            return 0
        return self._write_changes(table, changes, affected.position)

    def _write_all(self, position: Position) -> int:
        """Write all answers in one commit, with some in memory at a time."""
        path, answers = self.tables.layout.table(CURRENT), AnswerTables(self.tables, self.public.model)
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "answers.parquet")
            with pq.ParquetWriter(file, self.public.schema) as writer:  # Delta's library can't read while it writes
                for part in answer_parts(answers, self.public, PART_ROWS):
                    writer.write_table(self.public.rows(answers.with_coverage(answers.latest(part))))
            written = pq.ParquetFile(file)
            self.require_held()
            write_deltalake(
                str(path),
                pa.RecordBatchReader.from_batches(self.public.schema, written.iter_batches()),
                mode="overwrite",
                schema_mode="overwrite",
                configuration=_CONFIGURATION,
                storage_options=storage_options(path),
                target_file_size=_FILE_BYTES,
                commit_properties=_commit(position),
            )
            return int(written.metadata.num_rows)

    def _write_changes(self, table: DeltaTable, changes: Changes, position: Position) -> int:
        """Replace the groups that have changed, and add new answers.

        If both happen, only the second commit has the position: if a refresh was killed between the two, the next one
        replaces the groups again.
        """
        if changes.replaced is not None:
            self.require_held()
            write_deltalake(
                table,
                changes.replaced,
                mode="overwrite",
                predicate=changes.predicate,
                target_file_size=_FILE_BYTES,
                commit_properties=None if changes.added.num_rows else _commit(position),
            )
        if changes.added.num_rows or changes.replaced is None:
            self.require_held()
            write_deltalake(table, changes.added, mode="append", commit_properties=_commit(position))
        return changes.rows


def _commit(position: Position) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(table, version) for table, version in position.items()])
