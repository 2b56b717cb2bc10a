"""A topic as a sample of init, on a real broker: the query that it writes runs on the topic."""

from __future__ import annotations

import re
import shlex

from tailrace.query.loading import load


def test_the_query_for_a_topic_runs_on_it(broker, tailrace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    topic = broker.make_topic(2)
    records = [{"at": f"2024-03-14T10:00:{n:02}Z", "sensor": "ab"[n % 2], "speed": n / 2} for n in range(40)]
    broker.send(topic, 0, *records[:20])
    broker.send(topic, 1, *records[20:])
    shown = tailrace("init", f"kafka://{broker.servers}/{topic}").stdout
    assert load(tmp_path / "query.yaml").streams["records"].is_stamped is False
    assert "delay, arrival − event time:" in shown
    run, results = (tailrace(*shlex.split(line)) for line in re.findall(r"^  tailrace (.*)$", shown, re.MULTILINE))
    assert "read 40 records: 40 accepted, 0 rejected" in run.stderr
    assert "2024-03-14T10:00" in results.stdout
    refused = tailrace(
        "init", f"kafka://{broker.servers}/{broker.make_topic(1)}", "--output", "other.yaml", code=2
    ).stderr
    assert "it has no record" in refused
    assert "no such topic" in tailrace("init", f"kafka://{broker.servers}/absent", "--output", "a.yaml", code=2).stderr
