"""The query's Delta tables: their schemas, one writer each, every batch written once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.transaction import AddAction

from tailrace.sources import history
from tailrace.storage.layout import Layout

TIME = pa.timestamp("us", "UTC")
INT, TEXT, REAL = pa.int64(), pa.string(), pa.float64()

_FAR = 1 << 53  # in ms: as far as microseconds can tell

_FILE_BYTES = 8 << 20  # a file that is so large is left alone: each compaction writes the last one, not the table, anew
_RETENTION = dict.fromkeys(("delta.logRetentionDuration", "delta.deletedFileRetentionDuration"), "interval 1 hours")

CLASSES = ("buffered", "in_process", "expired")
"""The classes of tuples that came, by where the frontier found them (paper 002, section 1.3)."""

STAMPS = {"k_ms": INT, "as_of": TIME, "emitted_at": TIME, "facts_version": INT}
"""What every answer carries beside the kind's own columns."""


def schemas(answer: pa.Schema, id_type: pa.DataType = TEXT) -> dict[str, pa.Schema]:
    """The schema of each table; `answer` is the kind's own part of an answer, key and window included."""
    answers = {name: TIME if name.startswith("window_") else answer.field(name).type for name in answer.names} | STAMPS
    key = answer.field("key").type
    columns: dict[str, dict[str, pa.DataType]] = {
        "results": answers,
        "late": {"stream": TEXT, "key": key, "pane_start": TIME, "tick": INT, "tuples": INT}
        | {"total": REAL, "arrived": TIME, "frontier": TIME},
        "quarantine": {"stream": TEXT, "position": TEXT, "arrival_time": TIME, "reason": TEXT, "record": TEXT},
        "facts": {"version": INT, "from_tick": INT, "settings": TEXT, "evidence": TEXT},
        "segments": dict.fromkeys(("batch", "ordinal", "position"), INT)
        | {"path": TEXT}
        | dict.fromkeys(
            (
                "first_row",
                "rows",
                "of_rows",
                "size",
                "mtime_ns",
                "ingested_ms",
                "accepted",
                "quarantined",
                "before_tick",
                "before_end",
                "min_event",
                "max_event",
            ),
            INT,
        )
        | {"min_id": id_type, "max_id": id_type},
        "metrics": dict.fromkeys(("batch", "task", "rows", "partials", "late", "answers"), INT)
        | dict.fromkeys(("ticks", "k_ms", *CLASSES), INT)
        | dict.fromkeys(("t_max", "frontier", "committed"), TIME)
        | {"coverage": REAL, "latency_ms": REAL, "load": REAL, "flushed": pa.bool_()},
        "corrections": answers | {"interval": TEXT, "retracted": pa.bool_()},
        "correction_runs": {"interval": TEXT, "as_of": TIME, "started_at": TIME}
        | {"arrived_from": TIME, "arrived_to": TIME}
        | dict.fromkeys(("late", "answers", "retracted"), INT),
        "quality": dict.fromkeys(("bucket_start", "bucket_end"), TIME)
        | dict.fromkeys(("answers", "corrected", "missing", "off"), INT)
        | dict.fromkeys(("share", "mean_error", "worst_error", "mean_k_ms", "error", "risk", "accuracy"), REAL),
    }
    return {name: pa.schema(list(fields.items())) for name, fields in columns.items()}


STREAM_TABLES = ("history", "results", "late", "quarantine", "facts", "segments", "metrics")
"""The stream's, in the order in which a batch is written: a batch that is in `metrics` is in all of them."""

COMPACT_EVERY = 64
"""Batches, each of which adds a file to each table, from one compaction to the next."""

CORRECTION_TABLES = ("corrections", "correction_runs", "quality")

PROPOSALS = pa.schema(
    [("made_at", TIME), ("declared", TEXT), ("settings", TEXT)]
    + [(name, INT) for name in ("k_ms", "lower_ms", "upper_ms")]
    + [("durations", TEXT), ("windows", INT), ("accuracy", REAL), ("until", TIME), ("evidence", TEXT)]
)
CALIBRATION_TABLES = ("proposals",)


@dataclass(frozen=True)
class Tables:
    """The tables of one query."""

    layout: Layout

    def create(self, wanted: dict[str, pa.Schema], names: Iterable[str]) -> None:
        """Make those of a writer's tables that are not there yet, empty."""
        for name, schema in ((name, wanted[name]) for name in names if name in wanted):
            parts = history.PARTITIONS if name == "history" else None
            path = self.layout.table(name)
            DeltaTable.create(path, schema, mode="ignore", partition_by=parts, configuration=_RETENTION)

    def append(self, name: str, rows: pa.Table, app: str, batch: int) -> bool:
        """Append a batch's rows, unless the table has this batch already.

        Parameters
        ----------
        app : str
            The writer: the same for the life of its checkpoint, and another for each checkpoint.

        Returns
        -------
        bool
            Whether anything was written.
        """
        table = DeltaTable(self.layout.table(name))
        if _last_batch(table, app, name) >= batch:
            return False
        done = CommitProperties(app_transactions=[Transaction(_writer(app, name), batch)])
        if name == "history":  # the readers wrote its files: they only have to be named
            table.create_write_transaction(_added(rows), "append", table.schema(), commit_properties=done)
        else:
            write_deltalake(table, rows, mode="append", commit_properties=done)
        return True

    def last_batch(self, name: str, app: str) -> int:
        """The last batch that a writer has appended to a table; -1 where there is none."""
        return _last_batch(DeltaTable(self.layout.table(name)), app, name)

    def compact(self, names: Iterable[str]) -> None:
        """Put small files together, and clean up what nobody needs any more: to be called by the tables' writer.

        Readers have `_RETENTION` to finish with what they have begun to read.
        """
        for name in names:
            if self.has(name):
                table = DeltaTable(self.layout.table(name))
                table.optimize.compact(target_size=_FILE_BYTES)
                table.vacuum(dry_run=False)
                table.create_checkpoint()
                table.cleanup_metadata()

    def add(self, name: str, rows: pa.Table) -> None:
        """Append rows of which it does not matter whether they come twice."""
        write_deltalake(self.layout.table(name), rows, mode="append")

    def replace(self, name: str, rows: pa.Table, column: str, value: str) -> None:
        """Put these rows in the place of those whose column has the value, in one commit."""
        path = self.layout.table(name)
        predicate = f"\"{column}\" = '{value}'"  # quoted: `interval` is a word of SQL
        if rows.num_rows:
            write_deltalake(path, rows, mode="overwrite", predicate=predicate)
        else:
            DeltaTable(path).delete(predicate)

    def put(self, name: str, rows: pa.Table, column: str) -> None:
        """Put these rows in the place of those with the same values in a column, where there are any, in one commit."""
        same = f'old."{column}" = new."{column}"'
        merge = DeltaTable(self.layout.table(name)).merge(rows, same, source_alias="new", target_alias="old")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def has(self, name: str) -> bool:
        """Whether the table is there; its directory alone is what a process leaves that was killed as it made it."""
        return DeltaTable.is_deltatable(str(self.layout.table(name)))

    def greatest(self, name: str, column: str) -> int | None:
        """The greatest value of a column, from the statistics of the table's files; None where it has no rows."""
        actions = pa.table(DeltaTable(self.layout.table(name)).get_add_actions(flatten=True))
        return pc.max(actions.column(f"max.{column}")).as_py() if actions.num_rows else None

    def read(self, name: str, columns: Iterable[str] | None = None, where: Any = None) -> pa.Table:
        """The rows of a table, times as int64 milliseconds.

        Parameters
        ----------
        where : pyarrow.dataset.Expression, optional
            Only these rows; files that can't have any are not read.

        Raises
        ------
        FileNotFoundError
            When the query has no such table: it never ran in this warehouse.
        """
        path = self.layout.table(name)
        if not self.has(name):
            raise FileNotFoundError(path)
        rows = DeltaTable(path).to_pyarrow_dataset().to_table(columns=list(columns) if columns else None, filter=where)
        return in_ms(rows)


def _writer(app: str, name: str) -> str:
    """The name of a checkpoint's app transactions in a table."""
    return f"{app}:{name}"


def _last_batch(table: DeltaTable, app: str, name: str) -> int:
    last = table.transaction_version(_writer(app, name))
    return -1 if last is None else last


def within(column: str, low: int, high: int) -> Any:
    """The condition that a time lies in (low, high], both in ms."""
    first, last = (pa.scalar(min(max(point, -_FAR), _FAR) * 1000, TIME) for point in (low, high))
    return (ds.field(column) > first) & (ds.field(column) <= last)


def within_any(column: str, low: Iterable[int], high: Iterable[int]) -> Any:
    """The condition that a time lies in one of the ranges (low, high], in ms."""
    return reduce(or_, (within(column, *ends) for ends in zip(low, high, strict=True)), ds.scalar(False))


def with_times(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the table's columns and types; times come as int64 milliseconds."""
    return pa.table([_as(rows.column(field.name), field.type) for field in schema], schema=schema)


def in_ms(rows: pa.Table) -> pa.Table:
    """The rows with each timestamp as int64 milliseconds."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            ms = rows.column(place).cast(pa.timestamp("ms", "UTC"), safe=False).cast(INT)
            rows = rows.set_column(place, field.name, ms)
    return rows


def _added(files: pa.Table) -> list[Any]:
    return [
        AddAction(
            file["path"],
            file["size"],
            {name: str(file[name]) for name in history.PARTITIONS},
            0,
            True,
            json.dumps({"numRecords": file["rows"]}),
        )
        for file in files.to_pylist()
    ]


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_timestamp(kind) and pa.types.is_integer(column.type):
        return pc.cast(pc.cast(column, pa.timestamp("ms", "UTC")), kind)
    return pc.cast(column, kind)
