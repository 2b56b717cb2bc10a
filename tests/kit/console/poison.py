"""Queries with HTML and script in every field that can hold text, and with an id of 2 MB."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from generators.replay import TIME
from kit.console.warehouse import MINUTE_MS, Warehouse

MARK = "poisoned"
"""The property of `window` that a script sets if it runs, and the class of elements that must not come to be."""

_LARGE = 2 << 20


def poison(field: str) -> str:
    """Return text that names a field, and sets the mark where a page takes it for HTML, an attribute or a script."""
    image = f"<img src=x class={MARK} onerror=window.{MARK}=1>"
    script = f"<script>window.{MARK}=1</script>"
    return f"{field}'\"></td></textarea></script>{image}{script}<b class={MARK}>b</b>&lt;${{7*7}}{{{{7*7}}}}\u202e\x07"


KEY, ID, TEXT, RECORD, GEOMETRY = (poison(field) for field in ("key", "id", "text", "record", "geometry"))
RUNBOOK = f"runbook <img src=x class={MARK} onerror=window.{MARK}=1>"
FILE = f"part-<img src=x class={MARK} onerror=window.{MARK}=1>-%d.parquet"
LINK = f"javascript:window.{MARK}=1"


def poisoned(warehouse: Warehouse) -> None:
    """A ranking whose keys, ids, selected texts, rejected records and files are poison."""
    file = warehouse.declare(
        "poisoned",
        {"readings": {"key": ["area", "number"]}},
        kind="topk",
        window={"size": "1 min", "slide": "1 min"},
        disorder={"policy": "cache_duration", "initial": "1 s", "accuracy": 0.999},
        topk={"k": 3, "score": "value", "select": ["text", "link"]},
        alerts={"lag": {"notify": "ops_webhook", "rows": 10, "runbook": RUNBOOK}},
    )
    _comment(file, "deployed")
    start_ms, rows = warehouse.now_ms - 10 * MINUTE_MS, []
    for number in range(200):
        arrival_ms = start_ms + 3000 * number
        late_ms = 90_000 if number % 7 == 3 else 0
        rows.append(
            {
                "event_time": arrival_ms - late_ms,
                "arrival_time": arrival_ms,
                "id": ID + (str(number) if number != 50 else "x" * _LARGE),
                "area": KEY,
                "number": number % 2,
                "value": float(number * 37 % 101) + (200 if late_ms or number == 50 else 0),
                "text": TEXT,
                "link": LINK,
            }
        )
        if number % 10 == 0:
            rows.append(rows[-1] | {"event_time": None, "text": RECORD})
    _write(warehouse.source("poisoned", "readings"), rows)
    warehouse.run("poisoned", 50)
    warehouse.correct("poisoned")
    file.write_text(file.read_text().replace(RUNBOOK, f"edited {RUNBOOK}"), encoding="utf-8")
    _comment(file, "on disk")


def poisoned_places(warehouse: Warehouse) -> None:
    """A join of geometries as text, of which some are poison, and so are all ids."""
    warehouse.declare(
        "poisoned_places",
        {"left": {}, "right": {}},
        kind="spatial_join",
        spatial_join={
            "join": "window",
            "crs": "planar",
            "extent": [0, 0, 10, 10],
            "geometry": {"left": {"wkt": "shape"}, "right": {"wkt": "shape"}},
            "relation": "dwithin",
            "distance": 3,
            "select": ["left.text"],
        },
        window={"size": "1 min", "slide": "1 min"},
        disorder={"policy": "k_slack", "k": "1 s"},
    )
    start_ms = warehouse.now_ms - 10 * MINUTE_MS
    for side in ("left", "right"):
        rows = []
        for number in range(40):
            time_ms = start_ms + 10_000 * number
            place = GEOMETRY if number % 10 == 9 else f"POINT ({number % 5} {number % 3})"
            times = {"event_time": time_ms - (120_000 if number % 9 == 8 else 0), "arrival_time": time_ms}
            rows.append({**times, "id": f"{side} {ID}{number}", "shape": place, "text": TEXT})
        _write(warehouse.source("poisoned_places", side), rows)
    warehouse.run("poisoned_places", 20)
    warehouse.correct("poisoned_places")


BUILDERS = (poisoned, poisoned_places)


def _comment(file: Path, field: str) -> None:
    file.write_text(f"# {poison(field)!r}\n{file.read_text()}", encoding="utf-8")


def _write(directory: Path, rows: list[dict[str, object]]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    for name in ("event_time", "arrival_time"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(TIME))
    half = table.num_rows // 2
    for part in (0, 1):
        pq.write_table(table.slice(part * half, None if part else half), directory / (FILE % part))
