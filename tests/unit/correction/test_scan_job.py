"""The parts of a scan of history."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from kit.oracles.oracle import Settings
from kit.parts.source_mappings import with_uses
from kit.runs.harness import make_pipeline
from tailrace.correction.scan_job import no_tuples
from tailrace.kind.inputs import ColumnTypes


def test_an_empty_batch_has_the_types_of_the_streams_tuples():
    (reader,) = make_pipeline(Settings(10, 5, 100)).readers
    types = ColumnTypes(pa.string(), pa.int64(), {"left_day": pa.date32()})
    reader = replace(reader, columns=with_uses(reader.columns, carried={"left_day": "day"}), column_types=types)
    empty = no_tuples(reader, ["event_time", "id", "key", "value", "left_day"])
    assert empty.num_rows == 0
    assert empty.schema.types == [pa.int64(), pa.int64(), pa.string(), pa.float64(), pa.date32()]
