"""Which columns of tables are times in ms to their readers: those of the tables' own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kit.oracles.oracle import Settings
from kit.parts.source_mappings import with_uses
from kit.runs.harness import make_pipeline
from tailrace.ground.arrow.times import TIME, with_times
from tailrace.kind.inputs import ColumnTypes
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import history_schemas
from tailrace.storage.tables import Tables
from tailrace.tables.every import in_ms


def test_rows_and_their_table_have_the_same_columns():
    schema = pa.schema([("as_of", TIME), ("late", pa.int64())])
    for rows, differing in (
        ({"as_of": [1]}, "missing late"),
        ({"as_of": [1], "late": [2], "early": [3]}, "surplus early"),
    ):
        with pytest.raises(ValueError, match=f"rows of runs .*{differing}. Declared are: as_of, late"):
            with_times(pa.table(rows), schema, "runs")


def test_a_carried_timestamp_stays_one(tmp_path):
    schema = pa.schema([("left_time", TIME), ("left_at", TIME), ("as_of", TIME)])
    rows = pa.table({"left_time": [1, None], "left_at": pa.array([1_000_001, None], TIME), "as_of": [2, 3]})
    tables = Tables(Layout(tmp_path / "q"))
    tables.create({"results": schema})
    tables.add("results", with_times(rows, schema))
    assert tables.read("results").equals(rows)
    assert in_ms(tables.read("results"), "results").equals(rows), "what is in ms stays"


def test_a_history_has_the_carried_columns():
    (reader,) = make_pipeline(Settings(10, 5, 100)).readers
    columns = with_uses(reader.columns, carried={"left_at": "at", "left_fare": "fare"})
    types = ColumnTypes(carried={"left_at": TIME, "left_fare": pa.decimal128(9, 2)})
    reader = replace(reader, columns=columns, column_types=types, history=Path("history"))
    (schema,) = history_schemas([reader]).values()
    assert (schema.field("left_at").type, schema.field("left_fare").type) == (TIME, pa.decimal128(9, 2))
