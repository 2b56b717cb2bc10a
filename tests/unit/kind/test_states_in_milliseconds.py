"""States of earlier versions, whose times are in milliseconds, go on."""

from __future__ import annotations

import pyarrow as pa
import pytest

from joined_streams import join, near, similar
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.ground.times import EVENT_US
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
