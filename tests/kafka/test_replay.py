"""`tools/dev.py replay --kafka`: the Kafka source reads back the tuples of the files that the same command writes."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.delays import epoch_ms
from kafka.test_source import readings, topic_query
from kit.runs.local_driver import Driver
from tailrace.drivers.ports import free_port

ARGUMENTS = ("replay", "--model", "game2", "--seed", 5)


@pytest.fixture
def source(tmp_path):
    """Tuples in a Parquet file, some with values that JSON has not as they are."""
    rows = [row | {"id": f"n{number}", "note": "a\nb"} for number, row in enumerate(readings(400))]
    rows[3] |= {"v": 0.1 + 0.2, "k": "ä \N{GRINNING FACE}"}
    rows[4] |= {"v": 1e-17, "note": None}
    table = pa.Table.from_pylist(rows)
    times = table.column("event_time").cast(pa.timestamp("ms")).cast(pa.timestamp("us"))
    table = table.set_column(0, "event_time", times)
    pq.write_table(table, tmp_path / "readings.parquet")
    return tmp_path / "readings.parquet"


def test_the_source_reads_back_the_tuples_of_the_files(dev, broker, tmp_path, source):
    topic = broker.make_topic(3)
    place = f"{broker.servers}/{topic}"
    arguments = (*ARGUMENTS, "--source", source)
    output = dev(*arguments, "--kafka", place, "--partition-by", "k", "--at-once").stderr
    assert "sent 400 of 400 rows" in output
    dev(*arguments, "--output", tmp_path / "files", "--files", 1)
    app = Driver(topic_query(broker, topic, id="id", arrival_time="arrival_time"), tmp_path / "wh")
    app.run()
    assert not app.tables.read("quarantine").num_rows
    names = ("id", "event_time", "arrival_time", "key", "value")
    history = app.tables.read("history")
    read = sorted(zip(*(history.column(name).to_pylist() for name in names), strict=True))
    file = pq.read_table(tmp_path / "files" / "part-00000.parquet")
    times = [epoch_ms(file.column(name)).tolist() for name in names[1:3]]
    columns = [file.column("id").to_pylist(), *times, file.column("k").to_pylist(), file.column("v").to_pylist()]
    assert read == sorted(zip(*columns, strict=True))
    by_key = defaultdict(list)
    for part, key, record in broker.records(topic):
        assert key == record["k"]
        by_key[key].append((part, record["id"]))
    for key, records in by_key.items():
        assert len({part for part, _ in records}) == 1
        in_file = [name for name, own in zip(columns[0], columns[3], strict=True) if own == key]
        assert [name for _, name in records] == in_file, "in the order of arrival"


def test_without_a_column_records_go_to_the_partitions_by_turns(dev, broker):
    topic = broker.make_topic(3)
    dev(*ARGUMENTS, "--kafka", f"{broker.servers}/{topic}", "--rows", 30, "--rate", 100_000)
    records = broker.records(topic)
    assert [part for part, _, _ in records] == sorted([*range(3)] * 10)
    assert {key for _, key, _ in records} == {None}


def test_what_cannot_be_sent_is_refused_before_anything_is(dev, broker, tmp_path, monkeypatch):
    topic = broker.make_topic(1)
    monkeypatch.delenv("AIRFLOW_CONN_NOWHERE", raising=False)
    monkeypatch.setattr("tailrace.sources.kafka.kafka_client.TIMEOUT_S", 1.0)
    pq.write_table(pa.table({"event_time": [1, 2], "shape": [None, b"\x01"]}), tmp_path / "bytes.parquet")
    place, away = f"{broker.servers}/{topic}", f"127.0.0.1:{free_port()}/{topic}"
    cases = [
        (("--kafka", f"{broker.servers}/unknown"), "kafka-topics.sh --create"),
        (("--kafka", away), "brokers that can be reached"),
        (("--kafka", topic), "it names no servers, and there is no --connection"),
        (("--kafka", f"broker/{topic}"), "servers is not fit"),
        (("--kafka", place, "--connection", "nowhere"), "AIRFLOW_CONN_NOWHERE"),
        (("--kafka", place, "--partition-by", "k"), "there is no column k"),
        (("--kafka", place, "--rate", "0"), "rate is 0"),
        (("--kafka", place, "--source", tmp_path / "bytes.parquet"), "column shape is of type binary"),
        (("--kafka", place, "--output", tmp_path / "out"), "a stream goes to one place"),
        ((), "--output DIR, or --kafka"),
        (("--output", tmp_path / "out", "--at-once"), "they are for a topic"),
    ]
    for arguments, fragment in cases:
        assert fragment in dev(*ARGUMENTS, *arguments, code=2).stderr.replace("\n", " ")
    assert broker.records(topic) == []
    assert not (tmp_path / "out").exists()
