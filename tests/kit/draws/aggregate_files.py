"""A query file of aggregates, given its section `aggregate`; its source is never read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.query.loading import parse

FILE = Path("/queries/revenue.yaml")
HEAD = """name: revenue
kind: aggregate
streams:
  events:
    source: {format: csv, path: events}
    event_time: event_ts
    id: event_id
    key: country
window: {size: 5 min}
aggregate:
"""


def query_of(section: str) -> Any:
    """The query whose section has these lines, from the file's line 11 on; fields that follow may stand behind them."""
    return parse(FILE, f"{HEAD}{section}")
