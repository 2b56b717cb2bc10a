"""Samples of every kind, and what their answers are compared by: for the contract that all kinds keep."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest

from kit.oracles.oracle import Tuple
from kit.suite.examples import drawn
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

SAMPLES = {
    "sum": {"kind": "aggregate", "aggregate": {"function": "sum", "column": "value"}},
    "count": {"kind": "aggregate", "aggregate": {"function": "count"}},
    "avg": {"kind": "aggregate", "aggregate": {"function": "avg", "column": "value"}},
    "min": {"kind": "aggregate", "aggregate": {"function": "min", "column": "value"}},
    "max": {"kind": "aggregate", "aggregate": {"function": "max", "column": "value"}},
    "median": {"kind": "aggregate", "aggregate": {"function": "median", "column": "value"}},
    "quantile": {"kind": "aggregate", "aggregate": {"function": "quantile", "column": "value", "q": 0.9}},
    "named": {
        "kind": "aggregate",
        "aggregate": {
            "total": {"function": "sum", "column": "value"},
            "number": {"function": "count", "estimate": True},
            "least": {"function": "min", "column": "value"},
        },
    },
    "kept": {
        "kind": "aggregate",
        "aggregate": {
            "p90": {"function": "quantile", "column": "value", "q": 0.9},
            "spread": {"function": "stddev_pop", "column": "value"},
            "newest": {"function": "last", "column": "value"},
            "distinct": {"function": "count_distinct", "column": "value"},
        },
    },
    "topk": {"kind": "topk", "topk": {"k": 3, "score": "value"}},
    "ascending": {"kind": "topk", "topk": {"k": 1, "score": "value", "order": "ascending"}},
    "sma": {"kind": "topk", "topk": {"k": 3, "score": "value", "method": "sma"}},
    "mintopk": {"kind": "topk", "topk": {"k": 3, "score": "value", "method": "mintopk"}},
    "gstopk": {"kind": "topk", "topk": {"k": 3, "score": "value", "method": "gstopk"}},
    "selected": {"kind": "topk", "topk": {"k": 2, "score": "value", "select": ["value"]}},
    "selected gstopk": {"kind": "topk", "topk": {"k": 2, "score": "value", "method": "gstopk", "select": ["value"]}},
}
INTEGERS = ("topk", "gstopk")
"""Are tried with ids that are integers."""
every = pytest.mark.parametrize("name", SAMPLES)
SOME = drawn(15)
KEYS = ["key", "window_start", "window_end"]


@cache
def query_of(name: str, size: int = 500, slide: int = 100, tick: int = 100, keyed: bool = True) -> Query:
    """The declared query of a sample, over one stream `readings`; times in ms."""
    stream = {"source": {"format": "parquet", "path": "data"}, "event_time": "event_time", "id": "id"}
    stream |= {"bounds": {"ahead": "1 d", "skew": "1 d"}}  # as the oracle has it, which knows no clocks that differ
    stream |= {"arrival_time": "arrival_time"} | ({"key": "key"} if keyed else {})
    declared = {"name": "sample", "streams": {"readings": stream}, "disorder": {"policy": "none", "tick": f"{tick} ms"}}
    return declared_query(declared | {"window": {"size": f"{size} ms", "slide": f"{slide} ms"}} | SAMPLES[name])


def id_type_of(name: str) -> pa.DataType:
    return pa.int64() if name in INTEGERS else pa.string()


def kind_of(name: str, size: int = 500, slide: int = 100) -> Kind:
    types = ColumnTypes(
        pa.string(), id_type_of(name), dict.fromkeys(("value_value", "selected_value", "score"), pa.float64())
    )
    return build(query_of(name, size, slide), [types])


def content(kind: Kind, tuples: list[Tuple]) -> pa.RecordBatch:
    """Tuples as the kind's only input takes them, in one tick."""
    (needed,) = kind.inputs
    columns = {
        "event_time": pa.array([item.event_time for item in tuples], pa.int64()),
        "key": pa.array([item.key for item in tuples], needed.column_types.key),
        "id": ids(tuples, needed.column_types.id),
        "tick": pa.array([0] * len(tuples), pa.int64()),
    }
    names = (*needed.values, *needed.carried)
    values = {part: pa.array([item.value for item in tuples], pa.float64()) for part in names}
    if needed.carried:
        columns["arrival_time"] = pa.array([item.arrival_time for item in tuples], pa.int64())
        columns |= dict.fromkeys((EVENT_US, ARRIVAL_US), pa.array([0] * len(tuples), pa.int64()))
    return pa.RecordBatch.from_pydict(columns | values)


def ids(tuples: list[Tuple], kind: pa.DataType) -> pa.Array:
    """As text, or as integers: t7 is 7."""
    texts = [str(item.id) for item in tuples]
    return pa.array([int(text.lstrip("t")) for text in texts] if kind == pa.int64() else texts, kind)


def answers(batch: pa.RecordBatch | pa.Table) -> dict[tuple, dict]:
    return by_answer(batch.to_pylist())


def by_answer(rows: list[dict]) -> dict[tuple, dict]:
    """Rows by window, and by rank where an answer has many."""
    found = {tuple(row[name] for name in (*KEYS, "rank") if name in row): row for row in rows}
    assert len(found) == len(rows), "an answer was given twice"
    return found


def assert_same(found: dict[tuple, dict], expected: dict[tuple, dict], size: float) -> None:
    """Equal; numbers to within the last places of a sum over values up to `size`."""
    assert found.keys() == expected.keys()
    for window, row in expected.items():
        exact = {name: value for name, value in row.items() if not isinstance(value, float)}
        assert {name: found[window][name] for name in exact} == exact
        near = {name: value for name, value in row.items() if isinstance(value, float)}
        assert {name: found[window][name] for name in near} == pytest.approx(near, rel=1e-9, abs=1e-9 * size)


def assert_same_late(found: list[dict], expected: list[dict], size: float) -> None:
    by_row = [
        {tuple(row[name] for name in ("key", "pane_start", "tick")): row for row in rows} for rows in (found, expected)
    ]
    assert [len(rows) for rows in by_row] == [len(found), len(expected)]
    assert_same(*by_row, size)


def magnitude(tuples: list[Tuple]) -> float:
    return sum(abs(item.value) for item in tuples)
