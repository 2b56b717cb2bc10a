"""The schemas of a query's Delta tables, and which job writes which table."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.times import TIME, TIMES
from tailrace.kind.inputs import common_id_type
from tailrace.kind.protocol import Kind
from tailrace.sources import history
from tailrace.storage.layout import Layout

INT, TEXT, REAL = pa.int64(), pa.string(), pa.float64()

CLASSES = ("buffered", "in_process", "expired")
"""The classes of tuples, by where the frontier (the watermark) stood when they came (paper 002, section 1.3)."""

STAMPS = {"k_ms": INT, "as_of": TIME, "emitted_at": TIME, "facts_version": INT}
"""The columns that every answer has beside the kind's own."""

LATE_TIMES = ("pane_start", "event_time")
"""The columns of the table `late` that hold a tuple's event time, or its pane's start: a kind has one of them."""

QUALITY = pa.schema(
    [("bucket_start", TIME), ("bucket_end", TIME), ("answer", TEXT)]
    + [(name, INT) for name in ("answers", "corrected", "missing", "off")]
    + [(name, REAL) for name in ("share", "mean_error", "worst_error", "mean_k_ms", "error", "risk", "accuracy")]
)
"""The table `quality`; `answer` is a column of answers, null where a kind measures answers as wholes."""


def schemas(kind: Kind) -> dict[str, pa.Schema]:
    """Return the schema of each table by its name, but for history."""
    answers, late = _with_times(kind.answer) | STAMPS, _with_times(kind.late)
    id_type = common_id_type(kind.inputs)
    columns: dict[str, dict[str, pa.DataType]] = {
        "results": answers,
        "late": {"stream": TEXT, "tick": INT, "tuples": INT, "arrived": TIME, "frontier": TIME} | late,
        "quarantine": {"stream": TEXT, "position": TEXT, "arrival_time": TIME, "reason": TEXT, "record": TEXT},
        "facts": dict.fromkeys(("about", "value", "evidence"), TEXT)
        | dict.fromkeys(("version", "from_tick", "from_segment"), INT),
        "segments": dict.fromkeys(("batch", "ordinal", "position"), INT)
        | {"stream": TEXT, "path": TEXT}
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
        | {"min_id": id_type, "max_id": id_type, "distinct_ids": pa.bool_(), "filtered": INT},
        "metrics": dict.fromkeys(("batch", "task", "rows", "partials", "repeats", "late", "answers"), INT)
        | dict.fromkeys(("ticks", "newest_tick", "complete_tick", "k_ms", *CLASSES), INT)
        | dict.fromkeys(("t_max", "frontier", "committed", "newest_event"), TIME)
        | dict.fromkeys(("coverage", "latency_ms", "load", "imbalance"), REAL)
        | {"flushed": pa.bool_(), "reached": pa.list_(INT)}
        | {"loads": pa.map_(TEXT, pa.list_(REAL)), "counts": pa.map_(TEXT, INT), "filtered": INT, "threshold": REAL},
        "corrections": answers | {"interval": TEXT, "retracted": pa.bool_()},
        "correction_runs": {"interval": TEXT, "as_of": TIME, "started_at": TIME}
        | {"arrived_from": TIME, "arrived_to": TIME}
        | dict.fromkeys(("late", "answers", "retracted", "repeats", "overflowed", "where_failed"), INT)
        | {"where_failure": TEXT},
    }
    return {name: pa.schema(list(fields.items())) for name, fields in columns.items()} | {"quality": QUALITY}


def history_schemas(streams: Iterable[StreamReader]) -> dict[str, pa.Schema]:
    """Return the schema of the history of each stream that is stored, by the name of its table."""
    return {
        stream.history.name: history.schema(stream.column_types.id, stream.column_types.key, stream.value_types)
        for stream in streams
        if stream.history is not None
    }


def _with_times(columns: pa.Schema) -> dict[str, pa.DataType]:
    """Return the types of columns by name, where times are in ms."""
    return {field.name: TIME if field.name in TIMES else field.type for field in columns}


STREAM_TABLES = ("history", "results", "late", "quarantine", "facts", "segments", "metrics")
"""The tables of a query with one stream, in the order in which a batch is written: `metrics` is the last one."""


def stream_tables(histories: Iterable[str]) -> tuple[str, ...]:
    """Return the stream's tables in the order in which a batch is written: a batch in `metrics` is in all of them.

    `histories` are the names of those that hold the streams' histories.
    """
    return (*histories, *(name for name in STREAM_TABLES if not Layout.is_history(name)))


CORRECTION_TABLES = ("corrections", "correction_runs", "quality")

PROPOSALS = pa.schema(
    [("made_at", TIME), ("declared", TEXT), ("settings", TEXT)]
    + [(name, INT) for name in ("k_ms", "lower_ms", "upper_ms")]
    + [("durations", TEXT), ("windows", INT), ("accuracy", REAL), ("until", TIME), ("evidence", TEXT)]
)
CALIBRATION_TABLES = ("proposals",)
