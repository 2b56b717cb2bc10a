"""Feeds of two streams: each goes on where the journal stands, and names its stream in errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from kit.draws.pair_query import STREAMS, pair_query, use_pairs, write_rows
from kit.runs.planned_segments import plan, write
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused, SourceChanged
from tailrace.sources.segments import Segment
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.stream.source_opening import open_feeds, problem_of

TYPES = {"event_time": "timestamp[ms, tz=UTC]", "arrival_time": "timestamp[ms, tz=UTC]", "id": "string"}


@pytest.fixture(autouse=True)
def _pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    use_pairs(monkeypatch)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "wh" / "pairs")
    layout.journal.mkdir(parents=True)
    return layout


def manifest_of(query, identities: dict[str, str] | None = None) -> CheckpointManifest:
    return CheckpointManifest("id", query.structure(), dict.fromkeys(STREAMS, TYPES), identities or {}, {})


# The files of both directories have the same names, so a feed that took the other's progress would skip them.
@pytest.mark.parametrize("written_batches", range(3))
def test_each_stream_goes_on_after_its_own_segments(tmp_path, layout, written_batches):
    query = pair_query(tmp_path)
    write_rows(tmp_path / "left", ["a", "b"], ["c"], ["d"])
    write_rows(tmp_path / "right", ["x"], ["y", "z"])
    given = {
        name: feed.fresh() for name, feed in open_feeds(CompiledQuery.declare(query), layout, None, live=False).items()
    }
    assert list(given) == list(STREAMS)
    plan(layout, left=given["left"][:1], right=[])
    plan(layout, left=given["left"][1:2], right=given["right"][:1])
    for batch in range(written_batches):
        write(layout, batch)
    left, right = open_feeds(CompiledQuery.declare(query), layout, manifest_of(query), live=False).values()
    assert [Path(part.path).relative_to(tmp_path) for part in left.fresh()] == [Path("left/2.parquet")]
    assert [Path(part.path).relative_to(tmp_path) for part in right.fresh()] == [Path("right/1.parquet")]
    assert left.types == right.types == TYPES


def test_both_streams_may_read_the_same_directory(tmp_path, layout):
    query = pair_query(tmp_path)
    write_rows(tmp_path / "left", ["a"], ["b"])
    (tmp_path / "right").symlink_to(tmp_path / "left")
    left, right = (feed.fresh() for feed in open_feeds(CompiledQuery.declare(query), layout, None, live=False).values())
    plan(layout, left=left, right=right[:1])
    left, right = (
        feed.fresh()
        for feed in open_feeds(CompiledQuery.declare(query), layout, manifest_of(query), live=False).values()
    )
    assert (len(left), len(right)) == (0, 1)


def test_each_table_goes_on_after_its_own_version_and_is_told_by_its_own_identity(tmp_path, layout):
    query = pair_query(tmp_path, {"left": "delta", "right": "delta"})
    for name, versions in (("left", 3), ("right", 2)):
        for version in range(versions):
            row = {"event_time": [1], "arrival_time": [1], "id": [f"{name}{version}"]}
            write_deltalake(tmp_path / name, pa.table(row), mode="append")
    feeds = open_feeds(CompiledQuery.declare(query), layout, None, live=False)
    identities = {name: feed.identity for name, feed in feeds.items()}
    given = {name: feed.fresh() for name, feed in feeds.items()}
    assert [feed.version for feed in feeds.values()] == [2, 1]
    plan(layout, {"left": 1, "right": 0}, left=given["left"][:2], right=given["right"][:1])
    left, right = open_feeds(CompiledQuery.declare(query), layout, manifest_of(query, identities), live=False).values()
    assert [[part.version for part in feed.fresh()] for feed in (left, right)] == [[2], [1]]
    swapped = {"left": identities["right"], "right": identities["right"]}
    with pytest.raises(SourceChanged, match=r"stream left: .*it is another table than the stream has read"):
        open_feeds(CompiledQuery.declare(query), layout, manifest_of(query, swapped), live=False)


def test_errors_name_the_stream_and_keep_their_type(tmp_path, layout):
    write_rows(tmp_path / "left", ["a"])
    write_rows(tmp_path / "right", ["x"])
    query = pair_query(tmp_path)
    left, right = open_feeds(CompiledQuery.declare(query), layout, None, live=False).values()
    shutil.rmtree(tmp_path / "right")
    assert len(left.fresh()) == 1
    with pytest.raises(Refused, match=f"^stream right: {tmp_path / 'right'}: "):
        right.fresh()
    with pytest.raises(Refused, match=f"^stream right: {tmp_path / 'right'}: "):
        open_feeds(CompiledQuery.declare(pair_query(tmp_path, {"right": "delta"})), layout, None, live=False)

    def fail() -> list[Segment]:
        raise PermissionError(13, "Permission denied", "/in/right")

    right.feed.fresh = fail
    with pytest.raises(PermissionError, match="stream right: Permission denied: '/in/right'"):
        right.fresh()


def test_problems_name_the_stream(tmp_path, layout):
    feeds = open_feeds(CompiledQuery.declare(pair_query(tmp_path)), layout, None, live=True)
    assert problem_of(feeds) is None
    feeds["right"].feed.problem = "it is still being written"
    assert problem_of(feeds) == "stream right: it is still being written"
    feeds["left"].feed.problem = "its last line is cut"
    assert problem_of(feeds) == "stream left: its last line is cut; stream right: it is still being written"
