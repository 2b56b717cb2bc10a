"""Of the tuples with the same id, which stays, and which are there more than once."""

from __future__ import annotations

import pyarrow as pa

from tailrace.correction.deduplication import first_arrivals

NAMES = ("id", "tick", "arrival_time", "arrival_us", "position")


def tuples(*rows: tuple) -> pa.RecordBatch:
    types = pa.schema([("id", pa.string()), *((name, pa.int64()) for name in NAMES[1:])])
    return pa.RecordBatch.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows], types)


ROWS = tuples(
    ("a", 5, 500, 0, 9),
    ("a", 4, 900, 0, 10),  # an earlier tick
    ("b", 5, 510, 0, 11),
    ("b", 5, 505, 0, 12),  # an earlier arrival
    ("c", 5, 505, 7, 14),
    ("c", 5, 505, 7, 13),  # an earlier position
    ("d", 1, 100, 0, 1),
    ("e", 5, 505, 8, 15),
    ("e", 5, 505, 7, 16),  # an earlier arrival by a microsecond
)


def test_of_the_same_id_the_first_by_tick_then_arrival_then_position_stays():
    kept = ROWS.filter(pa.array(first_arrivals(ROWS, tuples())))
    assert kept.column("position").to_pylist() == [10, 12, 13, 1, 16]


def test_an_earlier_tuple_elsewhere_leaves_none():
    others = tuples(("a", 3, 990, 0, 20), ("d", 1, 100, 0, 2), ("x", 0, 0, 0, 0))
    kept = ROWS.filter(pa.array(first_arrivals(ROWS, others)))
    assert kept.column("position").to_pylist() == [12, 13, 1, 16]


def test_of_no_tuples_none_is_the_first():
    assert first_arrivals(tuples(), ROWS).tolist() == []
