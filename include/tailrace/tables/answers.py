"""The columns of answers: the kinds' own, and those of the tables that hold answers of every kind."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.ground.table_schema import INT, REAL, Column, TableColumns, TableSchema
from tailrace.ground.times import TIME

STAMPS = {
    "k_ms": Column(INT, "slack K (allowed lateness) that was in force, ms"),
    "as_of": Column(TIME, "the answer is the one over all tuples that arrived before this time"),
    "emitted_at": Column(TIME, "wall-clock time at which it was computed"),
    "facts_version": Column(INT, "version of the settings in force, see `facts`; of a join with a table, its version"),
}
"""The columns that every answer has beside the kind's own."""

RESULTS = TableSchema("results", "stream", "the answers as the stream gave them", STAMPS, after="the kind's columns")

_CURRENT = {
    "coverage": Column(REAL, "share of the answer's tuples among those and the late ones"),
    **{name: STAMPS[name] for name in ("k_ms", "as_of")},
}
CURRENT = TableSchema(
    "current",
    "stream, correction, rebuild",
    "the newest version of each answer that stands",
    _CURRENT,
    after="the kind's columns",
)

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
    "aggregate": {
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
    "topk": {
        "key": _KEY,
        **_WINDOW,
        "rank": Column(INT, "place among the window's tuples, from 1 on"),
        "id": Column(None, "id of the tuple"),
        "score": Column(None, "its score, in the type of its column; columns of `select` follow it"),
        **_TUPLES,
    },
    "emd_join": {
        **_PAIR,
        "distance": Column(REAL, "Earth Mover's Distance of the histograms; columns of `select` follow it"),
        **_TUPLES,
    },
    "spatial_join": _PAIR
    | {
        "window_start": Column(TIME, "of a window join: begin of the window; columns of `select` follow the last one"),
        "window_end": Column(TIME, "of a window join: end of the window"),
        **_TUPLES,
    },
}
"""The kind's own columns of answers, by kind."""
