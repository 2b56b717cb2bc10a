"""The oracle's tuples as JSON lines, whose accepted tuples the stream stores in a history of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.oracles.oracle import Tuple

POISON = {"event_time": 1_577_836_800_000, "arrival_time": 1_577_836_800_000, "id": None, "key": "k", "value": 1.0}
"""A record that goes to quarantine."""


def write_json(records: Sequence[dict[str, Any]], directory: Path, number: int) -> None:
    """Write records as the file of a number."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    (directory / f"part-{number:05d}.json").write_text(lines)


def records_of(tuples: Sequence[Tuple]) -> list[dict[str, Any]]:
    return [item._asdict() for item in tuples]
