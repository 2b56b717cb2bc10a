"""What `select` of a join promises: the columns of its sources in each answer, as they came, in every version."""

from __future__ import annotations

import csv
import json
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.runs.local_driver import Driver
from tailrace.calibration.calibrate import LoggedHistory
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.arrow.times import TIME
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.log import Log
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.terminal.answers import write_answers

SIDES = ("left", "right")
EPOCH = 1_577_836_800_000
REACH_MS = 300
SPOTS = [(float(x), float(x) / 2) for x in range(4)]
COUNT, AGAIN = 90, (10, 50)
"""The number of tuples of a stream; and of which the id comes again, later and elsewhere."""

TYPES = {
    "taxi": pa.string(),
    "seats": pa.uint8(),
    "speed": pa.float32(),
    "free": pa.bool_(),
    "fare": pa.decimal128(12, 2),
    "built": pa.date32(),
    "seen": pa.timestamp("ns"),
    "shift": pa.dictionary(pa.int8(), pa.large_string()),
    "lon": pa.float64(),
}
"""The columns that are selected of both sides; `lon` is one of the geometry, too."""

ANSWERED = TYPES | {"seats": pa.int16(), "seen": TIME, "shift": pa.string()}
SELECT = [f"right.{name}" for name in TYPES] + ["distance"] + [f"left.{name}" for name in reversed(TYPES)]
OF_JSON = ("taxi", "seats", "speed", "free", "lon")
IDENTITY = ["left_id", "right_id", "left_time", "right_time"]

Records = list[dict]


def records(side: int) -> Records:
    """A stream in order of arrival, some of it far too late; a fourth of the values are null."""
    draw, made = random.Random(side), []
    for number in range(COUNT):
        event = EPOCH + number * 20 + draw.randrange(20)
        delay = draw.randrange(40) + (draw.randrange(2000) if draw.random() < 0.2 else 0)
        lon, lat = SPOTS[draw.randrange(len(SPOTS))]
        more = {
            "taxi": draw.choice(["é\0", "a,b", ""]),
            "seats": draw.randrange(256),
            "speed": float(np.float32(draw.uniform(0, 90))),
            "free": draw.random() < 0.5,
            "fare": Decimal(draw.randrange(10**9)) / 100,
            "built": date(1, 1, 1) + timedelta(draw.randrange(3_000_000)),
            "seen": datetime(1970, 1, 1) + timedelta(microseconds=draw.randrange(-(10**15), 10**15)),
            "shift": draw.choice(["day", "night"]),
        }
        more = {name: value if draw.random() < 0.75 else None for name, value in more.items()}
        fixed = {"event_time": event, "arrival_time": event + delay, "id": f"{side}-{number}", "lon": lon, "lat": lat}
        made.append(fixed | more)
        if number in AGAIN:
            elsewhere = dict(zip(("lon", "lat"), SPOTS[(SPOTS.index((lon, lat)) + 1) % len(SPOTS)], strict=True))
            made.append(fixed | more | elsewhere | {"arrival_time": event + delay + 60, "taxi": "another"})
    return sorted(made, key=lambda record: record["arrival_time"])


STREAMS = [records(side) for side in (0, 1)]


def write_parquet(directory: Path, name: str) -> None:
    """Two files, of which the second has narrower types."""
    directory.mkdir()
    rows, first = STREAMS[SIDES.index(name)], COUNT // 2
    times = dict.fromkeys(("event_time", "arrival_time"), pa.int64())
    types = times | {"id": pa.string(), "lat": pa.float64()} | TYPES
    narrower = types | {"fare": pa.decimal128(11, 2), "seen": pa.timestamp("us", "UTC"), "shift": pa.string()}
    for number, (part, kinds) in enumerate([(rows[:first], types), (rows[first:], narrower)]):
        columns = {name: pa.array([row[name] for row in part], kind) for name, kind in kinds.items() if name != "shift"}
        columns["shift"] = pa.array([row["shift"] for row in part]).cast(kinds["shift"])
        pq.write_table(pa.table(columns), directory / f"{number}.parquet", row_group_size=20)


def write_json(directory: Path, name: str) -> None:
    """A line a record, without what is null."""
    directory.mkdir()
    names = ["event_time", "arrival_time", "id", "lat", *OF_JSON]
    rows = [{n: row[n] for n in names if row[n] is not None} for row in STREAMS[SIDES.index(name)]]
    for row in rows:
        if row.get("speed", 0.5) < 45 and "speed" in row:
            row["speed"] = int(row["speed"])
    (directory / "0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_query(directory: Path, join: str, format_name: str, select: list[str]) -> Query:
    columns = {column: column for column in ("event_time", "arrival_time", "id")}
    sources = {side: {"source": {"format": format_name, "path": str(directory / side)}} | columns for side in SIDES}
    section = {"join": join, "relation": "dwithin", "distance": "1 km", "select": select}
    section |= {"geometry": {side: {"x": "lon", "y": "lat"} for side in SIDES}, "grid": 4, "extent": [0, 0, 4, 4]}
    declared = {"name": "meet", "kind": "spatial_join", "streams": sources}
    declared |= {"disorder": {"policy": "none", "tick": "20 ms"}}
    if join == "window":
        return declared_query(declared | {"spatial_join": section, "window": {"size": "300 ms", "slide": "100 ms"}})
    section |= {"interval": {"lower": f"-{REACH_MS} ms", "upper": f"{REACH_MS} ms"}}
    return declared_query(declared | {"spatial_join": section})


def windows_of(left: dict, right: dict, join: str) -> list[tuple]:
    """What tells the answers of a pair apart: of a join by window, the ends of the windows that hold both."""
    a, b = left["event_time"], right["event_time"]
    if join == "interval":
        return [()] if abs(a - b) <= REACH_MS else []
    return [(end,) for end in range(min(a, b) // 100 * 100 + 100, min(a, b) + 301, 100) if end - 300 <= max(a, b) < end]


def true_answers(join: str, of_json: bool) -> dict[tuple, dict]:
    """All answers by brute force, with the selected values of their tuples: of the first with each id."""
    answers = {}
    firsts = [{row["id"]: row for row in reversed(rows)}.values() for rows in STREAMS]
    for left in firsts[0]:
        for right in firsts[1]:
            if (left["lon"], left["lat"]) == (right["lon"], right["lat"]):
                values = {
                    f"{side}_{name}": row[name]
                    for side, row in zip(SIDES, (left, right), strict=True)
                    for name in (OF_JSON if of_json else TYPES)
                }
                for side in SIDES:
                    speed = values[f"{side}_speed"]
                    if of_json and speed is not None and speed < 45:
                        values[f"{side}_speed"] = float(int(speed))
                    if not of_json and values[f"{side}_seen"] is not None:
                        values[f"{side}_seen"] = values[f"{side}_seen"].replace(tzinfo=UTC)
                for end in windows_of(left, right, join):
                    answers[left["id"], right["id"], *end] = values
    return answers


def by_identity(answers: pa.Table, join: str) -> dict[tuple, dict]:
    names = ["left_id", "right_id", *(["window_end"] if join == "window" else [])]
    rows = answers.to_pylist()
    found = {tuple(row[name] for name in names): row for row in rows}
    assert len(found) == len(rows), "an answer was given twice"
    return {key: {name: row[name] for name in row if name[:5] in ("left_", "right")} for key, row in found.items()}


def without_identity(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in IDENTITY}


def no_spark(buckets: int) -> None:
    raise AssertionError("so little needs no Spark")


@pytest.fixture(params=["interval", "window"])
def join(request) -> str:
    return request.param


@pytest.fixture(params=["parquet", "json"])
def app(request, join, tmp_path) -> Driver:
    """The stream of the query, run to its end."""
    select = SELECT if request.param == "parquet" else [f"{side}.{name}" for name in OF_JSON for side in SIDES]
    for side in SIDES:
        (write_parquet if request.param == "parquet" else write_json)(tmp_path / side, side)
    app = Driver(make_query(tmp_path, join, request.param, select), tmp_path / "wh")
    app.run(batch_rows=50, flush=True)
    assert app.tables.read("quarantine").num_rows == 0
    return app


@pytest.mark.needs("long")
def test_answers_have_the_columns_of_their_tuples_in_every_version(app, join):
    of_json = "json" in str(app.query.streams["left"].source.format)
    true, warehouse = true_answers(join, of_json), app.layout.home.parent
    streamed = by_identity(read_answers(app.query, warehouse, streamed=True)[0], join)
    assert 0 < len(streamed) < len(true), "nothing was missed, so there is nothing to correct"
    app.tables.compact([name for name in ("results", "history_left", "history_right") if app.tables.has(name)])
    first = correct(app.query, warehouse, CorrectionRange(), no_spark)
    corrected = by_identity(read_answers(app.query, warehouse, streamed=False)[0], join)
    repeated = {f"{side}-{number}" for side in (0, 1) for number in AGAIN}
    for key, row in streamed.items():
        assert repeated.intersection(key) or without_identity(row) == true[key]
    assert {key: without_identity(row) for key, row in corrected.items()} == true
    assert first.answers == len(true.keys() - streamed.keys())
    assert first.retracted == len(streamed.keys() - true.keys()) > 0
    again = correct(app.query, warehouse, CorrectionRange(EPOCH, EPOCH + 10**6), no_spark)
    assert (again.answers, again.retracted) == (0, 0), "what is known is not given again"


def test_types_are_those_of_the_source_and_columns_in_the_order_of_the_selection(app, join):
    answers, columns = read_answers(app.query, app.layout.home.parent, streamed=True)
    window = ["window_start", "window_end"] if join == "window" else []
    names = [name.replace(".", "_") for name in app.query.spatial_join.select]
    assert columns == [*IDENTITY, *window, *names, "tuples", "coverage", "k_ms", "as_of"]
    if "json" in str(app.query.streams["left"].source.format):
        types = dict(zip(OF_JSON, (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.float64()), strict=True))
    else:
        types = ANSWERED
    for side in SIDES:
        assert {name: answers.schema.field(f"{side}_{name}").type for name in types} == types


def test_a_calibration_reads_them_as_well(app):
    kind, tuples = app.pipeline.kind, []
    for reader in app.pipeline.readers:
        history = LoggedHistory(reader, Log.read(reader, Tables(app.layout), 1 << 60))
        tuples.append(history.since(EPOCH).tuples)
    assert kind.evaluate(*tuples).schema == kind.answer


@pytest.mark.parametrize("app", ["parquet"], indirect=True)
@pytest.mark.parametrize("join", ["interval"], indirect=True)
def test_they_are_written_in_every_form(app, tmp_path):
    answers, columns = read_answers(app.query, app.layout.home.parent, streamed=True)
    found = {}
    for form in ("parquet", "csv", "jsonl", "table"):
        write_answers(answers, columns, form, tmp_path / form, 10)
        if form == "jsonl":
            found[form] = [json.loads(line) for line in (tmp_path / form).read_text().splitlines()]
        elif form == "csv":
            with (tmp_path / form).open(newline="") as file:
                found[form] = [*csv.DictReader(line.replace("\0", "0") for line in file)]
    written = pq.read_table(tmp_path / "parquet")
    assert written.schema.field("left_seen").type == TIME
    assert written.select(["left_seen", "right_fare"]).equals(answers.select(["left_seen", "right_fare"]))
    assert (tmp_path / "table").read_text().count("│\n") == answers.num_rows
    for row, of_json, of_csv in zip(answers.to_pylist(), found["jsonl"], found["csv"], strict=True):
        texts = {
            "seen": row["left_seen"] and row["left_seen"].isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "built": row["left_built"] and row["left_built"].isoformat(),
            "fare": None if row["left_fare"] is None else str(row["left_fare"]),
        }
        for name, text in texts.items():
            assert of_json[f"left_{name}"] == text
            assert of_csv[f"left_{name}"] == (text or "")
        for name in ("taxi", "seats", "free", "shift"):
            assert of_json[f"left_{name}"] == row[f"left_{name}"]
            assert type(of_json[f"left_{name}"]) is type(row[f"left_{name}"])
        assert of_json["left_speed"] == pytest.approx(row["left_speed"])
