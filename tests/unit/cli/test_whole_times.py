"""Times in microseconds order tuples, bound joins and choose valid rows; streamed, corrected and rebuilt."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tailrace.api.declaration import load

START_US = 1_700_000_040_000_000 // 60_000_000 * 60_000_000
MINUTE_US = 60_000_000
LATE_US = 2 * MINUTE_US
FORMATS = {"us": "parquet", "ns": "parquet", "csv": "csv", "json": "json"}
FIRST_AND_LAST = {"f": "first", "l": "last", "n": "count"}


@dataclass(frozen=True)
class Timed:
    """A tuple; times are in microseconds."""

    id: int
    event: int
    arrival: int

    @property
    def value(self) -> int:
        return self.id * 10


def crowded(seed: int, count: int = 200) -> list[Timed]:
    """Draw tuples of which many share the milliseconds of both times, and every tenth is late; by arrival."""
    draw, tuples = random.Random(seed), []
    for number in range(count):
        arrival = START_US + number // 20 * MINUTE_US + 30_000_000 + draw.randrange(3000)
        late = LATE_US if number >= 60 and draw.random() < 0.1 else 0  # later than a window that has closed
        tuples.append(Timed(number, arrival - late - draw.randrange(2000), arrival))
    return sorted(tuples, key=lambda each: each.arrival // 1000)  # of one millisecond in any order


def text_of(us: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)).isoformat(timespec="microseconds")


def write(tuples: list[Timed], directory: Path, form: str = "us", **more: Any) -> None:
    """Write tuples in a file: Parquet in microseconds or nanoseconds, CSV or JSON."""
    directory.mkdir(parents=True)
    rows = [{"id": each.id, "v": each.value, **more} for each in tuples]
    if FORMATS[form] == "parquet":
        unit = pa.timestamp(form, "UTC")
        times = {name: [getattr(each, part) for each in tuples] for name, part in (("ts", "event"), ("at", "arrival"))}
        columns = {name: pa.array(each, pa.timestamp("us", "UTC")).cast(unit) for name, each in times.items()}
        table = pa.Table.from_pylist(rows)
        pq.write_table(
            pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **columns}), directory / "a.parquet"
        )
        return
    for row, each in zip(rows, tuples, strict=True):
        row |= {"ts": text_of(each.event), "at": text_of(each.arrival)}
    if form == "json":
        (directory / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = [rows[0].keys(), *(row.values() for row in rows)]
        (directory / "a.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))


def stream_of(form: str, path: str, arrival: str | None = "at", more: str = "") -> str:
    arrived = "" if arrival is None else f"arrival_time: {arrival}, "
    return f"{{source: {{format: {FORMATS[form]}, path: {path}}}, event_time: ts, {arrived}id: id{more}}}"


def window_of(us: int) -> int:
    return us // MINUTE_US


def expected(tuples: list[Timed]) -> dict[int, tuple[int, int, int]]:
    """The first and the last value of each window by event time, arrival and id, and the number of values."""
    windows = defaultdict(list)
    for each in tuples:
        windows[window_of(each.event)].append(each)
    answers = {}
    for window, members in windows.items():
        ordered = sorted(members, key=lambda each: (each.event, each.arrival, each.id))
        answers[window] = ordered[0].value, ordered[-1].value, len(members)
    return answers


def in_time(tuples: list[Timed]) -> list[Timed]:
    return [each for each in tuples if each.arrival - each.event < LATE_US]


def answered(rows: list[dict[str, Any]]) -> dict[int, tuple[int, int, int]]:
    return {window_of(int(row["window_start"].timestamp()) * 1_000_000): (row["f"], row["l"], row["n"]) for row in rows}


def aggregate(folder: Path, form: str, arrival: str | None = "at") -> Path:
    functions = "".join(
        f"  {name}: {{function: {function}{'' if function == 'count' else ', column: v'}}}\n"
        for name, function in FIRST_AND_LAST.items()
    )
    (folder / "query.yaml").write_text(
        f"name: q\nkind: aggregate\nstreams:\n  s: {stream_of(form, 'in', arrival)}\n"
        f"window: 1 min\naggregate:\n{functions}disorder: {{policy: k_slack, k: 0 s}}\n"
    )
    return folder / "query.yaml"


@pytest.mark.parametrize("form", FORMATS)
def test_first_and_last_go_by_the_whole_times(tmp_path, form):
    tuples = crowded(seed=len(form))
    write(tuples, tmp_path / "in", form)
    done = load(aggregate(tmp_path, form)).run(tmp_path / "warehouse", engine="local")
    assert answered(done.results(as_of="stream").dicts()) == expected(in_time(tuples))
    done.correct(engine="local")
    assert answered(done.results().dicts()) == expected(tuples)


def test_history_holds_whole_times_and_corrections_order_by_them(tmp_path):
    """A stream without arrival times keeps its tuples in history, from where corrections and rebuilds take them."""
    tuples = [Timed(each.id, each.event, START_US) for each in crowded(seed=3)]  # all arrive at once
    write(tuples, tmp_path / "in")
    query = load(aggregate(tmp_path, "us", arrival=None))
    done = query.run(tmp_path / "warehouse", engine="local")
    (history,) = (tmp_path / "warehouse").rglob("history/_delta_log")
    stored = DeltaTable(history.parent).to_pyarrow_table(columns=["id", "event_time"])
    times = stored["event_time"].cast(pa.int64()).to_pylist()
    assert dict(zip(stored["id"].to_pylist(), times, strict=True)) == {each.id: each.event for each in tuples}
    done.correct(engine="local")
    assert answered(done.results().dicts()) == expected(tuples)
    (tmp_path / "in" / "a.parquet").unlink()
    done.rebuild(engine="local")
    done.correct(engine="local")
    assert answered(done.results().dicts()) == expected(tuples)


@pytest.mark.parametrize(
    ("form", "finer"), [("ns", ["at", "ts", "w"]), ("csv", ["at", "ts"]), ("json", ["at", "ts"]), ("us", [])]
)
def test_what_is_finer_than_microseconds_is_told_once(tmp_path, form, finer):
    tuples = crowded(seed=1)
    write(tuples, tmp_path / "in", form)
    (file,) = (tmp_path / "in").iterdir()
    if form == "ns":
        table = pq.read_table(file)
        nanoseconds = [*range(len(tuples))]
        for name in ("at", "ts"):
            finer_times = pc.add(table[name].cast(pa.int64()), pa.array([each % 1000 for each in nanoseconds]))
            table = table.set_column(table.column_names.index(name), name, finer_times.cast(pa.timestamp("ns", "UTC")))
        pq.write_table(table.append_column("w", pa.array(nanoseconds, pa.timestamp("ns"))), file)
    elif form != "us":
        file.write_text(re.sub(r"(\.\d{6})\+", r"\g<1>789+", file.read_text()))
    path = aggregate(tmp_path, form)
    if form == "ns":
        path.write_text(path.read_text().replace("disorder:", "  w: {function: max, column: w}\ndisorder:"))
    done = load(path).run(tmp_path / "warehouse", engine="local")
    assert answered(done.results(as_of="stream").dicts()) == expected(in_time(tuples))
    have = f"{' and '.join(finer)} of s have times finer than microseconds, which were floored to these"
    assert [line for line in done.lines() if "finer" in line] == ([f"warning: {have}"] if finer else [])


JOINS = {
    "spatial_join": "spatial_join:\n  join: interval\n  interval: {lower: -2 ms, upper: 1 ms}\n"
    "  geometry: {left: {x: v, y: y}, right: {x: v, y: y}}\n  crs: planar\n  relation: dwithin\n  distance: 1000000\n"
    "  extent: [0, 0, 10, 10]\n",
    "emd_join": "window: {size: 2 ms}\nemd_join: {histogram: h, threshold: 1.0, bins: 2}\n",
}
BOUNDS_US = {"spatial_join": (-2000, 1000), "emd_join": (-2000, 2000)}


@pytest.mark.parametrize("kind", JOINS)
def test_pairs_lie_within_the_bounds_by_their_whole_times(tmp_path, kind):
    draw = random.Random(7)
    sides: dict[str, list[Timed]] = {}
    for side in ("left", "right"):
        sides[side] = []
        for number in range(60):
            event = START_US + number // 20 * 10_000 + draw.randrange(0, 6000, 250)
            sides[side].append(Timed(number, event, event + draw.choice([0, 0, 0, 50_000])))
        sides[side].sort(key=lambda each: each.arrival)
        write(sides[side], tmp_path / side, y=1.0, h=[1.0, 0.0])
    streams = "".join(f"  {side}: {stream_of('us', side)}\n" for side in sides)
    (tmp_path / "query.yaml").write_text(
        f"name: q\nkind: {kind}\nstreams:\n{streams}{JOINS[kind]}disorder: {{policy: k_slack, k: 0 s, tick: 1 ms}}\n"
    )
    lower, upper = BOUNDS_US[kind]
    pairs = [(left, right) for left in sides["left"] for right in sides["right"]]
    within = {(one.id, other.id) for one, other in pairs if lower <= other.event - one.event <= upper}
    at_bound = {(one.id, other.id) for one, other in pairs if other.event - one.event in (lower, upper)}
    assert at_bound & within
    done = load(tmp_path / "query.yaml").run(tmp_path / "warehouse", engine="local")
    streamed = {(row["left_id"], row["right_id"]) for row in done.results(as_of="stream").dicts()}
    assert streamed < within
    done.correct(engine="local")
    assert {(row["left_id"], row["right_id"]) for row in done.results().dicts()} == within


def test_rows_of_tables_are_valid_by_whole_times(tmp_path):
    """A row is valid from a microsecond on, and before another: for lookups and for tables of geometries."""
    since = START_US + 1500
    until = START_US + 2300
    tuples = [Timed(number, START_US + us, START_US + us) for number, us in enumerate((1499, 1500, 1501, 2299, 2300))]
    valid = {tuples[1].id, tuples[2].id, tuples[3].id}
    write(tuples, tmp_path / "in", k="a", y=1.0)
    bounds = {name: pa.array([us], pa.timestamp("us", "UTC")) for name, us in (("since", since), ("until", until))}
    geometry = ["POLYGON ((-1 -1, 1000 -1, 1000 1000, -1 1000, -1 -1))"]
    pq.write_table(pa.table({"k": ["a"], "c": ["in force"], "g": geometry, **bounds}), tmp_path / "table.parquet")
    table = "path: table.parquet, valid_from: since, valid_to: until"
    lookup = f", lookup: {{t: {{{table}, key: k, columns: [c], on_no_match: drop}}}}"
    (tmp_path / "lookup.yaml").write_text(
        f"name: l\nkind: aggregate\nstreams:\n  s: {stream_of('us', 'in', more=lookup)}\n"
        "window: 1 min\naggregate: {n: {function: count}, f: {function: min, column: v}}\n"
        "disorder: {policy: k_slack, k: 0 s}\n"
    )
    done = load(tmp_path / "lookup.yaml").run(tmp_path / "l", engine="local")
    (row,) = done.results().dicts()
    assert (row["n"], row["f"]) == (len(valid), tuples[1].value)
    (tmp_path / "join.yaml").write_text(
        f"name: j\nkind: spatial_join\nstreams:\n  left: {stream_of('us', 'in')}\n"
        "spatial_join:\n  join: table\n  geometry: {left: {x: v, y: y}}\n  crs: planar\n"
        f"  relation: within\n  table: {{{table}, id: k, geometry: g}}\n"
    )
    done = load(tmp_path / "join.yaml").run(tmp_path / "j", engine="local")
    assert {row["left_id"] for row in done.results().dicts()} == valid
