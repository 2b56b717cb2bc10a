"""The log: which of its pieces hold given windows or ids, and which of their tuples arrived before a cut-off."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.local_engine import MemoryFormat
from kit.draws.aggregates import kind_of
from kit.oracles.oracle import Settings, Tuple
from kit.parts.source_mappings import with_uses
from kit.runs.harness import make_pipeline
from kit.runs.memory_tables import MemoryTables
from kit.runs.warehouse import EPOCH
from tailrace.correction.correction_range import CorrectionRange
from tailrace.engine.stream_reader import SegmentContent
from tailrace.ground.arrow.ranges import overlap
from tailrace.ground.arrow.sortable import to_sortable_text
from tailrace.ground.arrow.times import with_times
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.kafka.kafka_records import ID
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log, Reader
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.windows.sliding import Sliding

(STREAM,) = make_pipeline(Settings(10, 5, 100)).readers

#   position    0    1   │  2    3   │  4        of a batch that is in history, and not yet in `segments`
#   tick end  100  300   │ 100  400  │ 100
#   before_end   none   │    300    │            the end of the newest tick when the segment came
SEGMENTS = pa.table(
    {
        "ordinal": [0, 1],
        "position": [0, 2],
        "path": ["a", "b"],
        "first_row": [0, 0],
        "rows": [2, 2],
        "size": [77, 77],
        "mtime_ns": [1 << 60] * 2,
        "ingested_ms": pa.nulls(2, pa.int64()),
        "before_tick": [-1, 2],
        "before_end": [-1, 300],
        "accepted": [2, 2],
        "quarantined": [0, 0],
        "min_event": [5, 20],
        "max_event": [20, 90],
        "min_id": ["a", "f"],
        "max_id": ["f", "g"],
        "distinct_ids": [True, True],
    }
)
TUPLES = pa.RecordBatch.from_pydict(
    {"position": [0, 1, 2, 3, 4], "tick": [0, 2, 0, 3, 0], "end": [100, 300, 100, 400, 100]}
)


def with_columns(segments: pa.Table, **columns: list) -> pa.Table:
    """Replace or add columns."""
    kept = [name for name in segments.column_names if name not in columns]
    return pa.table({name: segments[name] for name in kept} | columns)


def reader(before: int, segments: pa.Table = SEGMENTS) -> Reader:
    return Log.from_segments(STREAM, before, segments).reader()


def test_a_tuple_of_an_earlier_tick_gets_the_newest_tick_before_its_segment():
    assert reader(300).arrived(TUPLES).to_pydict() == {"position": [0, 1, 2], "tick": [0, 2, 2], "end": [100, 300, 100]}
    assert reader(299).arrived(TUPLES).column("position").to_pylist() == [0]


def test_tuples_of_a_batch_that_is_only_in_history_have_not_arrived():
    assert reader(10_000).arrived(TUPLES).column("position").to_pylist() == [0, 1, 2, 3]


def test_tuples_of_other_segments_are_left_out():
    assert reader(10_000, SEGMENTS[1:]).arrived(TUPLES).column("position").to_pylist() == [2, 3]
    assert reader(10_000, SEGMENTS[:1]).arrived(TUPLES).column("position").to_pylist() == [0, 1]
    assert reader(10_000, SEGMENTS[:0]).arrived(TUPLES).column("position").to_pylist() == []


def test_segments_without_tuples_and_those_after_the_cut_off_are_not_read():
    segments = with_columns(SEGMENTS, accepted=[0, 2], min_id=[None, "f"], max_id=[None, "g"])
    assert [piece.path for piece in Log.from_segments(STREAM, 10_000, segments).pieces()] == ["b"]
    assert [piece.path for piece in Log.from_segments(STREAM, 299, SEGMENTS).pieces()] == ["a"]


@pytest.mark.parametrize(
    ("low", "high", "paths"),
    [(0, 5, ""), (0, 6, "a"), (20, 21, "ab"), (21, 22, "b"), (90, 99, "b"), (91, 99, "")],
)
def test_a_window_is_read_from_the_segments_whose_event_times_overlap_it(low, high, paths):
    ranges = np.array([low]), np.array([high])
    assert [piece.path for piece in Log.from_segments(STREAM, 300, SEGMENTS).of_events(ranges).pieces(ranges)] == [
        *paths
    ]


@pytest.mark.parametrize(("ids", "paths"), [("A", ""), ("a", "a"), ("f", "ab"), ("fz", "b"), ("h", ""), ("", "")])
def test_an_id_is_looked_up_in_the_segments_whose_range_of_ids_holds_it(ids, paths):
    ids = np.array([ids], object)
    assert [piece.path for piece in Log.from_segments(STREAM, 300, SEGMENTS).of_ids(ids, ids).pieces()] == [*paths]


@pytest.mark.parametrize(
    ("low", "high", "distinct", "paths"),
    [
        ([0, 5, 9], [4, 8, 12], [True] * 3, ""),  # ids ascend
        ([0, 5, 9], [4, 8, 12], [True, False, True], "b"),  # one is twice in a segment
        ([0, 5, 8], [4, 8, 12], [True] * 3, "bc"),
        ([9, 0, 2], [9, 90, 3], [True] * 3, "abc"),  # the second one's range holds all others
        ([9, 0, 2], [9, 4, 3], [True] * 3, "bc"),
        (["a", "c", "e"], ["b", "d", "f"], [True] * 3, ""),
        (["a", "c", "c"], ["b", "d", "f"], [True] * 3, "bc"),
    ],
)
def test_repeats_are_possible_where_ranges_of_ids_meet_or_an_id_stands_twice(low, high, distinct, paths):
    rows = pa.concat_tables([SEGMENTS[:1]] * 3)
    rows = with_columns(rows, ordinal=[0, 1, 2], position=[0, 2, 4], path=[*"abc"], min_id=low, max_id=high)
    rows = with_columns(rows, distinct_ids=distinct)
    assert [piece.path for piece in Log.from_segments(STREAM, 300, rows).with_repeats().pieces()] == [*paths]
    assert not Log.from_segments(STREAM, 300, rows[:0]).with_repeats().pieces()
    generated = replace(STREAM, columns=replace(STREAM.columns, id=ID))
    assert not Log.from_segments(generated, 300, rows).with_repeats().pieces()


RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda r: (r[0], r[0] + r[1])), max_size=6)


@example([(5, 6)], [(0, 8), (2, 3)], False)  # the range that begins last ends first
@given(RANGES, RANGES, st.booleans())
def test_overlap_finds_the_ranges_that_share_a_value(ranges, other_ranges, text):
    expected = [any(low <= b and a <= high for a, b in other_ranges) for low, high in ranges]
    columns = [np.array([ends[i] for ends in part], np.int64) for part in (ranges, other_ranges) for i in (0, 1)]
    if text:
        columns = [np.array([f"{number:03}" for number in column], object) for column in columns]
    assert overlap(*columns).tolist() == expected


@pytest.mark.parametrize(("rejected", "values"), [(False, False), (True, True)])
def test_deduplication_reads_values_only_of_segments_with_rejected_records(rejected, values):
    """A record with NaN is no tuple, so its id is no repeat of the first one's."""
    values_of = [1.0, math.nan if rejected else 1.0, 1.0]
    tuples = [Tuple(EPOCH, EPOCH, "a", "k", value) for value in values_of]
    desk = MemoryTables(tuples, Settings(100, 100, 100), [])
    (reader,) = desk.pipeline.readers
    desk.pipeline = replace(desk.pipeline, readers=(replace(reader, types={"id": "string", "value": "double"}),))
    windows = desk.model.closed(CorrectionRange().bounds, EPOCH + 1000)
    column_lists = []
    read = MemoryFormat.read
    with mock.patch.object(MemoryFormat, "read", lambda *args: column_lists.append(args[2]) or read(*args)):
        repeats = desk.past(EPOCH + 1000).repeats(0, windows.ranges())
        assert ("value" in column_lists[-1], repeats.num_rows) == (values, 1 if rejected else 2)
        desk.past(EPOCH + 1000).evaluate(windows)
        assert "value" in column_lists[-1]


@pytest.mark.parametrize(("id_", "paths"), [(-5, ["a"]), (9, ["a"]), (10, ["a", "b"]), (2, ["a"]), (99, ["b"])])
def test_integer_ids_stored_as_text_beside_another_streams_are_compared_as_numbers(id_, paths):
    stream = replace(STREAM, column_types=ColumnTypes(pa.string(), pa.int64()))
    text = {"min_id": [-7, 10], "max_id": [10, 100]}
    segments = with_columns(SEGMENTS, **{name: list(map(to_sortable_text, ids)) for name, ids in text.items()})
    ids = np.array([id_])
    assert [piece.path for piece in Log.from_segments(stream, 300, segments).of_ids(ids, ids).pieces()] == paths


@pytest.mark.parametrize(("as_text", "ends"), [(False, (-3, 12)), (True, (to_sortable_text(-3), to_sortable_text(12)))])
def test_a_segments_ids_are_written_as_text_where_another_streams_are(as_text, ends):
    tuples = pa.RecordBatch.from_pydict({"event_time": [1, 2], "id": [12, -3]})
    found = SegmentContent(tuples, None, tuples).ranges(as_text)
    assert (found["min_id"], found["max_id"]) == ends
    text = pa.RecordBatch.from_pydict({"event_time": [1], "id": ["x"]})
    assert SegmentContent(text, None, text).ranges(as_text)["max_id"] == "x"
    assert SegmentContent(text[:0], None, text).ranges(as_text)["max_id"] is None


def test_large_integer_ids_are_exact_beside_a_segment_without_tuples(tmp_path):
    large = (1 << 53) + 1
    kind = kind_of(Sliding(10, 10), "count", id_type=pa.int64())
    tables = Tables(Layout(tmp_path))
    schema = schemas(kind)["segments"]
    tables.create({"segments": schema})
    row = dict.fromkeys(schema.names, 0) | {"stream": "readings", "path": "a", "before_end": -1}
    rows = [row | {"min_id": large, "max_id": large, "accepted": 1}, row | {"min_id": None, "max_id": None}]
    other = row | {"stream": "other", "accepted": 1}
    tables.add("segments", with_times(pa.Table.from_pylist([*rows, other]), schema))
    log = Log.read(replace(STREAM, column_types=ColumnTypes(pa.string(), pa.int64())), tables, 0)
    assert log.segments["min_id"].to_pylist() == [large]


def test_carried_columns_alone_are_read_as_well():
    names = {"event_time": [5, 6], "arrival_time": [5, 6], "id": ["a", "b"], "key": ["k", "k"], "value": [1.0, 2.0]}
    table = pa.table(names | {"more": ["x", None]})
    columns = with_uses(STREAM.columns, values={}, carried={"left_more": "more"}, earliest_ms=0)
    types = ColumnTypes(carried={"left_more": pa.string()})
    stream = replace(STREAM, format=MemoryFormat({"a": table}), columns=columns, column_types=types)
    segments = SEGMENTS[:1]
    piece = Log.from_segments(stream, 10_000, segments).pieces()[0]
    read = Log.from_segments(stream, 10_000, segments).reader().read(piece, ["id", "left_more"])
    assert read.to_pydict() == {"id": ["a", "b"], "left_more": ["x", None]}
    assert stream.without_values().columns.named().keys() == {"event_time", "arrival_time", "id", "key"}
