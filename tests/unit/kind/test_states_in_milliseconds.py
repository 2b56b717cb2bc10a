"""States of earlier versions, whose times are in milliseconds, go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from joined_streams import join, near, similar
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.engine.chunk_stores import MemoryChunks
from tailrace.engine.query_clock import QueryClock
from tailrace.engine.repeats import ID_COLUMNS
from tailrace.engine.row_buffer import RowBuffer
from tailrace.engine.task import Task
from tailrace.ground.times import ARRIVAL_US, EVENT_US
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.operators.chunk import Chunk
from tailrace.windows.sliding import Sliding

EARLIER = {"event_micros": "event_time", "arrival_micros": "arrival_time"}


def test_first_and_last_go_on_in_microseconds():
    functions = {name: {"function": name, "column": "v"} for name in ("first", "last")}
    section = NamedAggregatesSection.model_validate({"function": NAMED, "each": functions})
    kind = aggregate_of(Sliding(1000, 1000), section, ColumnTypes(carried={"value_v": pa.int64()}))
    schema = kind.start().to_arrow()["panes"].schema
    now = pa.RecordBatch.from_pylist(
        [
            {
                name: f"{name}" if field.type == pa.string() else 7_000
                for name, field in zip(schema.names, schema, strict=True)
            }
        ],
        schema,
    )
    in_micros = [name for name in schema.names if name.endswith("_micros")]
    assert len(in_micros) == 4
    earlier = {
        next((name.replace(*pair) for pair in EARLIER.items() if name.endswith(pair[0])), name): (
            pa.array([7]) if name in in_micros else now.column(name)
        )
        for name in schema.names
    }
    keys = pa.RecordBatch.from_pydict({"key": ["k"]})
    none = pa.RecordBatch.from_pydict({name: column[:0] for name, column in earlier.items()})
    state = kind.restore({"keys": keys, "panes": pa.RecordBatch.from_pydict(earlier), "strays": none}, {})
    assert state.to_arrow()["panes"].select(schema.names).to_pylist() == now.to_pylist()


@pytest.mark.parametrize("section", [near(), similar()], ids=["spatial_join", "emd_join"])
def test_rows_of_joins_have_no_microseconds(tmp_path, section):
    kind = build(join(tmp_path, section))
    tuples = kind.inputs[0].no_tuples
    now = kind.prepare(tuples, 0)
    assert EVENT_US in now.schema.names
    earlier = pa.RecordBatch.from_pylist([{"event_time": 5}], now.drop_columns([EVENT_US]).schema)
    (chunk,) = kind.restore({}, {"left": (Chunk(earlier),)}).left.chunks
    assert chunk.rows.schema.names == now.schema.names
    assert chunk.rows.column(EVENT_US).to_pylist() == [0]
    assert kind.restore({}, {"left": (Chunk(now),)}).left.chunks[0].rows is now


def named(**functions: str):
    """An aggregate of the column v with these functions by name."""
    each = {name: {"function": function, "column": "v"} for name, function in functions.items()}
    section = NamedAggregatesSection.model_validate({"function": NAMED, "each": each})
    return aggregate_of(Sliding(1000, 1000), section, ColumnTypes(carried={"value_v": pa.int64()}))


def in_ms(rows: pa.RecordBatch, deduplicates: bool) -> pa.RecordBatch:
    """Rows without tuples as an earlier version prepared them."""
    names = [name.replace("_micros", "_time") for name in rows.schema.names]
    rows = rows.rename_columns(names).select([name for name in names if name not in (EVENT_US, ARRIVAL_US)])
    if deduplicates and "arrival_time" not in names and "value_v" in names:  # of each aggregate
        rows = rows.add_column(names.index("position"), "arrival_time", pa.array([], pa.int64()))
    return rows


@pytest.mark.parametrize("deduplicates", [False, True])
@pytest.mark.parametrize("query", ["ordered", "sum", "spatial_join", "emd_join"])
def test_rows_of_incomplete_ticks_go_on(tmp_path, query, deduplicates):
    aggregates = {"ordered": {"f": "first", "n": "count"}, "sum": {"s": "sum"}}
    joins = {"spatial_join": near, "emd_join": similar}
    kind = named(**aggregates[query]) if query in aggregates else build(join(tmp_path, joins[query]()))
    task = Task(kind, ("left", "right")[: len(kind.inputs)], 0, MemoryChunks(), deduplicates=deduplicates)
    begun = task.restore(None)
    before = [RowBuffer.from_arrow(in_ms(each.to_arrow(), deduplicates)) for each in begun.pending]
    restored = task.restore(replace(begun, batch=0, pending=tuple(before)).pack(task.store))
    assert [each.rows.schema for each in restored.pending] == [each.rows.schema for each in begun.pending]


def test_a_tuple_of_an_incomplete_tick_keeps_its_columns():
    kind = named(f="first")
    now = ["event_time", "tick", "key", "id", "value_v", EVENT_US, "arrival_time", ARRIVAL_US, "position", "tuples"]
    earlier = pa.RecordBatch.from_pylist([{name: 7 for name in now if name not in (EVENT_US, ARRIVAL_US)}])
    upgraded = kind.upgraded(earlier)
    assert upgraded.schema.names == now
    assert upgraded.to_pylist() == [dict.fromkeys(now, 7) | {EVENT_US: 0, ARRIVAL_US: 0}]
    assert kind.upgraded(upgraded) is upgraded


def test_the_sample_of_the_clock_goes_on():
    """What waits in the clock and what the policy keeps are in microseconds then."""
    kind = named(f="first")
    clock = QueryClock(kind, ("s",), 1000)
    begun = clock.restore(None)
    column = "value_v:first:event_micros"
    sample = pa.Table.from_pylist([{column: 7, "value_v:first": 5}], begun.arrived.streams[0].sample.schema)
    (stream,) = begun.arrived.streams
    for name in ("event", "arrival"):
        begun.clock.policy_state[f"row_value_v:first:{name}_time"] = np.array([7, 8])
    begun.clock.policy_state["row_pane"] = np.array([1, 2])
    earlier = sample.rename_columns([name.replace("_micros", "_time") for name in sample.column_names])
    in_milliseconds = replace(stream, sample=earlier, ids=stream.ids.drop_columns([ARRIVAL_US]))
    state = replace(begun, arrived=replace(begun.arrived, streams=(in_milliseconds,)))
    restored = clock.restore(state.pack())
    assert restored.arrived.streams[0].sample.schema == sample.schema
    assert restored.arrived.streams[0].sample[column].to_pylist() == [7000]
    assert {*restored.arrived.streams[0].ids.column_names} == {*ID_COLUMNS}
    kept = {name: value.tolist() for name, value in restored.clock.policy_state.items()}
    in_micros = {f"row_value_v:first:{name}_micros": [7000, 8000] for name in ("event", "arrival")}
    assert kept == {"row_pane": [1, 2], **in_micros}
