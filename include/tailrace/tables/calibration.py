"""The table that calibrations write."""

from __future__ import annotations

from tailrace.ground.arrow.table_schema import INT, REAL, TEXT, Column, TableSchema
from tailrace.ground.arrow.times import TIME

_PROPOSALS = {
    "made_at": Column(TIME, "wall-clock time of the calibration"),
    "declared": Column(TEXT, "settings of the query file for which the proposal was made, as JSON"),
    "settings": Column(TEXT, "proposed settings, as JSON"),
    "k_ms": Column(INT, "proposed slack K, ms"),
    "lower_ms": Column(INT, "least K that the next calibration searches, ms"),
    "upper_ms": Column(INT, "greatest K that the next calibration searches, ms"),
    "durations": Column(TEXT, "durations that were measured, ms, and the accuracy of each, as JSON"),
    "windows": Column(INT, "number of windows over which they were measured"),
    "accuracy": Column(REAL, "accuracy with K; null where K was not measured"),
    "until": Column(TIME, "arrival time up to which history was read"),
    "evidence": Column(TEXT, "the reasons for the proposal, in words"),
}
PROPOSALS = TableSchema("proposals", "calibration", "the settings that calibrations propose", _PROPOSALS)
