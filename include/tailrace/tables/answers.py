"""The columns of answers: the kinds' own, and the common ones of the tables of answers."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.ground.arrow.table_schema import INT, REAL, Column, TableColumns, TableSchema
from tailrace.ground.arrow.times import TIME

STAMPS = {
    "k_ms": Column(INT, "slack K (allowed lateness) that was in force, ms"),
    "as_of": Column(TIME, "cut-off: the answer is over all tuples that arrived before this time"),
    "emitted_at": Column(TIME, "wall-clock time at which the answer was computed"),
    "facts_version": Column(INT, "version of the settings in force, see `facts`; in a join with a table, the table's"),
}
"""The columns that every answer has beside the kind's own."""

RESULTS = TableSchema(
    "results", "stream", "the answers as the stream gave them", STAMPS, query_columns="the kind's columns"
)

_CURRENT = {
    "coverage": Column(REAL, "`tuples` / (`tuples` + late tuples that the answer lacks)"),
    **{name: STAMPS[name] for name in ("k_ms", "as_of")},
}
CURRENT = TableSchema(
    "current",
    "stream, correction, rebuild, by turns",
    "the newest version of each answer, without retracted ones, in the columns of `tailrace results`",
    _CURRENT,
    query_columns="the kind's columns",
)

_KEY = Column(None, "key of the window; a query with a list of keys has a column for each of them instead")
_WINDOW = {
    "window_start": Column(TIME, "begin of the window, inclusive"),
    "window_end": Column(TIME, "end of the window, exclusive"),
}
_PAIR = {
    "left_id": Column(None, "id of the left tuple"),
    "right_id": Column(None, "id of the right tuple, or of the table's row"),
    "left_time": Column(TIME, "event time of the left tuple"),
    "right_time": Column(TIME, "event time of the right tuple; null in a join with a table"),
}
_TUPLES = {"tuples": Column(INT, "number of tuples in the answer")}

KINDS: Mapping[str, TableColumns] = {
    "aggregate": {
        "key": _KEY,
        **_WINDOW,
        "value": Column(
            None,
            "value of the function; a query that names its answers has a column for each name instead; with `estimate` "
            "three columns follow: `value_low` and `value_high` (the interval of the scaled value), and `value_raw` "
            "(the value of the tuples that had arrived)",
        ),
        **_TUPLES,
    },
    "topk": {
        "key": _KEY,
        **_WINDOW,
        "rank": Column(INT, "place among the window's tuples, from 1 on"),
        "id": Column(None, "id of the tuple"),
        "score": Column(None, "score of the tuple, in the type of the source's column; columns of `select` follow"),
        **_TUPLES,
    },
    "emd_join": {
        **_PAIR,
        "distance": Column(REAL, "Earth Mover's Distance of the histograms; columns of `select` follow"),
        **_TUPLES,
    },
    "spatial_join": _PAIR
    | {
        "window_start": Column(TIME, "begin of the window, inclusive; only a window join has it"),
        "window_end": Column(
            TIME, "end of the window, exclusive; only a window join has it; columns of `select` stand before `tuples`"
        ),
        **_TUPLES,
    },
}
"""The kind's own columns of answers, by kind."""
