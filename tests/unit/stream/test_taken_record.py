"""The record of what a stream has read, in the table `segments` and the journal, by partitions of its source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, Tuple
from kit.runs.planned_segments import plan, write
from kit.runs.warehouse import make_query, write_files
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.reading_progress import ReadFile, by_path
from tailrace.sources.segments import Segment
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.stream import taken_record
from tailrace.stream.source_opening import open_feeds
from tailrace.stream.taken_record import StreamRecord

TYPES = {"event_time": "timestamp[ms, tz=UTC]", "id": "string", "key": "string"}
DAYS = ["2026-11-01", "2026-11-02", "2026-11-03"]


@pytest.fixture
def query(tmp_path: Path) -> Query:
    """A query over three partitions with a file of four rows each, and one file beside them."""
    for number, day in enumerate(["", *DAYS]):
        tuples = [Tuple(i, i, f"t{number}{i}", "k", 1.0) for i in range(4)]
        write_files(tuples, tmp_path / "in" / day, [0, 4])
    declared = make_query(tmp_path / "in", Settings(100, 100, 10), source="parquet").model_dump(
        mode="json", exclude_none=True
    )
    declared["streams"]["readings"]["source"] |= {"format": "parquet", "path": str(tmp_path / "in")}
    declared["disorder"] = {"policy": "none"}
    return declared_query(declared)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "wh" / "readings")
    layout.journal.mkdir(parents=True)
    return layout


def open_feed(query: Query, layout: Layout, live: bool = True) -> FileFeed:
    manifest = CheckpointManifest("id", query.structure(), {"readings": TYPES}, {}, {})
    (feed,) = open_feeds(CompiledQuery.declare(query), layout, manifest, live).values()
    assert isinstance(feed, FileFeed)
    return feed


def paths(segments: list[Segment], query: Query) -> list[str]:
    return [segment.path.removeprefix(f"{query.streams['readings'].path}/") for segment in segments]


FILES = [*(f"{day}/part-00000.parquet" for day in DAYS), "part-00000.parquet"]


@pytest.mark.parametrize("written", range(5))
def test_files_are_found_in_the_table_and_in_the_journal(query, layout, written):
    segments = open_feed(query, layout, live=False).fresh()
    assert paths(segments, query) == FILES
    for segment in segments:
        plan(layout, readings=[segment])
    for batch in range(written):
        write(layout, batch)
    prefix, record = f"{query.streams['readings'].path}/", StreamRecord(layout, "readings")
    assert record.rows() == 16
    found = {one.removeprefix(prefix): file.rows for one, file in by_path(record.since("", "")).items()}
    assert found == dict.fromkeys(FILES, 4)
    since = {one.removeprefix(prefix) for one in by_path(record.since(prefix, f"{DAYS[1]}/"))}
    assert since == {*FILES[1:]}, "the files beside partitions are always open"
    for directory, names in (("", ["part-00000.parquet"]), (f"{DAYS[0]}/", FILES[:1]), ("2026-11-0/", [])):
        assert [file.path for file in record.files(f"{prefix}{directory}")] == [f"{prefix}{name}" for name in names]


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("stop", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 4])
def test_a_live_feed_goes_on_after_a_restart(query, layout, stop, rows, is_written):
    segments = open_feed(query, layout, live=False).fresh()
    plan(layout, readings=[*segments[: stop - 1], replace(segments[stop - 1], rows=rows)])
    if is_written:
        write(layout, 0)
    rest = [FILES[stop - 1]] * (rows < 4) + FILES[stop:]
    feed = open_feed(query, layout)
    assert paths(feed.fresh(), query) == rest
    assert paths([segment for _ in range(9) for segment in feed.fresh()], query) == []


def test_a_record_that_could_not_be_read_is_no_empty_one(query, layout, monkeypatch):
    for segment in open_feed(query, layout, live=False).fresh():
        plan(layout, readings=[segment])
    feed = open_feed(query, layout)

    def fail(*_: object) -> None:
        raise OSError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(taken_record, "read_files", fail)
        with pytest.raises(OSError, match="not now"):
            feed.fresh()
    assert feed.fresh() == []


def test_a_file_has_the_rows_up_to_which_it_was_read_whatever_the_order(query, layout):
    file = ReadFile("/a", 1, 4, 9)
    assert by_path([replace(file, rows=2), file, replace(file, rows=3), replace(file, rows=2)]) == {
        "/a": replace(file, rows=3)
    }
