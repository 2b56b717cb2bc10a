"""`open_feeds` goes on from the position of the journal, whether or not its batches are in the table `segments` yet."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from kit.oracles.oracle import Settings, Tuple
from kit.runs.planned_segments import plan, write
from kit.runs.warehouse import make_query, write_files
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import SourceChanged
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.sources.discovery import path_sources
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.discovery.path_sources import ReplayFeed
from tailrace.sources.feed import Feed
from tailrace.sources.segments import Segment
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.stream.source_opening import open_feeds

ROWS = 10
TUPLES = [Tuple(i, i, f"t{i}", "k", 1.0) for i in range(ROWS)]


def query(path: Path, source: str = "parquet", **more: object) -> Query:
    declared = make_query(path, Settings(100, 100, 10), source="parquet").model_dump(mode="json", exclude_none=True)
    declared["streams"]["readings"]["source"] |= {"format": source, "path": str(path)} | more
    declared["disorder"] = {"policy": "none"}
    return declared_query(declared)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "wh" / "readings")
    layout.journal.mkdir(parents=True)
    return layout


TYPES = {"event_time": "timestamp[ms, tz=UTC]", "id": "string", "key": "string"}


def manifest_of(query: Query) -> CheckpointManifest:
    sources = {name: stream.source for name, stream in query.streams.items()}
    identities = {
        name: DeltaTable(source.path).metadata().id for name, source in sources.items() if source.format == "delta"
    }
    return CheckpointManifest("id", query.structure(), dict.fromkeys(sources, TYPES), identities, {})


def open_feed(query: Query, layout: Layout, manifest: CheckpointManifest | None, live: bool) -> Feed:
    """The feed of the only stream."""
    (feed,) = open_feeds(CompiledQuery.declare(query), layout, manifest, live).values()
    return feed


def numbers(segments: list[Segment]) -> list[str]:
    return [Path(segment.path).name.removeprefix("part-0000").removesuffix(".parquet") for segment in segments]


# journal   part 0 │ 1 │ silence │ 2 │       the table holds the first `written_batches`; 3 and 4 are unplanned
@pytest.mark.parametrize("written_batches", range(5))
def test_segments_in_the_journal_are_not_returned_again(tmp_path, layout, written_batches):
    write_files(TUPLES, tmp_path / "in", list(range(0, ROWS + 1, 2)))
    declared = query(tmp_path / "in")
    parts = open_feed(declared, layout, None, live=False).fresh()
    assert numbers(parts) == ["0", "1", "2", "3", "4"]
    for segments in ([parts[0]], [parts[1]], [], [parts[2]]):
        plan(layout, readings=segments)
    for batch in range(written_batches):
        write(layout, batch)
    assert numbers(open_feed(declared, layout, manifest_of(declared), live=True).fresh()) == ["3", "4"]


def test_a_driver_killed_while_it_created_its_tables_can_be_resumed(tmp_path, layout):
    write_files(TUPLES, tmp_path / "in", [0, ROWS])
    declared = query(tmp_path / "in")
    plan(layout, readings=open_feed(declared, layout, None, live=False).fresh())
    (layout.table("segments") / "_delta_log").mkdir(parents=True)
    assert open_feed(declared, layout, manifest_of(declared), live=False).fresh() == []


@pytest.mark.parametrize("is_written", [False, True])
def test_a_file_planned_in_part_goes_on_with_its_next_row_and_a_changed_one_is_refused(tmp_path, layout, is_written):
    write_files(TUPLES, tmp_path / "in", [0, ROWS])
    declared = query(tmp_path / "in")
    (whole,) = open_feed(declared, layout, None, live=False).fresh()
    plan(layout, readings=[replace(whole, rows=4)])
    if is_written:
        write(layout, 0)
    (rest,) = open_feed(declared, layout, manifest_of(declared), live=False).fresh()
    assert (rest.first_row, rest.rows, rest.of_rows, rest.size) == (4, 6, ROWS, whole.size)
    write_files(TUPLES * 9, tmp_path / "in", [0, 9 * ROWS])
    with pytest.raises(Exception, match="a file of this name was read before"):
        open_feed(declared, layout, manifest_of(declared), live=False).fresh()


@pytest.mark.parametrize("written_batches", range(4))
def test_a_file_planned_over_many_batches_goes_on_after_the_last_of_them(tmp_path, layout, written_batches):
    write_files(TUPLES, tmp_path / "in", [0, 6, ROWS])
    declared = query(tmp_path / "in")
    first, second = open_feed(declared, layout, None, live=False).fresh()
    for row in range(3):
        plan(layout, readings=[replace(first, first_row=row * 2, rows=2)])
    plan(layout, readings=[replace(second, rows=1)])
    for batch in range(written_batches):
        write(layout, batch)
    (rest,) = open_feed(declared, layout, manifest_of(declared), live=False).fresh()
    assert (rest.path, rest.first_row, rest.rows) == (second.path, 1, 3)


@pytest.mark.parametrize("live", [False, True])
def test_a_live_run_opens_a_limited_number_of_files_per_call(tmp_path, layout, monkeypatch, live):
    monkeypatch.setattr(path_sources, "FILES_AT_ONCE", 2)
    write_files(TUPLES, tmp_path / "in", list(range(0, ROWS + 1, 2)))
    feed = open_feed(query(tmp_path / "in"), layout, None, live)
    assert (numbers(feed.fresh()), feed.holds_back) == (
        (["0", "1"], True) if live else (["0", "1", "2", "3", "4"], False)
    )


def test_types_are_those_of_the_checkpoint(tmp_path, layout):
    write_files(TUPLES, tmp_path / "in", [0, ROWS])
    declared = query(tmp_path / "in")
    assert open_feed(declared, layout, None, live=False).types == {}
    assert open_feed(declared, layout, manifest_of(declared), live=False).types == TYPES


def test_each_format_has_its_feed_and_only_a_live_run_replays_at_a_rate(tmp_path, layout):
    write_files(TUPLES, tmp_path / "in", [0, ROWS])
    write_deltalake(tmp_path / "table", pa.table({"id": ["a"]}))
    kinds = {
        (source, live): type(open_feed(query(tmp_path / path, source, **more), layout, None, live))
        for source, path, more in (("parquet", "in", {}), ("replay", "in", {"rate": 5}), ("delta", "table", {}))
        for live in (False, True)
    }
    assert kinds == {
        ("parquet", False): FileFeed,
        ("parquet", True): FileFeed,
        ("replay", False): FileFeed,
        ("replay", True): ReplayFeed,
        ("delta", False): DeltaFeed,
        ("delta", True): DeltaFeed,
    }


@pytest.mark.parametrize("stop", range(4))
def test_a_delta_feed_goes_on_after_the_version_in_the_journal(tmp_path, layout, stop):
    columns = {"event_time": [1], "arrival_time": [1], "key": ["k"], "value": [1.0]}
    for name in "abc":
        write_deltalake(tmp_path / "table", pa.table(columns | {"id": [name]}), mode="append")
    declared = query(tmp_path / "table", "delta")
    feed = open_feed(declared, layout, None, live=False)
    segments = feed.fresh()
    for segment in segments[:stop]:
        plan(layout, {"readings": segment.version}, readings=[segment])
    resumed = open_feed(declared, layout, manifest_of(declared), live=False)
    assert [segment.path for segment in resumed.fresh()] == [segment.path for segment in segments[stop:]]


def test_a_delta_feed_goes_on_in_the_middle_of_a_version_and_of_a_file(tmp_path, layout):
    columns = {"event_time": [1, 2], "arrival_time": [1, 2], "key": ["k", "k"], "value": [1.0, 2.0], "id": ["a", "b"]}
    write_deltalake(tmp_path / "table", pa.table(columns | {"day": [1, 2]}), partition_by=["day"])
    write_deltalake(tmp_path / "table", pa.table(columns | {"day": [3, 3]}), mode="append")
    declared = query(tmp_path / "table", "delta")
    first, second, last = open_feed(declared, layout, None, live=False).fresh()
    plan(layout, readings=[first])
    resumed = open_feed(declared, layout, manifest_of(declared), live=False)
    assert [segment.path for segment in resumed.fresh()] == [second.path, last.path]
    plan(layout, {"readings": 0}, readings=[second, replace(last, rows=1)])
    (rest,) = open_feed(declared, layout, manifest_of(declared), live=False).fresh()
    assert (rest.path, rest.first_row, rest.rows) == (last.path, 1, 1)


def test_a_table_that_was_replaced_by_another_one_is_refused(tmp_path, layout):
    columns = {"event_time": [1], "arrival_time": [1], "key": ["k"], "value": [1.0], "id": ["a"]}
    write_deltalake(tmp_path / "table", pa.table(columns))
    declared = query(tmp_path / "table", "delta")
    manifest = manifest_of(declared)
    shutil.rmtree(tmp_path / "table")
    for _ in range(3):
        write_deltalake(tmp_path / "table", pa.table(columns), mode="append")
    with pytest.raises(SourceChanged, match="it is another table than the stream has read"):
        open_feed(declared, layout, manifest, live=True)
