"""The query's Delta tables: each has one writer, which appends every batch exactly once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from tailrace.ground.arrow.table_schema import TableSchema
from tailrace.ground.arrow.times import TIME
from tailrace.ground.errors import Damaged, Problem
from tailrace.ground.files.object_path import Location
from tailrace.ground.files.written_files import FILES
from tailrace.sources import history
from tailrace.storage.added_files import add_actions
from tailrace.storage.file_bounds import bounded_dataset
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import has_leftovers, naming_what_is_lost, repair_of
from tailrace.storage.retention import adapt_retention, properties
from tailrace.storage.warehouses import storage_options
from tailrace.tables.every import in_ms
from tailrace.tables.stream import is_history

_LARGEST_MS = 1 << 53  # in microseconds it still fits into an int64

_BATCH_ROWS = 1 << 17  # Arrow's own default
FILE_BYTES = 8 << 20  # larger files are not rewritten, so that a compaction rewrites the last file, not the table
RETENTION = properties()

VACUUM = "vacuum"
"""The lock for removing files of a stream's tables; a correction holds it while it reads them."""

COMPACT_EVERY = 64
"""The number of batches between compactions; each batch adds a file to each table."""


@dataclass(frozen=True)
class Tables:
    """The Delta tables of one query."""

    layout: Layout

    def create(self, schemas: Mapping[str, pa.Schema]) -> None:
        """Create each of these tables that does not exist yet, empty, in the order of the mapping."""
        for name, schema in schemas.items():
            path = self.layout.table(name)
            DeltaTable.create(
                str(path),
                schema,
                mode="ignore",
                partition_by=history.PARTITIONS if is_history(name) else None,
                configuration=RETENTION,
                storage_options=storage_options(path),
            )

    def append(self, name: str, rows: pa.Table, app: str, batch: int) -> bool:
        """Append a batch's rows, unless the table has this batch already (idempotent).

        Parameters
        ----------
        rows : Table
            Rows, or records of files that workers wrote (`ground.files.written_files`), which the commit names.
        app : str
            The id of the writer: its checkpoint's id.

        Returns
        -------
        bool
            Whether the rows were appended.
        """
        table = self.open(name)
        if last_batch_of(table, app, name) >= batch:
            return False
        commit = CommitProperties(app_transactions=[Transaction(_app_id(app, name), batch)])
        if rows.schema.names[: len(FILES)] == FILES.names:
            has_as_of = any(field.name == "as_of" for field in table.schema().fields)
            actions = add_actions(rows, self.layout.table(name) if has_as_of else None)
            table.create_write_transaction(actions, "append", table.schema(), commit_properties=commit)
        else:
            write_deltalake(table, rows, mode="append", commit_properties=commit)
        return True

    def last_batch(self, name: str, app: str) -> int:
        """Return the last batch that the writer `app` (a checkpoint's id) appended to a table; -1 without one."""
        return last_batch_of(self.open(name), app, name)

    def sweep(self, name: str) -> int:
        """Remove a table's uncommitted files, left by failed attempts; return their number.

        The table's writer calls it before it writes. Files removed by a commit stay for readers of earlier versions,
        for the table's retention.
        """
        if not self.has(name):
            return 0
        table = self.open(name)
        removed, unnamed = (
            set(table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False, full=full))
            for full in (False, True)
        )
        orphans = unnamed - removed
        for file in orphans:
            (self.layout.table(name) / unquote(file)).unlink(missing_ok=True)
        return len(orphans)

    def compact(self, names: Iterable[str], removes: bool = True) -> None:
        """Merge small files, and remove files and log entries that are no longer needed; for the tables' writer.

        Unneeded files are kept for some time (`storage.retention`), so that readers can finish.

        Parameters
        ----------
        removes : bool
            Whether to remove files now; False while a reader may take longer than that.
        """
        for name in names:
            if self.has(name):
                table = self.open(name)
                with naming_what_is_lost(self.layout, name):
                    table.optimize.compact(target_size=FILE_BYTES)
                if removes:
                    adapt_retention(table)
                    table.vacuum(dry_run=False, full=True)  # also uncommitted files
                table.create_checkpoint()
                if removes:
                    table.cleanup_metadata()

    def add(self, name: str, rows: pa.Table) -> None:
        """Append rows without a check for repeats, where duplicates do no harm."""
        write_deltalake(self.open(name), rows, mode="append")

    def replace(self, name: str, rows: pa.Table, column: str, value: str, table: DeltaTable | None = None) -> None:
        """Replace the rows with this value in a column by the given rows, in one commit.

        `table`: the table as opened before; this commit fails if another one has touched these rows since.
        """
        table = self.open(name) if table is None else table
        predicate = f"\"{column}\" = '{value}'"  # quoted: `interval` is an SQL keyword
        with naming_what_is_lost(self.layout, name):
            # Used without rows, too: a deletion would rewrite other rows with a string type that no condition supports.
            write_deltalake(table, rows, mode="overwrite", predicate=predicate)

    def put(self, name: str, rows: pa.Table, columns: Iterable[str]) -> None:
        """Upsert rows by some columns."""
        condition = " AND ".join(f'(old."{column}" IS NOT DISTINCT FROM new."{column}")' for column in columns)
        table = self.open(name)
        with naming_what_is_lost(self.layout, name):
            merge = table.merge(rows, condition, source_alias="new", target_alias="old")
            merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def has(self, name: str) -> bool:
        """Test whether the table exists; a process killed while creating it leaves only the directory.

        Raises
        ------
        Damaged
            When its files exist but its log is lost.
        """
        path = self.layout.table(name)
        if self._is_table(path):
            return True
        if has_leftovers(self.layout, name) and not self._is_table(path):  # it may have been created meanwhile
            raise Damaged([Problem(str(path / "_delta_log"), "the table's log is lost", repair_of(self.layout, name))])
        return False

    @staticmethod
    def _is_table(path: Location) -> bool:
        return DeltaTable.is_deltatable(str(path), storage_options(path))

    def open(self, name: str) -> DeltaTable:
        """Open an existing table at its newest version; raise `Damaged` if its log is damaged."""
        with naming_what_is_lost(self.layout, name):
            return open_table(self.layout.table(name))

    def schema(self, name: str) -> pa.Schema:
        """Return the schema of a table that exists."""
        return pa.schema(self.open(name).schema().to_arrow())

    def empty(self, name: str, columns: Iterable[str] | None = None) -> pa.Table:
        """Return no rows of a table that exists, with the columns and types that `read` would return."""
        rows = self.schema(name).empty_table()
        return in_ms(rows if columns is None else rows.select([*columns]), name)

    def greatest(self, name: str, column: str) -> int | None:
        """Return the greatest value of a column, from the statistics of the table's files; None without any."""
        actions = pa.table(self.open(name).get_add_actions(flatten=True))
        return pc.max(actions.column(f"max.{column}")).as_py() if actions.num_rows else None

    def read(self, name: str, columns: Iterable[str] | None = None, where: Any = None) -> pa.Table:
        """Read rows of a table, with its own times as int64 milliseconds.

        Parameters
        ----------
        where : pyarrow.dataset.Expression, optional
            The condition that rows must meet; files that can't have such rows are not read.

        Raises
        ------
        FileNotFoundError
            When the query has no such table, such as before its first run in this warehouse.
        Damaged
            When the table's log, or a file that it names, is lost or damaged.
        """
        if not self.has(name):
            raise FileNotFoundError(self.layout.table(name))
        dataset = bounded_dataset(self.open(name), where)
        with naming_what_is_lost(self.layout, name):
            return in_ms(dataset.to_table(columns=list(columns) if columns else None, filter=where), name)

    def count(self, name: str, where: Any) -> int:
        """Count the rows of a table that exists; for most files their statistics are enough."""
        dataset = bounded_dataset(self.open(name), where)
        with naming_what_is_lost(self.layout, name):
            return int(dataset.count_rows(filter=where))

    def read_or_empty(self, table: TableSchema, columns: Collection[str] | None = None, where: Any = None) -> pa.Table:
        """Read rows like `read`; a table that does not exist yet has none."""
        return self.read(table.name, columns, where) if self.has(table.name) else table.empty(columns)

    def batches(self, name: str, columns: list[str], where: Any, most: int = _BATCH_ROWS) -> Iterator[pa.Table]:
        """Yield an existing table's rows like `read`, at most `most` at a time, to limit memory."""
        dataset = bounded_dataset(self.open(name), where)
        with naming_what_is_lost(self.layout, name):
            for batch in dataset.to_batches(columns=columns, filter=where, batch_size=most):
                yield in_ms(pa.Table.from_batches([batch]), name)


def open_table(path: Location) -> DeltaTable:
    """Open a table of a warehouse at its newest version."""
    return DeltaTable(str(path), storage_options=storage_options(path))


def _app_id(app: str, name: str) -> str:
    """Return the id of a writer's transactions in a table's log."""
    return f"{app}:{name}"


def last_batch_of(table: DeltaTable, app: str, name: str) -> int:
    """Return the last batch that a writer has appended to an opened table; -1 without one."""
    last = table.transaction_version(_app_id(app, name))
    return -1 if last is None else last


def within(column: str, low: int, high: int) -> Any:
    """Return the condition that a time lies in (low, high], both in ms."""
    after, until = (pa.scalar(min(max(point, -_LARGEST_MS), _LARGEST_MS) * 1000, TIME) for point in (low, high))
    return (ds.field(column) > after) & (ds.field(column) <= until)


def within_any(column: str, low: Iterable[int], high: Iterable[int]) -> Any:
    """Return the condition that a time lies in one of the ranges (low, high], in ms."""
    return reduce(or_, (within(column, *ends) for ends in zip(low, high, strict=True)), ds.scalar(False))
