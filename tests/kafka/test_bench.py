"""The benchmark of topics: a short one, in a process whose Spark has the connector."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from uuid import UUID

import pytest

from bench.kafka.broker import LocalBroker

pytestmark = pytest.mark.needs("spark")

MEASURE = """
import json, sys
from bench.kafka.reading import measure
print(json.dumps(measure(sys.argv[1], 100_000, 1, [2], lambda line: print(line, file=sys.stderr, flush=True))))
"""


def test_ours_and_the_connector_answer_alike_and_both_are_measured(broker):
    command = [sys.executable, "-c", MEASURE, broker.servers]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    measured = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert measured.returncode == 0, measured.stderr[-3000:]
    assert "answers of Spark's were looked up among ours" in measured.stderr
    rows = json.loads(measured.stdout.splitlines()[-1])
    assert [row["contestant"] for row in rows] == ["tailrace", "connector"]
    assert all(row["partitions"] == 2 and row["whole_rows_s"] > 0 for row in rows)
    assert rows[1]["to_connector"] == 1
    (told,) = re.findall(r"connector: a JVM of its own, (.*)", measured.stderr)
    assert "-Xmx2g" in told, "as ours has"
    assert not re.search("TieredStopAtLevel|SerialGC|SharedArchive", told), "those suit a JVM that computes nothing"


def test_a_cluster_id_may_begin_with_a_dash(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.kafka.broker.uuid.uuid4", lambda: UUID(bytes=b"\xfb" * 16))
    monkeypatch.setattr(LocalBroker, "start", lambda self: None)
    LocalBroker(tmp_path)
    assert "cluster.id=-_v7-_v7-_v7-_v7-_v7-w" in (tmp_path / "log" / "meta.properties").read_text()
