"""The tables that corrections write."""

from __future__ import annotations

from tailrace.ground.table_schema import BOOLEAN, INT, REAL, TEXT, Column, TableSchema
from tailrace.ground.times import TIME

_CORRECTIONS = {
    "interval": Column(TEXT, "range of arrival or of event time that was corrected"),
    "retracted": Column(BOOLEAN, "whether it is no answer, and readers omit it; `results` with `having` has it, too"),
}
CORRECTIONS = TableSchema(
    "corrections", "correction", "later versions of answers", _CORRECTIONS, after="the columns of `results`"
)

_CORRECTION_RUNS = {
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
    "lookups": Column(TEXT, "versions of tables that it looked up in (`corrections: newest`), by lookup, as JSON"),
}
CORRECTION_RUNS = TableSchema("correction_runs", "correction", "the ledger of corrections", _CORRECTION_RUNS)

_QUALITY = {
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
QUALITY = TableSchema("quality", "correction", "the errors of streamed answers, by time and column of them", _QUALITY)

CORRECTION_TABLES = (CORRECTIONS.name, CORRECTION_RUNS.name, QUALITY.name)
"""The tables in the order in which a correction writes them."""
