"""Records and versions: what history holds gives, with a later version, what the source would give with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given

from bench.local_engine import MemoryFormat, pipeline_in_memory
from kit.suite.examples import drawn
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.times import split_times
from tailrace.query.declared import declared_query
from tailrace.sources import history
from tailrace.sources.lookup.lookups import stored_versions
from tailrace.sources.segments import Segment

SUBJECT = "lookup orders.products"
NOON = datetime(2024, 3, 31, 1, 30)  # clocks went forward half an hour later, in Berlin

RECORD = st.fixed_dictionaries(
    {
        "minutes": st.integers(-10, 40),
        "lag_ms": st.integers(0, 5000),
        "id": st.one_of(st.none(), st.integers(0, 9)),
        "sku": st.one_of(st.none(), st.integers(0, 3)),
        "pieces": st.one_of(st.none(), st.integers(0, 255)),
        "rate": st.one_of(st.none(), st.sampled_from([0.5, np.nan, np.inf])),
        "fee": st.one_of(st.none(), st.sampled_from([Decimal("1.25"), Decimal("-0.5")])),
        "label": st.sampled_from([None, "", "a", "ä"]),
    }
)


def source_of(records: list[dict[str, object]]) -> pa.Table:
    """Event times are in Berlin's time and have no zone, as the stream's `timezone` says."""
    columns = {name: [record[name] for record in records] for name in records[0]}
    minutes, lag = np.array(columns.pop("minutes")), np.array(columns.pop("lag_ms"))
    local = np.datetime64(NOON, "us") + minutes * np.timedelta64(60, "s")
    arrival = 1_711_848_600_000 + minutes * 60_000 + lag
    types = {"id": pa.int32(), "sku": pa.int8(), "pieces": pa.uint8(), "rate": pa.float32(), "label": pa.large_string()}
    types |= {"fee": pa.decimal128(6, 2)}
    table = {name: pa.array(values, types[name], from_pandas=False) for name, values in columns.items()}
    return pa.table({"at": pa.array(local), "came": pa.array(arrival, pa.int64())} | table)


def write_versions(home: Path) -> list[Path]:
    """Two versions: each has a category that the other leaves out, and lacks another product."""
    versions = []
    for number, (skus, categories) in enumerate([([0, 1, 2], ["x", "y", None]), ([1, 2, 3], ["x", "x", "y"])]):
        table = pa.table({"sku": skus, "category": categories, "price": [10.0 * number, 1.0, 2.0]})
        pq.write_table(table, home / f"v{number}.parquet")
        versions.append(home / f"v{number}.parquet")
    return versions


def reader_of(versions: list[Path], raw: pa.Table, on_no_match: str) -> StreamReader:
    lookup = {"path": str(versions[0]), "key": "sku", "columns": ["category", "price"], "corrections": "newest"}
    columns = {"day": "date_trunc('HOUR', at)", "paid": "price * rate + fee / (pieces - 2)"}
    stream = {
        "source": {"format": "parquet", "path": "in"},
        "lookup": {"products": lookup | {"on_no_match": on_no_match}},
        **{"event_time": "at", "arrival_time": "came", "id": "id", "timezone": "Europe/Berlin"},
        **{"columns": columns, "where": "category <> 'y' or category is null", "key": ["category", "label"]},
    }
    aggregate = {"paid": {"function": "sum", "column": "paid"}, "fees": {"function": "sum", "column": "fee"}}
    aggregate |= {"last": {"function": "max", "column": "day"}, "rates": {"function": "max", "column": "rate"}}
    fields = {"name": "paid", "kind": "aggregate", "streams": {"orders": stream}, "window": "1 h"}
    query = declared_query(fields | {"aggregate": aggregate})
    (reader,) = pipeline_in_memory(query, {"orders": MemoryFormat({"a": raw})}).readers
    return reader


def stored(records: pa.RecordBatch, home: Path) -> pa.RecordBatch:
    """Write records to history, and read them back."""
    files = history.write(records, 0, home).column("path").to_pylist()
    tables = [split_times(pq.read_table(home / path, partitioning=None)) for path in files]
    (batch,) = pa.concat_tables(tables).sort_by("position").combine_chunks().to_batches()
    return batch


def test_stored_records_give_with_each_version_what_the_source_gives_with_it(tmp_path):
    versions = write_versions(tmp_path)

    @drawn(15)
    @given(st.lists(RECORD, min_size=1, max_size=40), st.sampled_from(["null", "drop", "quarantine"]), st.uuids())
    def agree(drawn: list[dict[str, object]], on_no_match: str, name: object) -> None:
        raw = source_of(drawn)
        reader = reader_of(versions, raw, on_no_match)
        assert reader.records is not None
        segment = Segment("a", 0, raw.num_rows, stream="orders")
        read = [
            reader.read(segment, versions=stored_versions(reader.columns.lookups, {SUBJECT: version}))
            for version in versions
        ]
        for content in read:
            assert content.tuples.num_rows + content.filtered + content.quarantine.num_rows == raw.num_rows
            assert str(content.records.to_pylist()) == str(read[0].records.to_pylist()), (
                "no version changes the records"
            )
            assert content.ticks.to_arrow() == read[0].ticks.to_arrow(), "nor the clock"
        records = read[0].records
        assert records is not None
        if not records.num_rows:
            return
        kept = stored(records, tmp_path / str(name))
        for version, content in zip(versions, read, strict=True):
            again = replace(reader, records=replace(reader.records, files={SUBJECT: version})).tuples_of(kept)
            names = [name for name in content.tuples.schema.names if name != "row"]
            assert str(again.select(names).to_pylist()) == str(content.tuples.select(names).to_pylist())
            assert again.select(names).schema.types == content.tuples.select(names).schema.types

    agree()


def test_a_version_decides_over_a_record_and_not_over_its_time(tmp_path):
    """The first version leaves out product 1, the second one has it; product 0 is the other way round."""
    versions = write_versions(tmp_path)
    common = {"minutes": 0, "lag_ms": 0, "pieces": 4, "rate": 0.5, "fee": None, "label": "a"}
    raw = source_of([common | {"id": 7, "sku": 1}, common | {"id": 8, "sku": 0}, common | {"id": None, "sku": 0}])
    reader = reader_of(versions, raw, "drop")
    segment = Segment("a", 0, 3, stream="orders")
    ids = []
    for version in versions:
        content = reader.read(segment, versions=stored_versions(reader.columns.lookups, {SUBJECT: version}))
        ids.append(content.tuples.column("id").to_pylist())
        assert (content.filtered, content.quarantine["reason"].to_pylist()) == (1, ["id is null"])
        assert content.records is not None
        assert content.records.column("id").to_pylist() == [7, 8]
    assert ids == [[8], [7]]
    assert content.unmatched == 1
