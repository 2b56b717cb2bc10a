"""The order in which tests are handed to several processes: longest first, by the seconds in `durations.json`.

What is handed out at once are the tests of an `xdist_group`, else single tests, which go by the seconds of their file:
so the tests of a file stay together, and no process begins what takes minutes when the others are done.

    python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder --record-durations

writes the seconds of what it ran into the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import TypeVar

DURATIONS = Path(__file__).with_name("durations.json")

T = TypeVar("T")


def longest_first(tests: Iterable[tuple[T, str]], seconds: Mapping[str, float]) -> list[T]:
    """Sort tests, each given with its unit, by what is known of their units; unknown ones come in the middle."""
    unknown = median(seconds.values()) if seconds else 0.0
    return [test for test, _ in sorted(tests, key=lambda pair: -seconds.get(pair[1], unknown))]


def unit_of(node_id: str) -> str:
    """Return the group of a test, which xdist writes behind an @ at the end of its id, or its file."""
    if node_id.rfind("@") > node_id.rfind("]"):
        return node_id.rpartition("@")[2]
    return node_id.partition("::")[0]


def read_durations(file: Path = DURATIONS) -> dict[str, float]:
    return json.loads(file.read_text())


def record_durations(spent: Counter[str], file: Path = DURATIONS) -> None:
    """Write the seconds of units over the ones in the file; what took less than a second has one digit."""
    known = read_durations(file) if file.exists() else {}
    known |= {unit: round(s) if s >= 1 else round(s, 1) for unit, s in spent.items()}
    file.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
