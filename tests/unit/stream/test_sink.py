"""The sink writes each batch exactly once, and notes it once all tables have it."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kit.fakes.fake_producer import FakeProducer
from kit.oracles.oracle import Settings
from kit.runs.deaths import deaths
from kit.runs.warehouse import make_query
from tailrace.delivery.answer_topic import AnswerTopic, TopicAway
from tailrace.ground.arrow.times import with_times
from tailrace.ground.errors import Busy
from tailrace.kinds import build
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.storage import tables as tables_module
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import VACUUM, Tables
from tailrace.storage.written_batches import read_written
from tailrace.stream.failures import Failure
from tailrace.stream.sink import Sink
from tailrace.stream.stream_tables import StreamTables
from tailrace.tables.stream import CLASSES, STREAM_TABLES

KIND = build(make_query(Path("in"), Settings(500, 100, 100, "sum", "none")))
SCHEMAS = schemas(KIND)
METRICS = {"batch": 0, "task": 0, "rows": 1, "partials": 1, "repeats": 0, "late": 0, "answers": 1, "ticks": 1}
METRICS |= {"k_ms": 0, "t_max": 5, "frontier": 5, "newest_tick": 0, "complete_tick": None, "reached": [5]}
METRICS |= dict.fromkeys(CLASSES, 0)
METRICS |= {"committed": 100, "coverage": 1.0, "latency_ms": 1.0, "load": 1.0, "flushed": False, "reached": [100]}
METRICS |= {"newest_event": 5, "imbalance": None, "threshold": None, "loads": None, "counts": None, "filtered": 0}
RESULT = {"key": "k", "window_start": 0, "window_end": 100, "value": 1.0, "tuples": 1}
RESULT |= {"k_ms": 0, "as_of": 100, "facts_version": 1}


ROWS = {"results": pa.Table.from_pylist([RESULT]), "metrics": pa.Table.from_pylist([METRICS])}
"""A batch, as an executor returns it."""


def sink_over(directory: Path, app: str = "checkpoint", **options: object) -> Sink:
    tables = StreamTables(Tables(Layout(directory)), {name: SCHEMAS[name] for name in STREAM_TABLES[1:]}, {}, app)
    tables.create()
    return Sink(tables, **options)


def last_batches(sink: Sink) -> list[int]:
    """The last batch of `results` and of `metrics`."""
    return [sink.tables.tables.last_batch(name, "checkpoint") for name in ROWS]


@pytest.fixture
def sink(tmp_path):
    return sink_over(tmp_path)


@pytest.mark.parametrize("batch", [0, 7])
def test_a_batch_that_is_run_again_is_written_once(sink, batch):
    for _ in range(3):
        sink.write(ROWS, batch)
    assert [sink.tables.tables.read(name).num_rows for name in ROWS] == [1, 1]


def test_batches_are_identified_by_their_number_and_checkpoint(sink):
    sink.write(ROWS, 0)
    sink.write(ROWS, 1)
    sink_over(sink.tables.tables.layout.home, "another").write(ROWS, 0)
    assert sink.tables.tables.read("results").num_rows == 3


def test_writing_a_batch_is_idempotent_also_after_its_commit_was_cleaned_up(tmp_path, monkeypatch):
    no_retention = dict.fromkeys(tables_module.RETENTION, "interval 0 seconds")
    monkeypatch.setattr(tables_module, "RETENTION", no_retention)
    sink = sink_over(tmp_path, compact_every=3)
    tables = sink.tables.tables
    for batch in range(6):
        sink.write(ROWS, batch)
    assert not (tables.layout.table("results") / "_delta_log" / f"{1:020d}.json").exists()
    for batch in (0, 2, 5):
        sink.write(ROWS, batch)
    sink.write(ROWS, 6)
    assert tables.read("results").num_rows == tables.read("metrics").num_rows == 7
    assert len(list(tables.layout.table("results").glob("*.parquet"))) <= 3


def test_compaction_removes_no_file_while_a_correction_reads(tmp_path, monkeypatch):
    no_retention = dict.fromkeys(tables_module.RETENTION, "interval 0 seconds")
    monkeypatch.setattr(tables_module, "RETENTION", no_retention)
    sink = sink_over(tmp_path, compact_every=3)
    tables = sink.tables.tables
    sink.write(ROWS, 0)
    read = set(tables.layout.table("results").glob("*.parquet"))
    with tables.layout.lock(VACUUM):
        for batch in (1, 2):
            sink.write(ROWS, batch)
        assert all(file.exists() for file in read), "they were merged, and stay"
        assert len(DeltaTable(tables.layout.table("results")).file_uris()) == 1, "compacted all the same"
    for batch in (3, 4, 5):
        sink.write(ROWS, batch)
    assert not any(file.exists() for file in read)
    assert tables.read("results").num_rows == 6


def with_topic(sink: Sink, *producers: FakeProducer) -> Sink:
    """The sink, with a topic that takes the next producer when it needs one."""
    left = list(producers)
    topic = AnswerTopic(
        Servers("b:1"), "answers", KIND.answers.row_identity, lambda servers: left.pop(0), query="readings"
    )
    return replace(sink, answer_topic=topic)


def test_answers_are_sent_once_the_table_has_them_and_again_with_their_batch(sink, monkeypatch):
    rows_in_table = []

    class Watching(FakeProducer):
        def produce(self, *arguments, **named):
            rows_in_table.append((sink.tables.tables.read("results").num_rows, read_written(sink.tables.tables.layout)))
            assert sink.tables.tables.read("metrics").num_rows == 0, "no correction knows of the batch"
            super().produce(*arguments, **named)

    producer = Watching()
    sending = with_topic(sink, producer)
    with deaths(monkeypatch).at("append metrics", 1):
        sending.write(ROWS, 0)
    assert rows_in_table == [(1, {})], "in the table, and not noted: in an object store the note commits the batch"
    assert not producer.waiting, "the brokers have all when the batch is written"
    sending.write(ROWS, 0)
    assert producer.sent[0] == producer.sent[1]
    assert producer.headers == [{"query": b"readings", "generation": b"0", "as_of": b"100"}] * 2
    assert sink.tables.tables.read("results").num_rows == 1


def test_a_batch_that_corrections_know_of_is_not_sent_again(sink, monkeypatch):
    """A correction of its answers may be in the topic, whose `as_of` may be the same."""
    producer = FakeProducer()
    sending = with_topic(sink, producer)
    with deaths(monkeypatch).at("record_written", 1):
        sending.write(ROWS, 0)
    sending.write(ROWS, 0)
    assert len(producer.sent) == 1
    sending.write(ROWS, 1)
    assert len(producer.sent) == 2


def test_a_batch_whose_answers_could_not_be_sent_fails_for_now_and_is_sent_again(sink):
    producer = FakeProducer()
    sending = with_topic(sink, FakeProducer(fails_at=0), producer)
    with pytest.raises(TopicAway, match="Kafka at b:1: topic answers") as away:
        sending.write(ROWS, 0)
    assert Failure.classify(away.value).kind == "transient"
    assert sink.tables.tables.read("results").num_rows == 1
    sending.write(ROWS, 0)
    assert len(producer.sent) == 1
    assert sink.tables.tables.read("results").num_rows == 1


def test_times_are_utc_timestamps_in_the_tables_and_ms_for_readers(sink):
    sink.write(ROWS, 0)
    row = DeltaTable(sink.tables.tables.layout.table("results")).to_pyarrow_table().to_pylist()[0]
    assert row["window_end"].tzinfo is not None
    assert row["window_end"].astimezone(UTC).timestamp() == 0.1
    assert sink.tables.tables.read("results").to_pylist()[0]["window_end"] == 100


def test_written_tables_are_returned_and_recorded_with_their_batch(sink):
    assert sink.write(ROWS, 4).keys() == {"results", "metrics"}
    assert read_written(sink.tables.tables.layout) == {"results": 4, "metrics": 4}
    sink.write(ROWS, 5)
    assert read_written(sink.tables.tables.layout) == {"results": 5, "metrics": 5}


def test_compaction_leaves_large_files_alone(tmp_path, monkeypatch):
    """Otherwise each compaction would rewrite the whole table, and batches would slow down as it grows."""
    tables, table_schema = Tables(Layout(tmp_path)), schemas(KIND)["quarantine"]
    tables.create({name: schemas(KIND)[name] for name in STREAM_TABLES[1:]})
    noise, batches = random.Random(1), itertools.count()

    def files() -> dict[str, int]:
        actions = pa.table(DeltaTable(tables.layout.table("quarantine")).get_add_actions(flatten=True))
        return dict(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))

    def write_some() -> None:
        for _ in range(8):
            row = {"stream": "s", "position": "1", "arrival_time": 0, "reason": "r"}
            rows = [row | {"record": noise.randbytes(20).hex()} for _ in range(100)]
            batch = next(batches)
            tables.append("quarantine", with_times(pa.Table.from_pylist(rows), table_schema), "app", batch)

    write_some()
    tables.compact(STREAM_TABLES)
    ((first, size),) = files().items()
    monkeypatch.setattr(tables_module, "FILE_BYTES", size)
    write_some()
    small = files()
    tables.compact(STREAM_TABLES)
    assert first in files(), "a file of the target size is not rewritten"
    assert len(files()) < len(small)
    rewritten_bytes = []
    for _ in range(6):
        write_some()
        before = files()
        tables.compact(STREAM_TABLES)
        rewritten_bytes.append(sum(before[path] for path in before.keys() - files().keys()))
    assert first in files()
    assert max(rewritten_bytes[3:]) <= 1.5 * max(rewritten_bytes[:3]), "no more, though the table has doubled"
    assert tables.read("quarantine").num_rows == 8 * 8 * 100


@pytest.mark.parametrize("wrong", [{"rows": 2}, {"accepted": 0}, {"quarantined": 1}, {"filtered": 1}])
def test_a_batch_that_does_not_balance_is_not_written(sink, wrong):
    """Read = accepted + filtered + quarantined, and each of them came where it belongs."""
    segment = {"rows": 1, "accepted": 1, "filtered": 0, "quarantined": 0} | wrong
    with pytest.raises(RuntimeError, match="does not balance"):
        sink.write(ROWS | {"segments": pa.Table.from_pylist([segment])}, 0)
    assert sink.tables.tables.last_batch("results", "checkpoint") == -1


def test_a_batch_that_is_in_metrics_is_in_every_table(sink, monkeypatch):
    """Readers go by `metrics`: it is written last, so a death amid the tables hides the batch from them."""
    with deaths(monkeypatch).after(1):
        sink.write(ROWS, 0)
    assert [sink.tables.tables.last_batch(name, "checkpoint") for name in ("results", "metrics")] == [0, -1]


def test_a_driver_that_another_one_may_have_replaced_writes_nothing_more(sink):
    def refuses_at(call):
        calls = itertools.count()

        def require_held():
            if next(calls) == call:
                raise Busy([])

        return replace(sink, require_held=require_held)

    for call in range(3):
        before = {name: sink.tables.tables.last_batch(name, "checkpoint") for name in ("results", "metrics")}
        assert set(before.values()) <= {-1, 0}
        assert list(before.values()).count(0) == max(call - 1, 0)
        with pytest.raises(Busy):
            refuses_at(call).write(ROWS, 0)
        assert read_written(sink.tables.tables.layout) == {}
    sink.write(ROWS, 0)
    assert read_written(sink.tables.tables.layout) == {"results": 0, "metrics": 0}
