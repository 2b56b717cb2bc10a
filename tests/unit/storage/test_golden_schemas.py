"""The Delta schema of every table of every kind, as warehouses on disk have it: names, types, order, nullability."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from kit.draws.kind_samples import kind_of, query_of
from kit.oracles.oracle import Settings
from kit.parts.source_mappings import with_uses
from kit.runs.harness import make_pipeline
from tailrace.delivery.answer_log import AnswerLog
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.arrow.times import TIME
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import history_schemas, schemas
from tailrace.storage.tables import Tables
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.stream import ACTIVITY

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/data/table_schemas.txt"
_STREAM = {"source": {"format": "json", "path": "data"}, "event_time": "at", "arrival_time": "came", "id": "id"}


def _example(name: str) -> Query:
    return load(ROOT / "include/examples" / name / "query.yaml")


def _window_join() -> Query:
    section: dict[str, Any] = {"join": "window", "geometry": {side: {"wkt": "w"} for side in ("left", "right")}}
    section |= {"crs": "planar", "relation": "intersects", "grid": 4, "extent": [0.0, 0.0, 4.0, 4.0]}
    head = {"name": "near", "kind": "spatial_join", "streams": dict.fromkeys(("left", "right"), _STREAM)}
    window = {"window": {"size": "10 s", "slide": "5 s"}, "disorder": {"policy": "none"}}
    return declared_query(head | window | {"spatial_join": section | {"select": ["left.fare"]}})


def _having() -> Query:
    section = {"number": {"function": "count"}, "having": "number > 1"}
    head = {"name": "most", "kind": "aggregate", "streams": {"readings": _STREAM | {"key": ["shop", "day"]}}}
    window = {"window": {"size": "10 s", "slide": "5 s"}, "disorder": {"policy": "none"}}
    return declared_query(head | window | {"aggregate": section})


def _kinds() -> Iterator[tuple[str, Query, Kind]]:
    for name in ("sum", "named", "kept", "topk", "selected"):
        yield name, query_of(name), kind_of(name)
    for name in ("emd_join", "spatial_join", "spatial_table"):
        yield name, _example(name), build(_example(name))
    carried = {"left_fare": TIME}
    left = ColumnTypes(id=pa.int64(), carried=carried)
    yield "window join", _window_join(), build(_window_join(), [left, ColumnTypes(id=pa.int64())])
    days = ColumnTypes(keys={"shop": pa.int64(), "day": pa.date32()})
    yield "having", _having(), build(_having(), [days])


def _described(tables: Tables, name: str) -> str:
    table = tables.open(name)
    columns = [f"{field.name} {field.type}{'' if field.nullable else ' not null'}" for field in table.schema().fields]
    partition = table.metadata().partition_columns
    line = f"{name}: {'; '.join(columns)}{f' by {partition}' if partition else ''}"
    return re.sub(r'PrimitiveType\("(\w+)"\)', r"\1", line)


def described(directory: Path) -> str:
    """Create the tables of each kind; return a line for each Delta schema, with the queries that have it."""
    having: dict[str, list[str]] = {}
    for name, query, kind in _kinds():
        tables = Tables(Layout(directory / name.replace(" ", "_")))
        wanted = schemas(kind) | {"proposals": PROPOSALS.schema(), "activity": ACTIVITY.schema()}
        wanted["current"] = PublicAnswers.from_query(query, kind).schema
        tables.create(wanted)
        for each in wanted:
            having.setdefault(_described(tables, each), []).append(name)
    upstream, reader = Layout(directory / "sum"), Layout(directory / "reader")
    AnswerLog(upstream, reader, "upstream").refresh()
    (stream,) = make_pipeline(Settings(10, 5, 100)).readers
    columns = with_uses(stream.columns, carried={"left_at": "at"})
    types = ColumnTypes(carried={"left_at": TIME})
    histories = history_schemas([replace(stream, columns=columns, column_types=types, history=Path("history"))])
    Tables(reader).create(histories)
    having |= {_described(Tables(reader), each): ["reader"] for each in ("upstream", "history")}
    return "".join(sorted(f"{line} ({', '.join(names)})\n" for line, names in having.items()))


def test_tables_have_the_schemas_that_warehouses_on_disk_have(tmp_path: Path) -> None:
    assert described(tmp_path) == GOLDEN.read_text()
