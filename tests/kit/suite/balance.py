"""The units in which tests are handed to several processes, longest first, by the seconds in `durations.json`.

A unit is an `xdist_group`, or else a file: its tests then share costly fixtures, and the imports that they need. A file
known to take long is handed out by single tests. No process begins what takes minutes when the others are done.

`make test-all DURATIONS=1` writes the seconds of what it ran into the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import pytest

DURATIONS = Path(__file__).parents[2] / "durations.json"
LONG_S = 60.0
"""From here on a file is no unit: its tests may go to all processes."""


def hand_out(items: list[pytest.Item], root: Path, seconds: Mapping[str, float]) -> list[str]:
    """Make a group of each file's tests that name none, and bring the longest units first; return each test's unit."""
    units = []
    for item in items:
        groups = sorted({mark.args[0] for mark in item.iter_markers("xdist_group")})
        units.append("_".join(groups) or item.path.relative_to(root).as_posix())  # as xdist joins the names of several
        if not groups and seconds.get(units[-1], 0.0) < LONG_S:
            item.add_marker(pytest.mark.xdist_group(units[-1]))
    places = longest_first(units, seconds)
    items[:] = [items[place] for place in places]
    return [units[place] for place in places]


def longest_first(units: Sequence[str], seconds: Mapping[str, float]) -> list[int]:
    """Return the places of tests, given by their units, in the order to run; unknown units come in the middle."""
    unknown = median(seconds.values()) if seconds else 0.0
    first = {unit: place for place, unit in reversed(list(enumerate(units)))}
    return sorted(range(len(units)), key=lambda place: (-seconds.get(units[place], unknown), first[units[place]]))


def unit_of(node_id: str) -> str:
    """Return the unit of a test: its group, which xdist writes behind an @ at the end of its id, or its file."""
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
