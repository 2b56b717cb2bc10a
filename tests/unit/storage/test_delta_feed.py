"""`DeltaFeed`: the rows of each append commit, exactly once and in order; other commits are skipped or refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.ground.errors import Refused, SourceChanged, refuse
from tailrace.sources.formats import parquet_files
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.reading_progress import read_files
from tailrace.sources.segments import Segment
from tailrace.storage import delta_feed
from tailrace.storage.delta_feed import DeltaFeed

COLUMNS = source_mapping("event", None, "id", "key", {"value": "v"})
TYPES = {"event": "int64", "id": "string", "key": "string", "v": "double"}


def rows_of(ids: str, **columns: list[object]) -> pa.Table:
    """A table with one row per letter, which is its id."""
    kinds = {"event": pa.int64(), "id": pa.string(), "key": pa.string(), "v": pa.float64(), "day": pa.int64()}
    good = {"event": 1, "key": "k", "v": 1.0, "day": 0}
    rows = {name: [value] * len(ids) for name, value in good.items()} | {"id": list(ids)}
    columns_by_name = {name: pa.array(rows[name], kind) for name, kind in kinds.items()}
    return pa.table(columns_by_name | {name: pa.array(values) for name, values in columns.items()})


def append(path: Path, *texts: str, **options: object) -> None:
    """Append a commit per text, with a row per letter."""
    for ids in texts:
        write_deltalake(path, rows_of(ids), mode="append", **options)


def commit(path: Path, *actions: dict[str, object]) -> None:
    """Write a commit of these actions by hand."""
    log = path / "_delta_log" / f"{DeltaTable(path).version() + 1:020d}.json"
    log.write_text("\n".join(map(json.dumps, actions)))


def add_action(path: Path, version: int) -> dict[str, object]:
    """The add action of a commit that added one file."""
    lines = (path / "_delta_log" / f"{version:020d}.json").read_bytes().splitlines()
    (add,) = (json.loads(line)["add"] for line in lines if b'"add"' in line)
    return add


def clean_up(path: Path, below: int) -> None:
    """Write a checkpoint and remove the commits below a version, as Delta does once they exceed the retention."""
    DeltaTable(path).create_checkpoint()
    for file in (path / "_delta_log").glob("*.json"):
        if int(file.stem) < below:
            file.unlink()


def make_feed(path: Path, *before: Segment, version: int = -1) -> DeltaFeed:
    """A feed that resumes after a version and after these segments of later versions."""
    return DeltaFeed(path, COLUMNS, TYPES if before else {}, read_files(before, {}), version)


def ids(segments: list[Segment]) -> str:
    tables = [FORMATS["parquet"].read(segment, TYPES).table for segment in segments]
    return "".join("".join(table["id"].to_pylist()) for table in tables)


def read_version(feed: DeltaFeed, rest: list[Segment]) -> int:
    """The version up to which all is read, as the planner computes it from the unread segments."""
    return rest[0].version - 1 if rest else feed.version


def refusal(act: Callable[[], object], kind: type[Refused] = Refused) -> str:
    with pytest.raises(kind) as error_info:
        act()
    (problem,) = error_info.value.problems
    assert problem.remedy
    return f"{problem.where}: {problem.fault}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def test_appends_are_returned_in_the_order_of_versions(path):
    append(path, "ab", "c", "de")
    feed = make_feed(path)
    segments = feed.fresh()
    assert (ids(segments), feed.version, feed.types) == ("abcde", 2, TYPES)
    assert [(segment.version, segment.rows, segment.of_rows) for segment in segments] == [
        (0, 2, 2),
        (1, 1, 1),
        (2, 2, 2),
    ]
    assert [segment.size for segment in segments] == [Path(segment.path).stat().st_size for segment in segments]
    assert feed.fresh() == []
    append(path, "f", "g")
    assert (ids(feed.fresh()), feed.version, feed.fresh()) == ("fg", 4, [])


def test_files_are_returned_in_the_order_of_their_commit(path):
    write_deltalake(path, rows_of("abcd", day=[3, 1, 2, 0]), partition_by=["day"])
    lines = (path / "_delta_log" / f"{0:020d}.json").read_bytes().splitlines()
    in_order = [json.loads(line)["add"]["partitionValues"]["day"] for line in lines if b'"add"' in line]
    assert ids(make_feed(path).fresh()) == "".join("dbca"[int(day)] for day in in_order)


def test_a_table_without_rows_has_neither_segments_nor_types(path):
    DeltaTable.create(path, rows_of("").schema)
    feed = make_feed(path)
    assert (feed.fresh(), feed.types, feed.version) == ([], {}, 0)
    append(path, "a")
    assert (ids(feed.fresh()), feed.types) == ("a", TYPES)


def test_a_directory_that_is_no_table_is_refused(path):
    assert "there is no Delta table" in refusal(lambda: make_feed(path))
    path.mkdir()
    pq.write_table(rows_of("a"), path / "a.parquet")
    assert "there is no Delta table" in refusal(lambda: make_feed(path))


@pytest.mark.parametrize("name", ["_last_checkpoint", f"{0:020d}.json", f"{2:020d}.json"])
def test_a_log_with_a_fifo_is_refused(path, name):
    append(path, "a", "b")
    before = make_feed(path)
    before.fresh()
    (path / "_delta_log" / name).unlink(missing_ok=True)
    os.mkfifo(path / "_delta_log" / name)
    assert "it is a FIFO (named pipe), and no regular file" in refusal(lambda: make_feed(path))
    if name != "_last_checkpoint":
        assert "it is a FIFO (named pipe), and no regular file" in refusal(lambda: make_feed_of(before, name))


def make_feed_of(feed: DeltaFeed, name: str) -> object:
    """The next segments of a feed that reads this commit."""
    feed.version = int(name.removesuffix(".json")) - 1
    feed._last = feed._state()
    return feed.fresh()


def test_a_data_file_that_is_a_fifo_is_refused(path):
    append(path, "a")
    (file,) = path.glob("*.parquet")
    file.unlink()
    os.mkfifo(file)
    assert "it is a FIFO (named pipe), and no regular file" in refusal(make_feed(path).fresh)


def test_compacted_rows_are_not_read_again(path):
    append(path, "a", "b")
    feed = make_feed(path)
    earlier_ids = ids(feed.fresh())
    append(path, "c")
    DeltaTable(path).optimize.compact()
    append(path, "d")
    assert (earlier_ids + ids(feed.fresh()), feed.version) == ("abcd", 4)
    assert ids(make_feed(path).fresh()) == "abcd"  # a new feed reads the same rows


def test_a_vacuum_after_compaction_is_skipped(path):
    append(path, "ab")
    DeltaTable(path).optimize.compact()
    feed = make_feed(path)
    feed.fresh()
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert feed.fresh() == []


def test_rows_vacuumed_before_they_were_read_are_refused(path):
    append(path, "a", "b")
    DeltaTable(path).optimize.compact()
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert "it can't be read as Parquet" in refusal(make_feed(path).fresh)


def merge(path: Path, ids: str) -> None:
    merger = DeltaTable(path).merge(rows_of(ids), "s.id = t.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()


CHANGES = {
    "delete": lambda path: DeltaTable(path).delete("id = 'a'"),
    "delete all": lambda path: DeltaTable(path).delete(),
    "update": lambda path: DeltaTable(path).update(updates={"v": "v + 1"}),
    "merge": lambda path: merge(path, "ax"),
    "overwrite": lambda path: write_deltalake(path, rows_of("x"), mode="overwrite"),
    "restore": lambda path: DeltaTable(path).restore(0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_commits_that_remove_or_change_rows_are_refused(path, change):
    append(path, "ab", "c")
    feed = make_feed(path)
    assert ids(feed.fresh()) == "abc"
    CHANGES[change](path)
    append(path, "d")
    changed = f"{path}: version 2: it removed or changed rows, and a stream's log may only grow"
    assert refusal(feed.fresh, SourceChanged) == changed
    assert refusal(make_feed(path, version=1).fresh, SourceChanged) == changed
    assert refusal(make_feed(path).fresh, SourceChanged) == changed


def test_a_merge_that_only_inserts_is_an_append(path):
    append(path, "ab")
    feed = make_feed(path)
    feed.fresh()
    merge(path, "xy")
    assert sorted(ids(feed.fresh())) == ["x", "y"]


def deletion_vector(row: int) -> dict[str, object]:
    """An inline deletion vector for one row: a Roaring bitmap in Z85, by the Delta protocol."""
    bitmap = b"".join(n.to_bytes(4, "little") for n in (12346, 1, 0, 16)) + row.to_bytes(2, "little")
    data = (1681511377).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(4) + bitmap
    padded = data + bytes(-len(data) % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = [int.from_bytes(padded[i : i + 4], "big") for i in range(0, len(padded), 4)]
    text = "".join(digits[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": 1}


def delete_by_vector(path: Path, version: int, row: int, removes: bool = True) -> None:
    """Delete a row as Spark does: the file stays, and is added again with a deletion vector."""
    old, features = add_action(path, version), ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    remove = {"path": old["path"], "dataChange": True, "deletionTimestamp": 1, "size": old["size"]}
    new = {"add": old | {"deletionVector": deletion_vector(row)}}
    commit(path, {"protocol": protocol}, new, *([{"remove": remove}] if removes else []))


@pytest.mark.parametrize("removes", [False, True])
def test_a_commit_with_a_deletion_vector_is_refused(path, removes):
    append(path, "ab", "c")
    delete_by_vector(path, 0, 1, removes)
    assert "version 2: it removed or changed rows" in refusal(make_feed(path).fresh)


def test_a_snapshot_with_deletion_vectors_is_refused(path):
    append(path, "ab", "c")
    delete_by_vector(path, 0, 1)
    append(path, "d")
    clean_up(path, 3)
    assert "deletion vectors" in refusal(make_feed(path).fresh)


# segments  a b │ c d │ e     of version 1, a commit of one file in row groups of two rows
@pytest.mark.parametrize("stop", range(6))
def test_after_a_restart_the_rest_of_a_version_read_in_part_comes_first(path, monkeypatch, stop):
    append(path, "x")
    whole = path / "whole.parquet"
    pq.write_table(rows_of("abcde"), whole, row_group_size=2)
    commit(path, {"add": add_action(path, 0) | {"path": whole.name, "size": whole.stat().st_size, "stats": None}})
    append(path, "y")
    monkeypatch.setattr(parquet_files, "ROWS_PER_SEGMENT", 2)
    feed = make_feed(path)
    segments = feed.fresh()
    assert [segment.rows for segment in segments] == [1, 2, 2, 1, 1]
    read, rest = segments[:stop], segments[stop:]
    append(path, "z")
    resumed = make_feed(path, *read, version=read_version(feed, rest))
    assert ids(read + resumed.fresh()) == "xabcdeyz"


@pytest.mark.parametrize("row", range(1, 5))
def test_a_file_read_in_part_goes_on_at_any_row(path, row):
    append(path, "abcde")
    (whole,) = make_feed(path).fresh()
    part = Segment(whole.path, 0, row, size=whole.size, of_rows=5)
    assert ids(make_feed(path, part).fresh()) == "abcde"[row:]


def append_days(path: Path, days: str) -> None:
    """One commit with a file per day, all of the same name, as CONVERT TO DELTA of a directory writes it."""
    append(path, "x", partition_by=["day"])
    adds = []
    for day, name in enumerate(days, 1):
        file = path / f"day={day}" / "part-0.parquet"
        file.parent.mkdir()
        pq.write_table(rows_of(name).drop_columns(["day"]), file)
        place = {"path": f"day={day}/part-0.parquet", "partitionValues": {"day": str(day)}, "size": file.stat().st_size}
        adds.append({"add": add_action(path, 0) | place | {"stats": None}})
    commit(path, *adds)


@pytest.mark.parametrize("stop", range(5))
def test_files_of_the_same_name_in_other_partitions_are_distinct(path, stop):
    append_days(path, "abc")
    feed = make_feed(path)
    segments = feed.fresh()
    read, rest = segments[:stop], segments[stop:]
    assert ids(read + make_feed(path, *read, version=read_version(feed, rest)).fresh()) == "xabc"


def test_a_log_cleaned_up_after_it_was_read_goes_on(path):
    append(path, "a", "b")
    feed = make_feed(path)
    earlier_ids = ids(feed.fresh())
    clean_up(path, 1)
    append(path, "c")
    assert earlier_ids + ids(feed.fresh()) == "abc"
    clean_up(path, 2)
    assert feed.fresh() == []
    assert make_feed(path, version=2).fresh() == []


def test_a_log_cleaned_up_before_it_was_read_is_refused(path):
    append(path, "a")
    feed = make_feed(path)
    feed.fresh()
    append(path, "b", "c")
    clean_up(path, 2)
    message = f"{path}: version 1: its log was cleaned up before the stream had read it, so tuples would be missing"
    assert refusal(feed.fresh, SourceChanged) == message
    assert refusal(make_feed(path, version=0).fresh, SourceChanged) == message


NEW_COMMITS = {"fewer versions": ["d", "e"], "as many": ["d", "e", "f"], "more": ["d", "e", "f", "g", "h"]}


@pytest.mark.parametrize("letters", NEW_COMMITS.values(), ids=NEW_COMMITS)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_table_recreated_between_two_polls_is_refused(path, letters, before):
    """`before`: the number of polls of the old table after all of it was read."""
    append(path, "a", "b", "c")
    feed = make_feed(path)
    assert ids(feed.fresh()) == "abc"
    assert [feed.fresh() for _ in range(before)] == [[]] * before
    shutil.rmtree(path)
    append(path, *letters)
    for _ in range(2):
        assert "another table" in refusal(feed.fresh, SourceChanged)


@pytest.mark.parametrize("letters", NEW_COMMITS.values(), ids=NEW_COMMITS)
def test_an_older_state_of_the_same_table_is_refused(path, tmp_path, letters):
    append(path, "a")
    shutil.copytree(path, tmp_path / "backup")
    append(path, "b", "c")
    feed = make_feed(path)
    assert ids(feed.fresh()) == "abc"
    shutil.rmtree(path)
    (tmp_path / "backup").rename(path)
    append(path, *letters[1:])
    assert "it was restored" in refusal(feed.fresh, SourceChanged)


def test_an_older_state_with_fewer_versions_is_refused_at_a_restart(path):
    append(path, "a", "b")
    assert "it was restored" in refusal(make_feed(path, version=2).fresh, SourceChanged)


def test_a_table_that_was_moved_away_and_back_is_the_same_table(path, tmp_path):
    append(path, "a")
    feed = make_feed(path)
    feed.fresh()
    path.rename(tmp_path / "away")
    assert "there is no Delta table" in refusal(feed.fresh)
    shutil.copytree(tmp_path / "away", path)  # the same bytes, with another modification time
    append(path, "b")
    assert ids(feed.fresh()) == "b"


@pytest.mark.parametrize("failure", [OSError("not now"), refuse("x", "not whole", "whole")])
@pytest.mark.parametrize("snapshot", [False, True])
def test_a_call_that_fails_neither_loses_nor_repeats_a_segment(path, monkeypatch, failure, snapshot):
    append(path, "a", "b", "c")
    if snapshot:
        clean_up(path, 2)
    feed, original, split = make_feed(path), FORMATS["parquet"].split, []

    def fail(self: object, file: Path) -> list[Segment]:
        split.append(file)
        if len(split) % 2 == 0:
            raise failure
        return original(file)

    with monkeypatch.context() as patch:
        patch.setattr(parquet_files.ParquetFiles, "split", fail)
        for _ in range(2):
            with pytest.raises(type(failure)):
                feed.fresh()
            assert (feed.version, feed.types) == (-1, {})
    assert (ids(feed.fresh()), feed.version) == ("abc", 2)


def test_a_listing_that_failed_is_made_again_at_once(path, monkeypatch):
    """A failed call does not postpone the next listing."""
    monkeypatch.setattr(delta_feed, "time", Clock())
    append(path, "a", "b")
    clean_up(path, 1)
    feed, original = make_feed(path), Path.glob

    def fail(self: Path, pattern: str) -> object:
        raise OSError("not now")

    monkeypatch.setattr(Path, "glob", fail)
    with pytest.raises(OSError, match="not now"):
        feed.fresh()
    monkeypatch.setattr(Path, "glob", original)
    assert ids(feed.fresh()) == "ab"


def test_a_commit_written_while_the_log_is_listed_is_no_gap(path, monkeypatch):
    append(path, "a")
    feed = make_feed(path)
    earlier_ids = ids(feed.fresh())
    original = Path.glob

    def commit_then_list(self: Path, pattern: str) -> object:
        monkeypatch.setattr(Path, "glob", original)
        append(path, "b")
        return original(self, pattern)

    monkeypatch.setattr(Path, "glob", commit_then_list)
    earlier_ids += ids(feed.fresh())
    assert (earlier_ids + ids(feed.fresh()), feed.version) == ("ab", 1)


class Clock:
    """A manual monotonic clock, in seconds."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def listings(monkeypatch):
    """One item for each listing of a log."""
    original, calls = Path.glob, []
    monkeypatch.setattr(Path, "glob", lambda self, pattern: calls.append(pattern) or original(self, pattern))
    return calls


def test_a_log_is_listed_once_a_minute_and_a_new_commit_is_read_at_once(path, monkeypatch, listings):
    monkeypatch.setattr(delta_feed, "time", clock := Clock())
    append(path, "a")
    feed, letters = make_feed(path), ""
    letters += ids(feed.fresh())
    for _ in range(1200):  # ten minutes
        assert feed.fresh() == []
        clock.now += 0.5
    assert len(listings) == 10
    for name in "bcd":
        append(path, name)
        letters += ids(feed.fresh())
    assert (letters, len(listings)) == ("abcd", 10), "new commits are found by name, without a listing"


def test_a_gap_is_refused_within_a_minute(path, monkeypatch):
    monkeypatch.setattr(delta_feed, "time", clock := Clock())
    append(path, "a")
    feed = make_feed(path)
    feed.fresh()
    assert feed.fresh() == []
    append(path, "b", "c")
    (path / "_delta_log" / f"{1:020d}.json").unlink()  # the commits around it remain
    assert feed.fresh() == []
    clock.now += 60.0
    assert "its log was cleaned up before the stream had read it" in refusal(feed.fresh)


def test_a_log_without_its_first_commits_begins_with_a_snapshot_of_the_table(path):
    append(path, "a", "b", "c", "d")
    clean_up(path, 2)
    feed = make_feed(path)
    segments = feed.fresh()
    assert (ids(segments), feed.version, feed.types) == (
        "abcd",
        3,
        TYPES,
    )  # files in the order in which they were written
    append(path, "e")
    assert ids(feed.fresh()) == "e"


def test_a_snapshot_lacks_rows_deleted_before_it(path):
    append(path, "a", "b")
    DeltaTable(path).delete("id = 'a'")
    append(path, "c")
    clean_up(path, 3)
    assert ids(make_feed(path).fresh()) == "bc"


@pytest.mark.parametrize("stop", range(6))
def test_after_a_restart_the_rest_of_the_snapshot_is_read(path, stop):
    append(path, "a", "b", "c", "d")
    clean_up(path, 3)
    feed = make_feed(path)
    segments = feed.fresh()
    append(path, "e")
    segments += feed.fresh()
    read, rest = segments[:stop], segments[stop:]
    append(path, "f")
    resumed = make_feed(path, *read, version=read_version(feed, rest))
    assert ids(read + resumed.fresh()) == "abcdef"
    assert resumed.version == 5


def test_a_compaction_while_the_snapshot_is_read_in_part_is_refused(path):
    append(path, "a", "b", "c")
    clean_up(path, 2)
    feed = make_feed(path)
    segments = feed.fresh()
    DeltaTable(path).optimize.compact()
    message = refusal(make_feed(path, segments[0], version=read_version(feed, segments[1:])).fresh)
    assert f"{segments[0].path}" in message
    assert "compacted" in message


def test_files_of_the_log_that_are_no_commits_are_skipped(path):
    append(path, "a", "b", "c")
    feed = make_feed(path)
    feed.fresh()
    DeltaTable(path).compact_logs(0, 2)
    DeltaTable(path).create_checkpoint()
    log = path / "_delta_log"
    assert [file.name for file in log.glob("*.compacted.json")] == [f"{0:020d}.{2:020d}.compacted.json"]
    v2 = log / f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    v2.touch()
    assert feed.fresh() == []
    v2.unlink()  # deltalake would read the file
    append(path, "d")
    assert ids(feed.fresh()) == "d"


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("part", ["event", "id", "key", "v"])
def test_a_table_partitioned_by_a_column_of_the_query_is_refused(path, part, snapshot):
    append(path, "ab", partition_by=[part])
    if snapshot:
        append(path, "c")
        clean_up(path, 1)
    message = refusal(make_feed(path).fresh)
    assert message.startswith(f"{path}: it is partitioned by {part}, which the query names as ")


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_table_with_column_mapping_is_refused(path, snapshot):
    append(path, "ab", configuration={"delta.columnMapping.mode": "name"})
    if snapshot:
        append(path, "c")
        clean_up(path, 1)
    assert refusal(make_feed(path).fresh) == f"{path}: it maps columns to other names in its files"


def test_column_mapping_enabled_later_is_refused(path):
    append(path, "a")
    feed = make_feed(path)
    feed.fresh()
    metadata = next(
        json.loads(line)["metaData"]
        for line in (path / "_delta_log" / f"{0:020d}.json").read_bytes().splitlines()
        if b'"metaData"' in line
    )
    commit(path, {"metaData": metadata | {"configuration": {"delta.columnMapping.mode": "name"}}})
    assert "it maps columns" in refusal(feed.fresh)


def test_a_changed_table_property_is_skipped(path):
    append(path, "a")
    feed = make_feed(path)
    feed.fresh()
    DeltaTable(path).alter.set_table_properties({"delta.appendOnly": "true"})
    append(path, "b")
    assert ids(feed.fresh()) == "b"


STRANGE = ["a b", "50%", "%20", "x/y=z", "é", "a+b", "q?#:&;\"'", "file:x", "\u2028\x85", "=", None]


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("directory", ["table", "a b", "é+#?"])
def test_paths_with_any_characters_are_found(tmp_path, directory, snapshot):
    path = tmp_path / directory
    letters = "abcdefghijk"
    write_deltalake(path, rows_of(letters, day=STRANGE), partition_by=["day"])
    if snapshot:
        write_deltalake(path, rows_of("x", day=["a b"]), mode="append")
        clean_up(path, 1)
    assert sorted(ids(make_feed(path).fresh())) == sorted(letters + ("x" if snapshot else ""))


def test_a_directory_that_delta_cannot_open_is_refused(tmp_path):
    append(tmp_path / "table", "a")
    (tmp_path / "table").rename(tmp_path / "a%20b")
    assert "can't hold a %" in refusal(lambda: make_feed(tmp_path / "a%20b"))


def test_line_separators_in_the_statistics_of_a_commit_do_not_split_its_lines(path):
    """Statistics hold values verbatim, and `str.splitlines` splits at characters that end no line in JSON lines."""
    write_deltalake(path, rows_of("ab", key=["\u2028\x85\x0c\x1c", "é\n"]))
    assert ids(make_feed(path).fresh()) == "ab"


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_file_may_be_named_by_an_absolute_uri(path, tmp_path, snapshot):
    """As in a shallow clone, whose files belong to another table."""
    append(path, "a")
    elsewhere = tmp_path / "else where" / "50%25.parquet"
    elsewhere.parent.mkdir()
    pq.write_table(rows_of("b"), elsewhere)
    uri = f"file://{tmp_path}/else%20where/50%2525.parquet"
    commit(path, {"add": add_action(path, 0) | {"path": uri, "size": elsewhere.stat().st_size, "stats": None}})
    if snapshot:
        clean_up(path, 1)
    assert sorted(ids(make_feed(path).fresh())) == ["a", "b"]


def test_types_that_disagree_are_refused(path):
    append(path, "a")
    odd_file = path / "odd.parquet"
    pq.write_table(rows_of("b", key=[7]), odd_file)
    commit(path, {"add": add_action(path, 0) | {"path": odd_file.name, "size": odd_file.stat().st_size, "stats": None}})
    wrong = f"{odd_file}: column key: its type is int64, in files before it string"
    assert refusal(make_feed(path).fresh) == wrong
    assert refusal(DeltaFeed(path, COLUMNS, TYPES, {}, 0).fresh) == wrong


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("way", ["..", "absolute", "uri", "link"])
def test_a_file_outside_of_the_roots_of_sources_is_refused(path, tmp_path, monkeypatch, way, snapshot):
    append(path, "ab")
    action = add_action(path, 0)
    inside, outside = path / action["path"], tmp_path / "secret.parquet"
    inside.rename(outside)
    names = {"..": "../secret.parquet", "absolute": str(outside), "uri": outside.as_uri(), "link": action["path"]}
    if way == "link":
        inside.symlink_to(outside)
    log = path / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text().replace(json.dumps(action["path"]), json.dumps(names[way])))
    if snapshot:
        append(path, "c")
        clean_up(path, 1)
    monkeypatch.setenv("TAILRACE_SOURCES", str(path))
    assert "lies under no root of sources" in refusal(make_feed(path).fresh)
    monkeypatch.setenv("TAILRACE_SOURCES", str(tmp_path))
    assert ids(make_feed(path).fresh())[:2] == "ab"


MORE = with_uses(COLUMNS, carried={"left_more": "more"})


@pytest.mark.parametrize("is_listed", [False, True])
def test_files_older_than_an_added_column_have_null_there(path: Path, is_listed: bool) -> None:
    append(path, "a", "b")
    write_deltalake(path, rows_of("c", more=[7]), mode="append", schema_mode="merge")
    append(path, "d", schema_mode="merge")
    if is_listed:
        clean_up(path, below=3)
    feed = DeltaFeed(path, MORE, {}, {}, -1)
    tables = [FORMATS["parquet"].read(segment, feed.types).table for segment in feed.fresh()]
    assert [value for table in tables for value in table["more"].to_pylist()] == [None, None, 7, None]
    assert feed.types["more"] == "int64"


def test_a_column_that_the_table_has_not_is_refused_by_its_name(path: Path) -> None:
    append(path, "a")
    assert refusal(DeltaFeed(path, MORE, {}, {}, -1).fresh).startswith(f"{path}: it has no column 'more'")
