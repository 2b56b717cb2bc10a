"""Values that few tools write: each record is answered as it is or in quarantine alone, and all tables can be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.runs.local_driver import Driver
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.query.declared import declared_query
from tailrace.sources.formats.registry import FORMATS
from tailrace.storage.results import read_answers
from tailrace.terminal.answers import write_answers

EPOCH = 1_577_836_800_000
VALUES = [1.23456789e-12, 5.678e-15, 1 / 3, 1.2345678901234568e17, 1.7976931348623157e308, -0.0]
FAR = int(datetime(2608, 9, 1, tzinfo=UTC).timestamp()) * 1_000_000
INT96 = pa.timestamp("us")
REASONS = {
    "key": "key is no UTF-8",
    "caf\\xe9": "id is no UTF-8",
    "far": "event_time out of bounds: too far ahead of arrival",
    "nan": "value is NaN",
}
OTHERS = {
    "date": pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32()),
    "times": pa.array([[0], [1 << 62]], pa.list_(pa.timestamp("us"))),
    "latin": pa.array([b"ok", b"caf\xe9"]).view(pa.string()),
    "map": pa.array([[(b"ok", b"ok")], [(b"k", b"\xe9")]], pa.map_(pa.binary(), pa.binary())),
    "view": pa.array(["ok", "odd"], pa.string_view()),
    "none": pa.nulls(2),
}


def write(path: Path) -> None:
    """Six tuples a second apart and a late one; before that a record of each fault."""
    ids = [f"t{n}".encode() for n in range(len(VALUES))] + [b"key", b"caf\xe9", b"far", b"nan", b"late"]
    keys = [b"good"] * len(VALUES) + [b"caf\xe9"] + [b"good"] * 4
    events = [(EPOCH + 1000 * n) * 1000 for n in range(len(VALUES))] + [EPOCH * 1000] * 5
    events[-3] = FAR
    arrivals = [EPOCH + 1000 * n + 5 for n in range(len(ids))]
    columns = {
        "event_time": pa.array(events, INT96),
        "arrival_time": pa.array(arrivals, pa.int64()),
        "id": pa.array(ids, pa.binary()).view(pa.string()),
        "key": pa.array(keys, pa.binary()).view(pa.string()),
        "value": pa.array([*VALUES, 1.0, 1.0, 1.0, float("nan"), 2.0]),
    }
    odd = [1 if number == ids.index(b"nan") else 0 for number in range(len(ids))]
    columns |= {name: pa.concat_arrays([each.slice(n, 1) for n in odd]) for name, each in OTHERS.items()}
    path.mkdir()
    pq.write_table(pa.table(columns), path / "a.parquet", use_deprecated_int96_timestamps=True)


@pytest.fixture
def app(tmp_path: Path) -> Driver:
    write(tmp_path / "in")
    source = {"source": {"format": "parquet", "path": str(tmp_path / "in")}}
    columns = {name: name for name in ("event_time", "arrival_time", "id", "key")}
    declared = {"name": "odd", "kind": "aggregate", "streams": {"readings": source | columns}}
    declared |= {"window": {"size": "1 s", "slide": "1 s"}, "disorder": {"policy": "none"}}
    app = Driver(declared_query(declared | {"aggregate": {"function": "sum", "column": "value"}}), tmp_path / "wh")
    app.run(flush=True)
    return app


def test_odd_records_are_in_quarantine_alone_with_reason_and_content(app: Driver) -> None:
    rows = {json.loads(row["record"])["id"]: row for row in app.tables.read("quarantine").to_pylist()}
    assert {id_: row["reason"] for id_, row in rows.items()} == REASONS
    assert all(row["arrival_time"] is not None for row in rows.values())
    assert json.loads(rows["key"]["record"])["key"] == "caf\\xe9"
    record = json.loads(rows["nan"]["record"])
    assert (record["date"], record["times"], record["latin"]) == (2**31 - 1, [1 << 62], "caf\\xe9")
    assert (record["view"], record["none"]) == ("odd", None)
    (segment,) = app.tables.read("segments").to_pylist()
    assert (segment["accepted"], segment["quarantined"], segment["rows"]) == (7, 4, 11)


def test_answers_are_read_in_every_form_and_numbers_are_as_they_are(app: Driver, tmp_path: Path) -> None:
    answers, columns = read_answers(app.query, tmp_path / "wh", streamed=True)
    for form in ("csv", "jsonl", "parquet", "table"):
        write_answers(answers, columns, form, tmp_path / form, 20)
    values = [json.loads(line)["value"].hex() for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert values == [float(line.split(",")[3]).hex() for line in (tmp_path / "csv").read_text().splitlines()[1:]]
    assert sorted(values) == sorted(value.hex() for value in pq.read_table(tmp_path / "parquet")["value"].to_pylist())
    assert {(0.0 + value).hex() for value in VALUES} <= set(values)


def test_a_correction_reads_the_same_tuples(app: Driver, tmp_path: Path) -> None:
    correct(app.query, tmp_path / "wh", CorrectionRange(), lambda *_: pytest.fail("needs no Spark"))
    answers, _ = read_answers(app.query, tmp_path / "wh", streamed=False)
    rows = {row["window_start"]: row["value"] for row in answers.to_pylist()}
    assert rows[EPOCH] == VALUES[0] + 2.0
    assert len(rows) == len(VALUES)


@pytest.mark.parametrize("format_name", ["json", "csv"])
def test_a_selected_number_that_a_double_rounds_is_in_quarantine(tmp_path: Path, format_name: str) -> None:
    columns = {"source": {"format": format_name, "path": str(tmp_path)}, "event_time": "at", "arrival_time": "at"}
    streams = {side: columns | {"id": "id"} for side in ("left", "right")}
    geometry = {side: {"x": "x", "y": "x"} for side in streams}
    section = {"join": "interval", "relation": "intersects", "geometry": geometry, "select": ["left.n"]}
    section |= {"interval": {"lower": "-1 s", "upper": "1 s"}, "crs": "planar", "extent": [0, 0, 4, 4]}
    declared = {"name": "odd", "kind": "spatial_join", "streams": streams, "spatial_join": section}
    query = declared_query(declared | {"disorder": {"policy": "none"}})
    big, numbers = 2**53 + 1, ["0.5", str(2**53 + 1), str(2**53)]
    rows = [{"at": EPOCH, "id": f"t{place}", "x": big, "n": number} for place, number in enumerate(numbers)]
    if format_name == "csv":
        lines = ["at,id,x,n", *(",".join(map(str, row.values())) for row in rows)]
    else:
        lines = [json.dumps(row).replace(f'"{row["n"]}"', row["n"]) for row in rows]
    path = tmp_path / f"a.{format_name}"
    path.write_text("\n".join(lines) + "\n")
    types = {"at": "int64", "id": "string", "x": "double", "n": "double"}
    reader, _ = (
        CompiledQuery.declare(query).bind(dict.fromkeys(streams, types)).readers(dict.fromkeys(streams, tmp_path))
    )
    (segment,) = FORMATS[format_name].split(path)
    content = reader.read(segment)
    assert content.tuples.column("left_n").to_pylist() == [0.5, 2.0**53], "with x, which is computed with"
    (rejected,) = content.quarantine.to_pylist()
    assert rejected["reason"].startswith("n is ")
    assert str(big) in rejected["reason"]
