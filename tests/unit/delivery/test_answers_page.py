"""The example of docs/answers-kafka.md does what the page says."""

from __future__ import annotations

import json

from kit.fakes.fake_topic import fake_topic
from kit.runs.answers_page import write_example
from tailrace.sources.kafka.kafka_client import Topic
from unit.cli.conftest import tailrace

__all__ = ["tailrace"]


def test_a_consumer_of_the_example_shows_its_results(tmp_path, tailrace, monkeypatch):
    topic = fake_topic(monkeypatch)
    monkeypatch.setattr(Topic, "description", lambda self: object())
    file, warehouse = write_example(tmp_path), ["--warehouse", tmp_path / "wh"]
    tailrace("run", file, *warehouse, "--bounded", "--engine", "local")
    streamed = len(topic.records)
    tailrace("correct", file, *warehouse, "--engine", "local")
    assert len(topic.records) > streamed > 0, "corrections are sent, too"
    lines = tailrace("results", file, *warehouse, "--format", "jsonl").stdout.splitlines()
    expected = {(row["key"], row["window_end"]): row["value"] for row in map(json.loads, lines)}
    shown = {(row["key"], row["window_end"]): row["value"] for row in topic.shown()}
    assert shown == expected
