"""A topic as source, on a real broker: the answers are those of the same tuples as files, and no record is lost."""

from __future__ import annotations

import json
import random
import time

import pytest
from confluent_kafka import TopicPartition

from kit.runs.local_driver import Driver
from kit.suite.waiting import PATIENCE_S, until
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused, SourceChanged
from tailrace.query.declared import declared_query
from tailrace.sources.kafka.kafka_cuts import TopicCut
from tailrace.storage.journal import Journal
from tailrace.stream import source_opening
from tailrace.stream.source_opening import open_feeds

START = 1_700_000_000_000


COLUMNS = {"event_time": "event_time", "key": "k"}
DECLARED = {
    "name": "load",
    "kind": "aggregate",
    "parallelism": 1,
    "window": {"size": "1 s", "slide": "500 ms"},
    "aggregate": {"function": "sum", "column": "v"},
    "disorder": {"policy": "k_slack", "k": "200 ms"},
}


def query_on(source: dict, **stream: str):
    return declared_query(DECLARED | {"streams": {"readings": COLUMNS | {"source": source} | stream}})


def source_of(broker, topic: str) -> dict[str, str]:
    return {"format": "kafka", "servers": broker.servers, "topic": topic}


def topic_query(broker, topic: str, **stream: str):
    return query_on(source_of(broker, topic), **stream)


def delete_before(broker, topic: str, offset: int) -> None:
    """Delete the records of partition 0 before an offset, as a retention does."""
    for future in broker.admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result()


def readings(count: int, seed: int = 1) -> list[dict]:
    draw = random.Random(seed)
    return [
        {"event_time": START + 10 * n - draw.randrange(400), "v": float(draw.randrange(100)), "k": draw.choice("ab")}
        for n in range(count)
    ]


def send_in_turns(broker, topic: str, records: list[dict], partitions: int = 3) -> None:
    """Send records by turns to the partitions, some more often."""
    draw = random.Random(2)
    for first in range(0, len(records), 40):
        broker.send(topic, draw.choice([0, *range(partitions)]), *records[first : first + 40])


def again(feed) -> list:
    """The feed's segments; none while the broker is not back."""
    try:
        return feed.fresh()
    except ConnectionError:
        return []


def answers(app: Driver) -> list[tuple]:
    rows = app.tables.read("results").to_pylist()
    names = ("key", "window_start", "window_end", "tuples", "value", "as_of")
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def test_the_answers_are_those_of_the_same_tuples_as_files(broker, tmp_path, monkeypatch):
    topic = broker.make_topic(3)
    send_in_turns(broker, topic, readings(2_000))
    broker.send(topic, 1, None, b"{broken", b"[1]", b'{"event_time": "soon", "v": 1, "k": "a"}', b'{\n"v": null}')
    monkeypatch.setattr("tailrace.sources.kafka.kafka_feed.MOST_ROWS", 300)
    app = Driver(topic_query(broker, topic), tmp_path / "topic")
    assert app.run(batch_rows=170, flush=True) > 10
    history = app.tables.read("history").sort_by("position").to_pylist()
    assert len(history) == 2_000 == len({row["id"] for row in history})
    arrivals = [row["arrival_time"] for row in history]
    assert arrivals == sorted(arrivals)
    reasons = app.tables.read("quarantine").column("reason").to_pylist()
    assert len(reasons) == 5
    assert "tombstone" in " ".join(reasons)
    (tmp_path / "files").mkdir()
    lines = [
        {
            "event_time": row["event_time"],
            "arrival": row["arrival_time"],
        }
        | {"id": row["id"], "k": row["key"], "v": row["value"]}
        for row in history
    ]
    (tmp_path / "files" / "a.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = {"format": "json", "path": str(tmp_path / "files")}
    files = Driver(query_on(source, arrival_time="arrival", id="id"), tmp_path / "as_files")
    files.run(batch_rows=501, flush=True)
    assert answers(app) == answers(files) != []


def test_a_restart_amid_a_cut_and_new_partitions_lose_and_double_nothing(broker, tmp_path):
    topic = broker.make_topic(1)
    send_in_turns(broker, topic, readings(500), 1)
    app = Driver(topic_query(broker, topic), tmp_path)
    app.run(batch_rows=130)
    last = Journal(app.layout.journal).last()
    (app.layout.journal / f"{last.header.batch:08d}.json").unlink()  # as planned, but not yet written: planned again
    before = Journal(app.layout.journal).last().position.streams["readings"]
    assert before.row < TopicCut.of_path(before.path).rows
    from confluent_kafka.admin import NewPartitions

    broker.admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
    until(lambda: len(broker.admin.list_topics(timeout=PATIENCE_S).topics[topic].partitions) == 2)
    broker.send(topic, 1, *readings(70, seed=3))
    feed = open_feeds(CompiledQuery.declare(app.query), app.layout, app.layout.manifest(), live=False)["readings"]
    segments = feed.fresh()
    assert (segments[0].path, segments[0].first_row) == (before.path, before.row)
    assert sum(segment.rows for segment in segments) + 130 * 3 == 570
    assert feed.fresh() == []


def test_a_replayed_segment_is_read_alike(broker, tmp_path):
    topic = broker.make_topic(2)
    send_in_turns(broker, topic, readings(200), 2)
    app = Driver(topic_query(broker, topic), tmp_path)
    app.run()
    (segment,) = Journal(app.layout.journal)[0].segments
    broker.send(topic, 0, *readings(100, seed=5))
    reader = app.pipeline.readers[0]
    once, again = (reader.read(segment).tuples for _ in range(2))
    assert once.equals(again)
    assert once.num_rows == 200


def test_a_silent_partition_holds_a_live_stream_back_until_it_is_idle(broker, tmp_path):
    topic = broker.make_topic(2)
    broker.send(topic, 1, *readings(3))
    time.sleep(0.01)
    broker.send(topic, 0, *readings(10))
    query = topic_query(broker, topic)
    feed = open_feeds(CompiledQuery.declare(query), Driver(query, tmp_path).layout, None, live=True)["readings"]
    now_s = 0.0
    feed._clock = lambda: now_s
    assert sum(segment.rows for segment in feed.fresh()) < 13
    assert feed.holds_back
    now_s = 61.0
    feed.fresh()
    assert not feed.holds_back
    assert sum(end for end in feed._next.values()) == 13


def test_records_that_retention_deleted_before_they_were_read_stop_the_stream(broker, tmp_path):
    topic = broker.make_topic(1)
    broker.send(topic, 0, *readings(20))
    app = Driver(topic_query(broker, topic), tmp_path)
    app.run()
    manifest = app.layout.manifest()
    streaming = open_feeds(CompiledQuery.declare(app.query), app.layout, manifest, live=True)["readings"]
    assert streaming.fresh() == []
    broker.send(topic, 0, *readings(20))
    delete_before(broker, topic, 30)
    for feed in (streaming, open_feeds(CompiledQuery.declare(app.query), app.layout, manifest, live=True)["readings"]):
        with pytest.raises(SourceChanged, match="retention has deleted the records from 20 to 29"):
            feed.fresh()
    with pytest.raises(SourceChanged):
        app.pipeline.readers[0].read(Journal(app.layout.journal)[0].segments[0])


def test_a_run_that_retention_has_overtaken_ends_before_it_answers(tailrace, broker, tmp_path):
    topic = broker.make_topic(1)
    broker.send(topic, 0, *readings(200))
    app = Driver(topic_query(broker, topic), tmp_path / "wh")
    app.run(batch_rows=70)
    before = Journal(app.layout.journal).last()
    broker.send(topic, 0, *readings(50, seed=3))
    delete_before(broker, topic, 230)
    file = tmp_path / "load.yaml"
    file.write_text(json.dumps(DECLARED | {"streams": {"readings": COLUMNS | {"source": source_of(broker, topic)}}}))
    text = tailrace("run", file, "--warehouse", tmp_path / "wh", code=2).stderr
    assert "retention has deleted the records from 200 to 229" in " ".join(text.split())
    right = "right would be: a retention longer than any downtime: kafka-configs.sh --alter --entity-type topics"
    assert f"{right} --entity-name {topic} --add-config retention.ms=-1,retention.bytes=-1 " in " ".join(text.split())
    assert Journal(app.layout.journal).last() == before, "no batch was planned"
    assert app.tables.read("history").num_rows == 200


def test_a_topic_made_again_stops_the_stream(broker, tmp_path):
    topic = broker.make_topic(1)
    broker.send(topic, 0, *readings(20))
    query = topic_query(broker, topic)
    app = Driver(query, tmp_path)
    feed = open_feeds(CompiledQuery.declare(query), app.layout, None, live=True)["readings"]
    feed.fresh()
    broker.delete_topic(topic)
    with pytest.raises(SourceChanged, match="was deleted"):
        feed.fresh()
    broker.remake_topic(topic, 1)
    with pytest.raises(SourceChanged, match="made again") as stop:
        feed.fresh()
    assert stop.value.problems[0].remedy.startswith("another name for the query")


def test_a_topic_without_append_times_or_that_is_compacted_or_missing_is_refused(broker, tmp_path):
    created = broker.make_topic(1, message_timestamp_type="CreateTime")
    with pytest.raises(Refused, match=r"kafka-configs\.sh --alter"):
        Driver(topic_query(broker, created), tmp_path).run()
    broker.send(created, 0, *[record | {"arrived": START} for record in readings(5)])
    Driver(topic_query(broker, created, arrival_time="arrived"), tmp_path).run()
    with pytest.raises(Refused, match="compact"):
        Driver(topic_query(broker, broker.make_topic(1, cleanup_policy="compact")), tmp_path / "compact").run()
    with pytest.raises(Refused, match=r"kafka-topics.sh --create"):
        Driver(topic_query(broker, "nowhere"), tmp_path / "nowhere").run()


def test_a_broker_that_is_away_is_an_error_that_passes(broker, tmp_path, monkeypatch):
    topic = broker.make_topic(1)
    broker.send(topic, 0, *readings(20))
    query = topic_query(broker, topic)
    feed = open_feeds(CompiledQuery.declare(query), Driver(query, tmp_path).layout, None, live=True)["readings"]
    monkeypatch.setattr("tailrace.sources.kafka.kafka_client.TIMEOUT_S", 1.0)
    broker.stop()
    try:
        with pytest.raises(ConnectionError, match="Kafka at 127"):
            feed.fresh()
    finally:
        broker.start()
    assert sum(segment.rows for segment in until(lambda: again(feed))) == 20
    assert source_opening.problem_of({"readings": feed}) is None
