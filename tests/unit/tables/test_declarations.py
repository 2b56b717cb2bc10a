"""The tables as they are declared: what writers give fits them, and so does what kinds answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kit.draws.kind_samples import SAMPLES, kind_of
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.loading import load
from tailrace.storage.table_schemas import schemas
from tailrace.tables.answers import KINDS
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.correction import QUALITY
from tailrace.tables.every import TABLES
from tailrace.tables.stream import FACTS, LATE, SEGMENTS

EXAMPLES = Path(__file__).parents[3] / "include/examples"


def joins() -> list[Kind]:
    return [build(load(EXAMPLES / name / "query.yaml")) for name in ("emd_join", "spatial_join", "spatial_table")]


def test_a_value_without_a_column_and_a_column_without_a_value_raise() -> None:
    row = dict.fromkeys(FACTS.columns)
    assert FACTS.batch([row]).to_pylist() == [row]
    with pytest.raises(ValueError, match=r"a row of facts .* surplus whence. Declared are: about, value"):
        FACTS.batch([row, row | {"whence": 1}])
    del row["from_tick"]
    with pytest.raises(ValueError, match=r"a row of facts .* missing from_tick. Declared are: about, value"):
        FACTS.table([row])


def test_times_are_given_and_read_in_ms_and_stored_as_timestamps() -> None:
    row = dict.fromkeys(PROPOSALS.columns) | {"made_at": 1_001, "k_ms": 7}
    assert PROPOSALS.batch([row]).schema.field("made_at").type == pa.int64()
    assert PROPOSALS.table([row])["made_at"].cast(pa.int64()).to_pylist() == [1_001_000]
    assert PROPOSALS.table([row]).schema == PROPOSALS.schema()
    assert QUALITY.empty(["bucket_end", "share"]).schema == pa.schema({"bucket_end": pa.int64(), "share": pa.float64()})


def test_a_type_that_depends_on_the_query_is_given() -> None:
    row = dict.fromkeys(SEGMENTS.columns) | {"min_id": "a", "max_id": "b"}
    batch = SEGMENTS.batch([row], min_id=pa.string(), max_id=pa.string())
    assert batch.schema.field("min_id").type == pa.string()


@pytest.mark.parametrize(
    "kind", [*map(kind_of, SAMPLES), *joins()], ids=[*SAMPLES, "emd_join", "spatial_join", "table"]
)
def test_the_columns_of_a_kind_are_declared(kind: Kind) -> None:
    """Late tuples have columns of `LATE` alone; a table has its own columns, in their order, after the query's."""
    assert {*kind.late.names} <= {*LATE.by_kind}
    names = kind.answer.names
    assert all([n for n in names if n in columns] == [n for n in columns if n in names] for columns in KINDS.values())
    for table, schema in schemas(kind).items():
        (own,) = [each for each in TABLES if each.name == table]
        assert [*own.columns] == [name for name in schema.names if name in own.columns]
