"""The pages docs/serve.md and docs/kafka-demo.md: their queries, commands and consumer."""

from __future__ import annotations

import csv
import json
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import confluent_kafka
import pytest

from demo.generated_data import METERS
from tailrace.embedded import serve as serving
from tailrace.query.loading import load

ROOT = Path(__file__).parents[3]
SERVE, KAFKA = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("serve", "kafka-demo"))
COUNT = 400


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [text for of, text in found if of == language]


def write_orders(directory: Path) -> float:
    """Write orders that come up to a minute late; return the sum of their amounts."""
    draw, start = random.Random(36), datetime(2026, 11, 27, tzinfo=UTC)
    orders = [(start + timedelta(seconds=number), draw.choice((0, 1, 60)), number) for number in range(COUNT)]
    directory.mkdir()
    with (directory / "a.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["order_id", "ordered_at", "received_at", "shop", "amount"])
        for received, late_s, number in orders:
            ordered = received - timedelta(seconds=late_s)
            rows.writerow([number, ordered.isoformat(), received.isoformat(), draw.choice(["Oslo", "Rome"]), number])
    return float(sum(range(COUNT)))


def test_the_query_of_the_page_is_answered_and_read_by_its_command(tailrace, tmp_path, monkeypatch):
    home = tmp_path / "platform"
    (home / "queries").mkdir(parents=True)
    total = write_orders(home / "orders")
    file = home / "queries" / "orders.yaml"
    file.write_text(blocks(SERVE, "yaml")[0])
    monkeypatch.chdir(tmp_path)
    warehouse = ("--warehouse", "platform/warehouse")
    tailrace("run", "platform/queries/orders.yaml", *warehouse, "--bounded", "--correct", "--engine", "local")
    [line] = [line for block in blocks(SERVE, "") for line in block.splitlines() if " results " in line]
    output = tailrace(*line.split()[1:], "--format", "jsonl")
    answers = [json.loads(text) for text in output.stdout.splitlines()]
    query = load(file)
    assert {answer["key"] for answer in answers} == {"Oslo", "Rome"}
    windows = query.window.size_ms // query.window.slide_ms
    assert sum(answer["value"] for answer in answers) == total * windows
    assert sum(answer["coverage"] < 1 for answer in answers) == 0


def test_the_pages_command_serves_its_folder(tailrace, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(serving, "serve", lambda home, port, start_s, echo: calls.append((home, port, start_s)))
    command = blocks(SERVE, "")[0].split()
    tailrace(*command[1:])
    tailrace("serve")
    tailrace("serve", tmp_path, "--port", 4711, "--start-s", 900)
    assert calls == [(Path("platform"), None, 600.0)] * 2 + [(tmp_path, 4711, 900.0)]
    tailrace("serve", tmp_path, "--port", 70000, code=2)
    tailrace("serve", "s3://bucket/platform", code=2)
    assert len(calls) == 3


def test_a_folder_that_can_not_be_served_is_refused_by_the_command(tailrace, tmp_path):
    (tmp_path / ".demo").touch()
    output = tailrace("serve", tmp_path, code=2)
    assert output.stderr.startswith(f"refused {tmp_path}: it is a demonstration's")
    assert [path.name for path in tmp_path.iterdir()] == [".demo"]


def test_the_query_of_the_kafka_page_is_the_demonstrations(tmp_path):
    (tmp_path / "meters.yaml").write_text(blocks(KAFKA, "yaml")[0])
    assert load(tmp_path / "meters.yaml") == load(METERS)


def test_the_consumer_of_the_kafka_page_keeps_the_newest_versions(monkeypatch):
    sent = [("a", 1, 10, {"value": 1}), ("b", 1, 20, {"value": 2}), ("a", 1, 30, {"value": 3}), ("a", 1, 20, None)]
    sent += [("b", 2, 0, None), ("c", 1, 10, {"value": 4}), ("c", 1, 10, {"value": 5})]

    class Consumer:
        """Yields the records, then ends the page's loop."""

        def __init__(self, settings: dict) -> None:
            assert settings["bootstrap.servers"] == "127.0.0.1:9092"

        def subscribe(self, topics: list[str]) -> None:
            assert topics == [load(METERS).answers.kafka.topic]

        def poll(self, timeout: float) -> SimpleNamespace | None:
            if not sent:
                raise KeyboardInterrupt
            key, generation, as_of, answer = sent.pop(0)
            value = None if answer is None else json.dumps(answer).encode()
            headers = [("query", b"meters"), ("generation", b"%d" % generation), ("as_of", b"%d" % as_of)]
            return SimpleNamespace(error=lambda: None, key=lambda: key, value=lambda: value, headers=lambda: headers)

    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)
    found: dict[str, object] = {}
    with pytest.raises(KeyboardInterrupt):
        exec(blocks(KAFKA, "python")[0], found)
    assert found["answers"] == {"a": {"value": 3}, "b": None, "c": {"value": 5}}
