"""Tables of histories, under whatever name: partitioned, made of the readers' files, and written before all others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kit.draws.pair_query import STREAMS, pair_query
from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.task_states import CLOCK, TaskStates
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.ground.errors import Damaged
from tailrace.kinds import build
from tailrace.sources import history
from tailrace.storage import checkpoint
from tailrace.storage.journal import BatchRecord, Journal, LogPosition
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.storage.written_batches import record_written
from tailrace.stream.sink import Sink
from tailrace.stream.stream_tables import StreamTables
from tailrace.tables.stream import STREAM_TABLES, is_history

HISTORIES = ["history_left", "history_right"]
SCHEMA = history.schema(pa.string(), pa.string(), {})
SCHEMAS = schemas(build(make_query(Path("in"), Settings(500, 100, 100))))
TIME_MS = 1_700_000_000_000


def tuples(ids: list[str]) -> pa.RecordBatch:
    """Tuples at `TIME_MS`, as a reader has them."""
    columns = {name: np.full(len(ids), TIME_MS) for name in ("event_time", "arrival_time")}
    columns |= {name: np.zeros(len(ids), np.int64) for name in (EVENT_US, ARRIVAL_US)}
    columns |= {"id": pa.array(ids), "key": pa.array(ids)}
    columns |= {name: np.arange(len(ids)) for name in ("position", "tick", "end", "row")}
    return pa.RecordBatch.from_pydict(columns)


@pytest.fixture
def tables(tmp_path) -> Tables:
    tables = Tables(Layout(tmp_path / "pairs"))
    wanted = SCHEMAS | dict.fromkeys(HISTORIES, SCHEMA)
    tables.create({name: wanted[name] for name in stream_tables(HISTORIES)})
    return tables


def test_a_query_of_one_stream_has_one_history_and_one_of_two_has_two(tmp_path):
    layout = Layout(tmp_path)
    assert {name: path.name for name, path in layout.histories(["readings"]).items()} == {"readings": "history"}
    assert [path.name for path in layout.histories(STREAMS).values()] == HISTORIES
    assert [name for name in (*STREAM_TABLES, *HISTORIES, "corrections") if is_history(name)] == [
        "history",
        *HISTORIES,
    ]


def test_histories_are_written_first_and_metrics_last():
    assert stream_tables(["history"]) == STREAM_TABLES
    assert stream_tables(HISTORIES) == (*HISTORIES, *STREAM_TABLES[1:])
    assert stream_tables([]) == STREAM_TABLES[1:]
    assert STREAM_TABLES[-1] == "metrics"


def test_the_readers_files_are_the_history_of_each_stream(tables):
    for name, ids in zip(HISTORIES, (["a", "b"], ["c"]), strict=True):
        files = pa.Table.from_batches([history.write(tuples(ids), 0, tables.layout.table(name))])
        assert tables.append(name, files, "app", 0)
        assert not tables.append(name, files, "app", 0)
        assert DeltaTable(tables.layout.table(name)).metadata().partition_columns == history.PARTITIONS
        assert tables.read(name, ["id", "event_time"]).to_pylist() == [{"id": i, "event_time": TIME_MS} for i in ids]


def test_the_sink_writes_and_compacts_the_histories(tables, monkeypatch):
    metrics = {
        "flushed": False,
        "reached": [1, None],
        "committed": 1,
        "rows": 3,
        "loads": None,
        "counts": None,
        "filtered": 0,
    }
    metrics = dict.fromkeys(SCHEMAS["metrics"].names, 0) | metrics
    rows = {"metrics": pa.Table.from_pylist([metrics])}
    for ordinal, name in enumerate(HISTORIES):
        rows[name] = pa.Table.from_batches([history.write(tuples(["a"]), ordinal, tables.layout.table(name))])

    written, compacted = [], []
    monkeypatch.setattr(Tables, "append", lambda self, name, *_: written.append(name))
    monkeypatch.setattr(Tables, "compact", lambda self, names, removes=True: compacted.extend(names))
    of_tables = {name: SCHEMAS.get(name, SCHEMA) for name in stream_tables(HISTORIES)}
    sink = Sink(StreamTables(tables, of_tables, dict.fromkeys(HISTORIES, history.FILES), "app"))
    assert sink.write(rows, 63)["metrics"].column("reached").to_pylist() == [[1, None]]
    assert written == [*HISTORIES, "metrics"]
    assert compacted == list(stream_tables(HISTORIES))


@pytest.mark.parametrize("lost", HISTORIES)
def test_a_lost_history_of_either_stream_is_refused(tables, tmp_path, lost):
    query, layout = pair_query(tmp_path), tables.layout
    layout.create_checkpoint(query.structure(), {}, {})
    Journal(layout.journal).append(BatchRecord(BatchHeader(0, ()), (), LogPosition()))
    for name in stream_tables(HISTORIES):
        schema = history.FILES if name in HISTORIES else SCHEMAS[name]
        tables.append(name, schema.empty_table(), layout.manifest().id, 0)
        record_written(layout, [name], 0)
    for owner in (CLOCK, *range(query.parallelism)):
        TaskStates(layout.states).write(owner, 0, b"")
    assert checkpoint.resumable(layout, query) == layout.manifest()
    layout.table(lost).rename(tmp_path / "elsewhere")
    with pytest.raises(Damaged, match=f"{lost}: the table is lost"):
        checkpoint.resumable(layout, query)
