"""The columns of a query's Delta tables, with type and meaning: the source of the schemas and of their reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from tailrace.ground.times import TIME

INT, TEXT, REAL, BOOLEAN = pa.int64(), pa.string(), pa.float64(), pa.bool_()


class Column(NamedTuple):
    """A column of a table; its type is None where it depends on the query."""

    dtype: pa.DataType | None
    meaning: str


TableColumns = Mapping[str, Column]

CLASSES = {
    "buffered": Column(INT, "tuples that came before the frontier (the watermark) had reached their pane"),
    "in_process": Column(INT, "tuples that came later, while a window of theirs was open"),
    "expired": Column(INT, "tuples that came after their last window had closed"),
}
"""The classes of tuples, by the frontier (the watermark) at their arrival (paper 002, section 1.3)."""

STAMPS = {
    "k_ms": Column(INT, "slack K (allowed lateness) that was in force, ms"),
    "as_of": Column(TIME, "the answer is the one over all tuples that arrived before this time"),
    "emitted_at": Column(TIME, "wall-clock time at which it was computed"),
    "facts_version": Column(INT, "version of the settings in force, see `facts`; of a join with a table, its version"),
}
"""The columns that every answer has beside the kind's own."""

LATE = {
    "stream": Column(TEXT, "name of the stream"),
    "tick": Column(INT, "tick in which the tuples came"),
    "tuples": Column(INT, "number of tuples, each counted once, however many windows it missed"),
    "arrived": Column(TIME, "end of the tick: they count as arrived then"),
    "frontier": Column(TIME, "frontier that they found: windows that end by then had closed"),
}

QUARANTINE = {
    "stream": Column(TEXT, "name of the stream"),
    "position": Column(TEXT, "the path of its file, # and the number of the record in it, from 0"),
    "arrival_time": Column(TIME, "when it arrived, as far as it says so"),
    "reason": Column(TEXT, "why it is no tuple"),
    "record": Column(TEXT, "its content"),
}

FACTS = {
    "about": Column(TEXT, "`settings`, `plan` (of partitions), `table` or `lookup STREAM.NAME` (a table's version)"),
    "value": Column(TEXT, "the new configuration, as JSON"),
    "evidence": Column(TEXT, "why it changed, in words"),
    "version": Column(INT, "number of the version, from 1 on for each subject"),
    "from_tick": Column(INT, "settings: the first tick in which they hold"),
    "from_segment": Column(INT, "plans and tables: `ordinal` of the first segment for which they hold"),
}

SEGMENTS = {
    "batch": Column(INT, "batch that read the segment"),
    "ordinal": Column(INT, "number of segments before it, of all streams"),
    "position": Column(INT, "number of records of its stream before it"),
    "stream": Column(TEXT, "name of the stream"),
    "path": Column(TEXT, "file, or topic and partition, that it is of"),
    "first_row": Column(INT, "first record of the file in it"),
    "rows": Column(INT, "number of its records"),
    "of_rows": Column(INT, "number of all records of the file"),
    "size": Column(INT, "size of the file, bytes"),
    "mtime_ns": Column(INT, "time of the file's last change, ns; of an object a digest of its ETag"),
    "ingested_ms": Column(INT, "wall-clock time at which it was read: arrival where the source has no such column, ms"),
    "accepted": Column(INT, "records that are tuples"),
    "quarantined": Column(INT, "records in `quarantine`"),
    "before_tick": Column(INT, "newest tick of its stream before it: its tuples belong to no earlier one"),
    "before_end": Column(INT, "end of the newest tick of all streams when it was read, ms"),
    "min_event": Column(INT, "least event time of its tuples, or of its records (`corrections: newest`), ms"),
    "max_event": Column(INT, "greatest event time of its tuples or records, ms"),
    "min_id": Column(None, "least id of its tuples or records"),
    "max_id": Column(None, "greatest id of its tuples or records"),
    "distinct_ids": Column(BOOLEAN, "whether no id stands in it twice, as far as that is known"),
    "filtered": Column(INT, "records that `where`, or a lookup without a row for them, leaves out"),
    "unmatched": Column(INT, "those among `filtered` that met no row of a lookup with `on_no_match: drop`"),
    "floored": Column(TEXT, "columns with times finer than microseconds, which were floored; null: none"),
}

METRICS = {
    "batch": Column(INT, "number of the batch"),
    "task": Column(INT, "number of the task"),
    "rows": Column(INT, "tuples that the task took in"),
    "partials": Column(INT, "rows that came to the task: tuples, or partial aggregates of them"),
    "repeats": Column(INT, "tuples dropped as their id had come before, with `deduplicate: true`"),
    "late": Column(INT, "late tuples"),
    "answers": Column(INT, "answers"),
    "ticks": Column(INT, "ticks that were complete"),
    "newest_tick": Column(INT, "newest tick that a tuple or a heartbeat has reached"),
    "complete_tick": Column(INT, "newest tick that is complete"),
    "k_ms": Column(INT, "slack K (allowed lateness) at the end of the batch, ms"),
    **CLASSES,
    "t_max": Column(TIME, "greatest event time of complete ticks; of a join the smaller of its streams'"),
    "frontier": Column(TIME, "frontier (the watermark): windows that end by then have closed"),
    "committed": Column(TIME, "arrival time up to which everything was taken in"),
    "newest_event": Column(TIME, "greatest event time of any tuple"),
    "coverage": Column(REAL, "share of the tuples of closed windows that came before the windows closed"),
    "latency_ms": Column(REAL, "mean time, in stream time, from a window's end or a pair's later tuple to the answer"),
    "load": Column(REAL, "work of the task as its kind measures it; else its share of the batch's tuples"),
    "imbalance": Column(REAL, "how far the greatest load of a task exceeds the mean, as a share"),
    "flushed": Column(BOOLEAN, "whether the batch ended a bounded run, which closes all windows"),
    "reached": Column(pa.list_(INT), "arrival time that each stream has reached, ms"),
    "loads": Column(
        pa.map_(TEXT, pa.list_(REAL)), "loads by part, such as exact distances and CPU ms by span, or matches by cell"
    ),
    "counts": Column(pa.map_(TEXT, INT), "counts of the kind's own, such as pairs that each filter left"),
    "filtered": Column(INT, "records that `where`, or a lookup without a row for them, leaves out"),
    "threshold": Column(REAL, "coverage below which K grows, of policies that have one"),
}

CORRECTIONS = {
    "interval": Column(TEXT, "range of arrival or of event time that was corrected"),
    "retracted": Column(
        BOOLEAN, "whether it is no answer: readers leave it out. `results` has this column with `having`"
    ),
}
"""The columns of the table `corrections` in addition to the columns of `results`."""

UPSTREAM = {
    "as_of": STAMPS["as_of"],
    "answer": Column(TEXT, "id of the answer, the same for all its versions: the end of its window, `/` and its key"),
    "retracted": Column(BOOLEAN, "whether it takes the answer back: the stream does not count it then"),
}
"""The columns of the table `upstream` in addition to the other query's own columns of answers."""

CORRECTION_RUNS = {
    "interval": Column(TEXT, "range of arrival or of event time that was corrected"),
    "as_of": Column(TIME, "the corrected answers are those over all tuples that arrived before this time"),
    "started_at": Column(TIME, "wall-clock time at which the correction began"),
    "arrived_from": Column(TIME, "begin of the arrivals whose late tuples were corrected in whole"),
    "arrived_to": Column(TIME, "their end"),
    "late": Column(INT, "late tuples"),
    "answers": Column(INT, "corrected answers, also those that a correction gave again as they were"),
    "changed": Column(INT, "those among them that were new, or other ones than before"),
    "retracted": Column(INT, "retracted answers"),
    "repeats": Column(INT, "repeats of ids in answers that the stream gave; null for a range of event time"),
    "overflowed": Column(INT, "values that are null as their type does not hold them"),
    "where_failed": Column(INT, "pairs for which the condition of a join failed"),
    "where_failure": Column(TEXT, "why one of them failed"),
    "lookups": Column(
        TEXT, "versions of tables in which it looked up again (`corrections: newest`), by lookup, as JSON"
    ),
}

ACTIVITY = {
    "made_at": Column(TIME, "wall-clock time of the observation: every minute, and where the state changes"),
    "started_at": Column(TIME, "wall-clock time at which its driver began"),
    "state": Column(TEXT, "state of the driver, as in `tailrace status`"),
    "problem": Column(TEXT, "problems that it tries again, or waits for; null: none"),
    "batches": Column(INT, "number of batches over the life of the stream"),
    "rows": Column(INT, "number of tuples, likewise; null before the driver knows it"),
    "late": Column(INT, "number of late tuples, likewise"),
    "quarantined": Column(INT, "number of records in `quarantine`, likewise"),
    "answers": Column(INT, "number of answers, likewise"),
    "rows_left": Column(
        INT, "rows known in the source that no batch had read; null before the driver knows its source"
    ),
    "committed": Column(TIME, "arrival time up to which everything was taken in"),
    "frontier": Column(TIME, "frontier (the watermark)"),
    "batch_ms": Column(INT, "longest batch since the observation before, also if it had not ended, ms; null: none"),
    "cpu_ms": Column(INT, "CPU time of the driver's processes since the driver began, ms"),
    "memory": Column(INT, "resident memory of the driver's processes, bytes"),
}
"""The columns of the table `activity`."""

QUALITY = {
    "bucket_start": Column(TIME, "begin of a stretch of event time"),
    "bucket_end": Column(TIME, "its end"),
    "answer": Column(TEXT, "column of answers; null where answers are measured as wholes"),
    "answers": Column(INT, "answers that the stream gave"),
    "corrected": Column(INT, "those among them that a correction changed"),
    "missing": Column(INT, "answers that only a correction gave"),
    "off": Column(INT, "answers that were off by the promised error or more, by 5 % where none is promised"),
    "share": Column(REAL, "share of answers that were off"),
    "mean_error": Column(REAL, "mean error of the streamed answers"),
    "worst_error": Column(REAL, "greatest error of a streamed answer"),
    "mean_k_ms": Column(REAL, "mean slack K of the streamed answers, ms"),
    "error": Column(REAL, "promised error, of P(error ≥ `error`) ≤ `risk`"),
    "risk": Column(REAL, "promised risk"),
    "accuracy": Column(REAL, "promised accuracy: 1 − the mean error is at least this"),
}

PROPOSALS = {
    "made_at": Column(TIME, "wall-clock time of the calibration"),
    "declared": Column(TEXT, "settings, as JSON, for which it was made"),
    "settings": Column(TEXT, "settings, as JSON, that it proposes"),
    "k_ms": Column(INT, "proposed slack K, ms"),
    "lower_ms": Column(INT, "the next calibration searches K from here on, ms"),
    "upper_ms": Column(INT, "… to here, ms"),
    "durations": Column(TEXT, "durations that were measured, ms, and the accuracy of each, as JSON"),
    "windows": Column(INT, "number of windows over which they were measured"),
    "accuracy": Column(REAL, "accuracy with K; null where K was not measured"),
    "until": Column(TIME, "arrival time up to which history was read"),
    "evidence": Column(TEXT, "all of this in words"),
}

_KEY = Column(None, "key of the window; a query with a list of keys has a column for each in its place")
_WINDOW = {
    "window_start": Column(TIME, "begin of the window, which belongs to it"),
    "window_end": Column(TIME, "its end, which does not"),
}
_PAIR = {
    "left_id": Column(None, "id of the left tuple"),
    "right_id": Column(None, "id of the right tuple, or of the table's row"),
    "left_time": Column(TIME, "event time of the left tuple"),
    "right_time": Column(TIME, "event time of the right tuple; null in a join with a table"),
}
_TUPLES = {"tuples": Column(INT, "number of tuples that the answer holds")}

KINDS: Mapping[str, TableColumns] = {
    "`aggregate`": {
        "key": _KEY,
        **_WINDOW,
        "value": Column(
            None,
            "value of the function; a query that names its answers has a column for each in its place; with `estimate` "
            "`value_low`, `value_high` and `value_raw` follow: the interval of a scaled value, and the value of the "
            "tuples that had arrived",
        ),
        **_TUPLES,
    },
    "`topk`": {
        "key": _KEY,
        **_WINDOW,
        "rank": Column(INT, "place among the window's tuples, from 1 on"),
        "id": Column(None, "id of the tuple"),
        "score": Column(None, "its score, in the type of its column; columns of `select` follow it"),
        **_TUPLES,
    },
    "`emd_join`": {
        **_PAIR,
        "distance": Column(REAL, "Earth Mover's Distance of the histograms; columns of `select` follow it"),
        **_TUPLES,
    },
    "`spatial_join`": _PAIR
    | {
        "window_start": Column(TIME, "of a window join: begin of the window; columns of `select` follow the last one"),
        "window_end": Column(TIME, "of a window join: end of the window"),
        **_TUPLES,
    },
}
"""The kind's own columns of answers, by kind."""

LATE_ITEMS = {
    "key": Column(None, "of windows: the key of the tuples"),
    "pane_start": Column(TIME, "of windows: begin of the tuples' pane, of which each window holds some in whole"),
    "total": Column(REAL, "of one aggregate without a name: the sum of the tuples' values"),
    "values": Column(None, "of named aggregates: the amounts by which the tuples change each of them"),
    "id": Column(None, "of pairs: the tuple's id"),
    "event_time": Column(TIME, "of pairs: the tuple's event time"),
}
"""The kind's own columns of the table `late`."""

HISTORY = {
    "event_time": Column(TIME, "event time"),
    "arrival_time": Column(TIME, "arrival time"),
    "id": Column(None, "id; where the source has none, one from its place in the source"),
    "key": Column(None, "key; a list of keys as text"),
    "(values)": Column(
        None,
        "a column for each part of a tuple that the kind needs; where a lookup has `corrections: newest`, each column "
        "that the query reads of the source, as `source_COLUMN`",
    ),
    "position": Column(INT, "number of records of the stream before it"),
    "tick": Column(INT, "tick of its arrival"),
    "end": Column(INT, "end of the tick, ms"),
    "event_date": Column(TEXT, "date of the event time; the table is partitioned by it and by the hour"),
    "event_hour": Column(INT, "hour of the event time"),
}
"""The columns of the tables of history."""
