"""Streams of each kind as a version of tailrace left them, in an archive for each format: half read, and corrected.

An archive has a directory for each stream: its query file, and its records, of which the stream has read those in
`read`. The warehouse `wh` has the tables and states. To write the archive of a new format:

    PYTHONPATH=include:tests .venv/bin/python -m unit.storage.archived_streams
"""

from __future__ import annotations

import random
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from kit.runs.json_stream import write_json
from kit.runs.kind_streams import disturbed_rows
from kit.runs.local_driver import Driver, correct_here
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.storage.manifest import FORMAT

DATA = Path(__file__).parents[2] / "data"
READ, LATER, SOURCE = "read", "later", "in"
"""Directories of a stream: the records read before the archive was made, those that come later, and the source."""
COMMAND = "PYTHONPATH=include:tests .venv/bin/python -m unit.storage.archived_streams"

_DELAYS = (0, 50, 150, 400)
_ROWS, _PER_FILE = 96, 24
_OPTIONS: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 or newer
_WINDOW = "window: {size: 500 ms, slide: 250 ms}"
_WAIT = "disorder: {policy: k_slack, k: 200 ms, tick: 100 ms"
_POINTS = "geometry: {left: {x: x, y: y}, right: {x: x, y: y}}, crs: planar, grid: 4, extent: [0, 0, 10, 10]"
_NEAR = f"{_POINTS}, relation: dwithin, distance: 3"

STREAMS = {
    "totals": f"""\
kind: aggregate
{_WINDOW}
aggregate:
  total: {{function: sum, column: x}}
  newest: {{function: last, column: y}}
  least: {{function: min, column: id}}
  users: {{function: count_distinct, column: y, approximate: true}}
  number: {{function: count, estimate: true}}
disorder: {{policy: quantile, error: 0.2, risk: 0.2, of: [total], tick: 100 ms}}
""",
    "visits": f"""\
kind: aggregate
window: {{session: 60 ms}}
aggregate: {{function: median, column: x}}
{_WAIT}}}
""",
    "best": f"""\
kind: topk
{_WINDOW}
topk: {{k: 2, score: x, select: [y]}}
{_WAIT}}}
""",
    "alike": f"""\
kind: emd_join
window: {{size: 200 ms}}
emd_join: {{threshold: 0.5, histogram: hist, ground_distance: line, scale: 1.0, bins: 4, span: 0.25, feedback: 1 s}}
{_WAIT}, deduplicate: true}}
""",
    "near": f"""\
kind: spatial_join
spatial_join: {{{_NEAR}, join: interval, interval: {{lower: -200 ms, upper: 200 ms}}, select: [left.x]}}
{_WAIT}, deduplicate: true}}
""",
}
"""The query of each stream, without its name and its sources."""


def archive_of(number: int) -> Path:
    """Return the file with the streams of a format."""
    return DATA / f"warehouse_format_{number}.tar.xz"


def unpack(number: int, directory: Path) -> None:
    """Unpack the streams of a format."""
    with tarfile.open(archive_of(number)) as archive:
        archive.extractall(directory, **_OPTIONS)


def query_in(directory: Path, name: str, *parts: str) -> Query:
    """Return the query of a stream, in whose source there are some parts of its records."""
    for part in parts:
        for file in (directory / name / part).rglob("*.json"):
            target = directory / name / SOURCE / file.relative_to(directory / name / part)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    return load(directory / name / "query.yaml")


def run_all(query: Query, warehouse: Path) -> Driver:
    """Run a query to the end of its source, and correct; return the driver."""
    driver = Driver(query, warehouse)
    driver.run(flush=True)
    correct_here(query, warehouse)
    return driver


def make(directory: Path) -> None:
    """Make the streams of this version: each reads the first half of its records and stays open."""
    for name, text in STREAMS.items():
        sides = ("left", "right") if "_join" in text else ("readings",)
        for side in sides:
            _write_records(directory / name, side)
        home = directory / name
        (home / "query.yaml").write_text(f"name: {name}\nparallelism: 2\n{_declared(sides, 'topk' in text)}{text}")
        query = query_in(directory, name, READ)
        Driver(query, directory / "wh").run()
        if name == "totals":
            correct_here(query, directory / "wh")


def _write_records(home: Path, side: str) -> None:
    rows = disturbed_rows(side, _ROWS, random.Random(side), _DELAYS)
    records = [row._asdict() | {"area": row.key, "number": int(row.x) % 2} for row in rows]
    for number, start in enumerate(range(0, _ROWS, _PER_FILE)):
        part = READ if start < _ROWS // 2 else LATER
        write_json(records[start : start + _PER_FILE], home / part / side, number)


def _declared(sides: tuple[str, ...], has_list: bool) -> str:
    key = "" if len(sides) > 1 else f", key: {'[area, number]' if has_list else 'key'}"
    columns = f"event_time: event_time, arrival_time: arrival_time, id: id{key}"
    streams = [f"  {side}: {{source: {{format: json, path: {SOURCE}/{side}}}, {columns}}}\n" for side in sides]
    return "streams:\n" + "".join(streams)


def write_archive() -> Path:
    """Write the archive of this version's format, and return it."""
    with tempfile.TemporaryDirectory() as directory:
        make(Path(directory))
        with tarfile.open(archive_of(FORMAT), "w:xz") as archive:
            for file in sorted(Path(directory).rglob("*")):
                name = file.relative_to(directory)
                if file.is_file() and SOURCE not in name.parts:
                    archive.add(file, name)
    return archive_of(FORMAT)


if __name__ == "__main__":
    print(f"wrote {write_archive()}")
