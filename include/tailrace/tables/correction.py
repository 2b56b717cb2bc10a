"""The tables that corrections write."""

from __future__ import annotations

from tailrace.ground.arrow.table_schema import BOOLEAN, INT, REAL, TEXT, Column, TableSchema
from tailrace.ground.arrow.times import TIME

_CORRECTIONS = {
    "interval": Column(TEXT, "range of arrival or of event time that was corrected"),
    "retracted": Column(BOOLEAN, "true: no answer, readers omit it; `results` has this column, too, with `having`"),
}
CORRECTIONS = TableSchema(
    "corrections", "correction", "later versions of answers", _CORRECTIONS, query_columns="the columns of `results`"
)

_CORRECTION_RUNS = {
    "interval": Column(TEXT, "range of arrival or of event time that was corrected"),
    "as_of": Column(TIME, "cut-off: the corrected answers are over all tuples that arrived before this time"),
    "started_at": Column(TIME, "wall-clock time at which the correction began"),
    "arrived_from": Column(TIME, "begin of the arrival times for which all late tuples were corrected"),
    "arrived_to": Column(TIME, "end of these arrival times"),
    "late": Column(INT, "late tuples"),
    "answers": Column(INT, "corrected answers, including those that the correction did not change"),
    "changed": Column(INT, "those among them that are new or have changed"),
    "retracted": Column(INT, "retracted answers"),
    "repeats": Column(INT, "repeats of ids among tuples of streamed answers; null for a range of event time"),
    "overflowed": Column(INT, "values that are null because their type can't hold them"),
    "where_failed": Column(INT, "pairs for which the condition of the join could not be computed"),
    "where_failure": Column(TEXT, "why it could not be computed for one of them"),
    "lookups": Column(TEXT, "versions of tables that it read, by lookup with `corrections: newest`, as JSON"),
}
CORRECTION_RUNS = TableSchema("correction_runs", "correction", "the ledger of corrections", _CORRECTION_RUNS)

_QUALITY = {
    "bucket_start": Column(
        TIME, "begin of a stretch of event time, a multiple of its length; so the data may begin later"
    ),
    "bucket_end": Column(TIME, "its end"),
    "answer": Column(TEXT, "column of answers; null where answers are measured as wholes"),
    "answers": Column(INT, "answers that the stream gave"),
    "corrected": Column(INT, "those among them that a correction changed"),
    "missing": Column(INT, "answers that only a correction gave"),
    "off": Column(INT, "answers off by at least the promised error, or by 5 % where none is promised"),
    "share": Column(REAL, "share of answers that were off"),
    "mean_error": Column(REAL, "mean error of the streamed answers"),
    "worst_error": Column(REAL, "greatest error of a streamed answer"),
    "mean_k_ms": Column(REAL, "mean slack K of the streamed answers, ms"),
    "error": Column(REAL, "promised error: P(error ≥ `error`) ≤ `risk`"),
    "risk": Column(REAL, "promised risk"),
    "accuracy": Column(REAL, "promised accuracy: 1 − the mean error is at least this"),
}
QUALITY = TableSchema(
    "quality",
    "correction",
    "the measured error of streamed answers against the promise, by stretches of event time and, of aggregates, by "
    "column of answers",
    _QUALITY,
)

CORRECTION_TABLES = (CORRECTIONS.name, CORRECTION_RUNS.name, QUALITY.name)
"""The tables in the order in which a correction writes them."""
