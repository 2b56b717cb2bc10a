"""The tables that a query's stream writes."""

from __future__ import annotations

import pyarrow as pa

from tailrace.ground.arrow.table_schema import BOOLEAN, INT, REAL, TEXT, Column, TableSchema
from tailrace.ground.arrow.times import TIME
from tailrace.tables.answers import RESULTS, STAMPS

CLASSES = {
    "buffered": Column(INT, "tuples that came before the frontier (the watermark) had reached their pane"),
    "in_process": Column(INT, "tuples that came later, while one of their windows was open"),
    "expired": Column(INT, "tuples that came after their last window had closed"),
}
"""The classes of tuples, by the frontier (the watermark) at their arrival (paper 002, section 1.3)."""

VALUES = "(values)"
"""A placeholder for the columns of history whose names depend on the query."""

_HISTORY = {
    "event_time": Column(TIME, "event time"),
    "arrival_time": Column(TIME, "arrival time"),
    "id": Column(None, "id; where the source has none, one made from the position in the source"),
    "key": Column(None, "key; a list of keys as text"),
    VALUES: Column(
        None,
        "a column for each part of a tuple that the kind needs; with a lookup of `corrections: newest`, instead one "
        "for each column of the source that the query reads, as `source_COLUMN`",
    ),
    "position": Column(INT, "number of records of the stream before it"),
    "tick": Column(INT, "tick of its arrival"),
    "end": Column(INT, "end of the tick, ms"),
    "event_date": Column(TEXT, "date of the event time; the table is partitioned by it and by the hour"),
    "event_hour": Column(INT, "hour of the event time"),
}
HISTORY = TableSchema(
    "history",
    "stream",
    "the accepted tuples, unless a Parquet or Delta log with arrival times, or `upstream`, has them",
    _HISTORY,
)


def is_history(table: str) -> bool:
    """Test whether a table of this name holds a stream's history: `history`, or in a join `history_STREAM`."""
    return table == HISTORY.name or table.startswith(f"{HISTORY.name}_")


_LATE = {
    "stream": Column(TEXT, "name of the stream"),
    "tick": Column(INT, "tick in which the tuples came"),
    "tuples": Column(INT, "number of tuples, each counted once, however many windows it missed"),
    "arrived": Column(TIME, "end of the tick, which counts as their arrival time"),
    "frontier": Column(TIME, "frontier (the watermark) when they came: windows that end by then had closed"),
}
_LATE_BY_KIND = {
    "key": Column(None, "of windows: the key of the tuples"),
    "pane_start": Column(TIME, "of windows: begin of the tuples' pane; a window consists of whole panes"),
    "total": Column(REAL, "of one aggregate without a name: the sum of the tuples' values"),
    "values": Column(None, "of named aggregates: how much the tuples change each of them"),
    "id": Column(None, "of pairs: the tuple's id"),
    "event_time": Column(TIME, "of pairs: the tuple's event time"),
}
LATE = TableSchema(
    "late", "stream", "the tuples that missed a window, counted by key, pane and tick", _LATE, by_kind=_LATE_BY_KIND
)

_QUARANTINE = {
    "stream": Column(TEXT, "name of the stream"),
    "position": Column(TEXT, "the path of its file, # and the number of the record in it, from 0"),
    "arrival_time": Column(TIME, "arrival time; null where the record has no readable one"),
    "reason": Column(TEXT, "why it is no tuple"),
    "record": Column(TEXT, "content of the record"),
}
QUARANTINE = TableSchema("quarantine", "stream", "the records that are no tuples", _QUARANTINE)

_FACTS = {
    "about": Column(TEXT, "`settings`, `plan` (of partitions), `table` or `lookup STREAM.NAME` (a table's version)"),
    "value": Column(TEXT, "the new configuration, as JSON"),
    "evidence": Column(TEXT, "why it changed, in words"),
    "version": Column(INT, "number of the version, from 1 on for each value of `about`"),
    "from_tick": Column(INT, "settings: the first tick in which they hold"),
    "from_segment": Column(INT, "plans and tables: `ordinal` of the first segment for which they hold"),
}
FACTS = TableSchema(
    "facts",
    "stream",
    "the facts (a fact is a configuration change): settings, with the tick from which they hold; partition plans and "
    "versions of tables, with their first segment",
    _FACTS,
)

_SEGMENTS = {
    "batch": Column(INT, "batch that read the segment"),
    "ordinal": Column(INT, "number of segments before it, of all streams"),
    "position": Column(INT, "number of records of its stream before it"),
    "stream": Column(TEXT, "name of the stream"),
    "path": Column(TEXT, "its file, or its topic and partition"),
    "first_row": Column(INT, "index of its first record in the file, from 0"),
    "rows": Column(INT, "number of its records"),
    "of_rows": Column(INT, "number of all records of the file"),
    "size": Column(INT, "size of the file, bytes"),
    "mtime_ns": Column(INT, "time of the file's last change, ns; for an object in a bucket, a digest of its ETag"),
    "ingested_ms": Column(INT, "wall-clock time at which it was read, ms: the arrival time where the source has none"),
    "accepted": Column(INT, "records that are tuples"),
    "quarantined": Column(INT, "records in `quarantine`"),
    "before_tick": Column(INT, "newest tick of its stream before it: its tuples belong to no earlier one"),
    "before_end": Column(INT, "end of the newest tick of all streams when it was read, ms"),
    "min_event": Column(INT, "least event time of its tuples, or of its records (`corrections: newest`), ms"),
    "max_event": Column(INT, "greatest event time of its tuples or records, ms"),
    "min_id": Column(None, "least id of its tuples or records"),
    "max_id": Column(None, "greatest id of its tuples or records"),
    "distinct_ids": Column(BOOLEAN, "whether it is known that no id occurs twice in it"),
    "filtered": Column(INT, "records that `where`, or a lookup without a row for them, leaves out"),
    "unmatched": Column(INT, "those among `filtered` that met no row of a lookup with `on_no_match: drop`"),
    "floored": Column(TEXT, "columns whose times were finer than microseconds and were floored; null: none"),
}
SEGMENTS = TableSchema("segments", "stream", "what was read of the source, in order", _SEGMENTS)

_METRICS = {
    "batch": Column(INT, "number of the batch"),
    "task": Column(INT, "number of the task"),
    "rows": Column(INT, "tuples that the task took in"),
    "partials": Column(INT, "rows that came to the task: tuples, or partial aggregates of them"),
    "repeats": Column(INT, "tuples that `deduplicate: true` dropped, as their id had come before"),
    "late": Column(INT, "late tuples"),
    "answers": Column(INT, "answers"),
    "ticks": Column(INT, "ticks that were complete"),
    "newest_tick": Column(INT, "newest tick that a tuple or a heartbeat has reached"),
    "complete_tick": Column(INT, "newest tick that is complete"),
    "k_ms": Column(INT, "slack K (allowed lateness) at the end of the batch, ms"),
    **CLASSES,
    "t_max": Column(TIME, "greatest event time of complete ticks; in a join, the smaller one of the two streams"),
    "frontier": Column(TIME, "frontier (the watermark): windows that end by then have closed"),
    "committed": Column(TIME, "arrival time up to which everything was taken in"),
    "newest_event": Column(
        TIME, "greatest event time of any tuple of all streams and batches so far; the same in all tasks"
    ),
    "coverage": Column(REAL, "share of the tuples of closed windows that came before the windows closed"),
    "latency_ms": Column(REAL, "mean stream time from a window's end, or a pair's later tuple, to the answer"),
    "load": Column(REAL, "work of the task, if the kind measures it; otherwise the task's share of the batch's tuples"),
    "imbalance": Column(REAL, "how far the greatest load of a task exceeds the mean, as a share"),
    "flushed": Column(BOOLEAN, "whether the batch ended a bounded run, which closes all windows"),
    "reached": Column(pa.list_(INT), "arrival time that each stream has reached, ms"),
    "loads": Column(
        pa.map_(TEXT, pa.list_(REAL)), "loads by part, such as exact distances and CPU ms by span, or matches by cell"
    ),
    "counts": Column(pa.map_(TEXT, INT), "counts that only this kind has, such as the pairs that each filter left"),
    "filtered": Column(INT, "records that `where`, or a lookup without a row for them, leaves out"),
    "threshold": Column(REAL, "coverage below which K grows, of policies that have one"),
}
METRICS = TableSchema(
    "metrics",
    "stream",
    "measurements by batch and task (of a join with a table, by batch), with the paper's three classes of tuples: "
    + ", ".join(f"`{name}`" for name in CLASSES),
    _METRICS,
)

_ACTIVITY = {
    "made_at": Column(TIME, "wall-clock time of the observation: every minute, and where the state changes"),
    "started_at": Column(TIME, "wall-clock time at which its driver began"),
    "state": Column(TEXT, "state of the driver, as in `tailrace status`"),
    "problem": Column(TEXT, "problems that the driver retries or waits out, or the reason why it failed; null: none"),
    "batches": Column(INT, "number of batches over the life of the stream"),
    "rows": Column(INT, "number of tuples, likewise; null before the driver knows it"),
    "late": Column(INT, "number of late tuples, likewise"),
    "quarantined": Column(INT, "number of records in `quarantine`, likewise"),
    "answers": Column(INT, "number of answers, likewise"),
    "rows_left": Column(INT, "rows known in the source that no batch had read; null before it knows its source"),
    "committed": Column(TIME, "arrival time up to which everything was taken in"),
    "frontier": Column(TIME, "frontier (the watermark)"),
    "batch_ms": Column(INT, "longest batch since the previous observation, even if it has not ended, ms; null: none"),
    "cpu_ms": Column(INT, "CPU time of the driver's processes since the driver began, ms"),
    "memory": Column(INT, "resident memory of the driver's processes, bytes"),
}
ACTIVITY = TableSchema(
    "activity",
    "stream",
    "what the driver of a live stream did, every minute and where its state changed: rows, backlog, problems, CPU and "
    "memory; kept for 30 days",
    _ACTIVITY,
)

_UPSTREAM = {
    "as_of": STAMPS["as_of"],
    "answer": Column(TEXT, "id of the answer, the same in all versions: the end of its window, `/` and its key"),
    "retracted": Column(BOOLEAN, "whether the other query retracted the answer: the stream then leaves it out"),
}
UPSTREAM = TableSchema(
    "upstream",
    "stream",
    "the [versions of another query's answers](warehouse-tables.md#what-upstream-is-for) that a query of a "
    "[chain](chains.md) has read",
    _UPSTREAM,
    query_columns="the other query's columns of answers",
)

STREAM_TABLES = tuple(table.name for table in (HISTORY, RESULTS, LATE, QUARANTINE, FACTS, SEGMENTS, METRICS))
"""The tables of a query with one stream, in the order in which a batch is written; `metrics` is the last one."""
