"""The example of docs/answers-kafka.md, over a stream with late tuples."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kit.runs.kind_streams import disturbed_rows
from kit.runs.warehouse import TIME

PAGE = Path(__file__).parents[3] / "docs" / "answers-kafka.md"


def write_example(directory: Path, servers: str = "broker:9092", topic: str = "answers") -> Path:
    """Write the page's query file, with these servers and this topic, and its stream; returns the file."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert 'servers: "broker:9092", topic: answers' in text
    text = text.replace('servers: "broker:9092", topic: answers', f'servers: "{servers}", topic: {topic}')
    rows = disturbed_rows("readings", 300, random.Random(1))
    columns = {
        "event_time": pa.array([row.event_time for row in rows], pa.timestamp("ms", "UTC")).cast(TIME),
        "arrival_time": pa.array([row.arrival_time for row in rows], pa.timestamp("ms", "UTC")).cast(TIME),
        "id": [row.id for row in rows],
        "sensor": [row.key for row in rows],
        "value": [row.x for row in rows],
    }
    (directory / "readings").mkdir()
    pq.write_table(pa.table(columns), directory / "readings" / "0.parquet")
    file = directory / "sensor_load.yaml"
    file.write_text(text)
    return file
