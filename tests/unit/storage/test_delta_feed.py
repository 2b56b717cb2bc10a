"""A Delta table as a log: what each commit appended, in order; whatever else was done to it is skipped or refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tailrace.ground.errors import Refused, SourceChanged, refuse
from tailrace.sources import parquet_files
from tailrace.sources.check import Columns
from tailrace.sources.feeds import read_files
from tailrace.sources.formats import FORMATS
from tailrace.sources.segments import Segment
from tailrace.storage import delta_feed
from tailrace.storage.delta_feed import DeltaFeed

COLUMNS = Columns("event", None, "id", "key", {"value": "v"}, 0, 0)
TYPES = {"event": "int64", "id": "string", "key": "string", "v": "double"}


def rows_of(ids: str, **columns: list[object]) -> pa.Table:
    """A row for each letter."""
    kinds = {"event": pa.int64(), "id": pa.string(), "key": pa.string(), "v": pa.float64(), "day": pa.int64()}
    good = {"event": 1, "key": "k", "v": 1.0, "day": 0}
    rows = {name: [value] * len(ids) for name, value in good.items()} | {"id": list(ids)}
    plain = {name: pa.array(rows[name], kind) for name, kind in kinds.items()}
    return pa.table(plain | {name: pa.array(values) for name, values in columns.items()})


def append(path: Path, *many: str, **how: object) -> None:
    """A commit for each."""
    for ids in many:
        write_deltalake(path, rows_of(ids), mode="append", **how)


def commit(path: Path, *actions: dict[str, object]) -> None:
    """A commit by hand."""
    log = path / "_delta_log" / f"{DeltaTable(path).version() + 1:020d}.json"
    log.write_text("\n".join(map(json.dumps, actions)))


def added(path: Path, version: int) -> dict[str, object]:
    """What a commit added: one file."""
    lines = (path / "_delta_log" / f"{version:020d}.json").read_bytes().splitlines()
    (add,) = (json.loads(line)["add"] for line in lines if b'"add"' in line)
    return add


def clean_up(path: Path, below: int) -> None:
    """What is left of the log when its commits below a version are older than its retention."""
    DeltaTable(path).create_checkpoint()
    for file in (path / "_delta_log").glob("*.json"):
        if int(file.stem) < below:
            file.unlink()


def opened(path: Path, *before: Segment, version: int = -1) -> DeltaFeed:
    """A feed that begins after a version, and what was read of later ones."""
    return DeltaFeed(path, COLUMNS, TYPES if before else {}, read_files(before, {}), version)


def ids(segments: list[Segment]) -> str:
    tables = [FORMATS["delta"].read(segment, TYPES).table for segment in segments]
    return "".join("".join(table["id"].to_pylist()) for table in tables)


def standing(feed: DeltaFeed, rest: list[Segment]) -> int:
    """The version up to which all is read, as the intake has it when the rest waits."""
    return rest[0].version - 1 if rest else feed.version


def refusal(act: Callable[[], object], kind: type[Refused] = Refused) -> str:
    with pytest.raises(kind) as refused:
        act()
    (problem,) = refused.value.problems
    assert problem.right
    return f"{problem.where}: {problem.wrong}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def test_appends_in_the_order_of_versions(path):
    append(path, "ab", "c", "de")
    feed = opened(path)
    found = feed.fresh()
    assert (ids(found), feed.version, feed.types) == ("abcde", 2, TYPES)
    assert [(segment.version, segment.rows, segment.of_rows) for segment in found] == [(0, 2, 2), (1, 1, 1), (2, 2, 2)]
    assert [segment.size for segment in found] == [Path(segment.path).stat().st_size for segment in found]
    assert feed.fresh() == []
    append(path, "f", "g")
    assert (ids(feed.fresh()), feed.version, feed.fresh()) == ("fg", 4, [])


def test_the_files_of_a_commit_in_its_order(path):
    write_deltalake(path, rows_of("abcd", day=[3, 1, 2, 0]), partition_by=["day"])
    lines = (path / "_delta_log" / f"{0:020d}.json").read_bytes().splitlines()
    in_order = [json.loads(line)["add"]["partitionValues"]["day"] for line in lines if b'"add"' in line]
    assert ids(opened(path).fresh()) == "".join("dbca"[int(day)] for day in in_order)


def test_a_table_without_rows_gives_nothing_and_no_types(path):
    DeltaTable.create(path, rows_of("").schema)
    feed = opened(path)
    assert (feed.fresh(), feed.types, feed.version) == ([], {}, 0)
    append(path, "a")
    assert (ids(feed.fresh()), feed.types) == ("a", TYPES)


def test_where_there_is_no_table_it_is_refused(path):
    assert "there is no Delta table" in refusal(lambda: opened(path))
    path.mkdir()
    pq.write_table(rows_of("a"), path / "a.parquet")
    assert "there is no Delta table" in refusal(lambda: opened(path))


def test_rows_that_were_only_moved_are_not_read_again(path):
    append(path, "a", "b")
    feed = opened(path)
    found = ids(feed.fresh())
    append(path, "c")
    DeltaTable(path).optimize.compact()
    append(path, "d")
    assert (found + ids(feed.fresh()), feed.version) == ("abcd", 4)
    assert ids(opened(path).fresh()) == "abcd"  # who begins now reads the same


def test_files_that_are_vacuumed_are_no_commit_of_rows(path):
    append(path, "ab")
    DeltaTable(path).optimize.compact()
    feed = opened(path)
    feed.fresh()
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert feed.fresh() == []


def test_rows_that_were_vacuumed_before_they_were_read_are_refused(path):
    append(path, "a", "b")
    DeltaTable(path).optimize.compact()
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert "it can't be read as Parquet" in refusal(opened(path).fresh)


def merge(path: Path, ids: str) -> None:
    merging = DeltaTable(path).merge(rows_of(ids), "s.id = t.id", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


CHANGES = {
    "delete": lambda path: DeltaTable(path).delete("id = 'a'"),
    "delete all": lambda path: DeltaTable(path).delete(),
    "update": lambda path: DeltaTable(path).update(updates={"v": "v + 1"}),
    "merge": lambda path: merge(path, "ax"),
    "overwrite": lambda path: write_deltalake(path, rows_of("x"), mode="overwrite"),
    "restore": lambda path: DeltaTable(path).restore(0),
}


@pytest.mark.parametrize("how", CHANGES)
def test_rows_that_were_removed_or_changed_are_refused(path, how):
    append(path, "ab", "c")
    feed = opened(path)
    assert ids(feed.fresh()) == "abc"
    CHANGES[how](path)
    append(path, "d")
    changed = f"{path}: version 2: it removed or changed rows, and a stream's log may only grow"
    assert refusal(feed.fresh, SourceChanged) == changed
    assert refusal(opened(path, version=1).fresh, SourceChanged) == changed
    assert refusal(opened(path).fresh, SourceChanged) == changed


def test_a_merge_that_only_inserts_is_an_append(path):
    append(path, "ab")
    feed = opened(path)
    feed.fresh()
    merge(path, "xy")
    assert sorted(ids(feed.fresh())) == ["x", "y"]


def deletion_vector(row: int) -> dict[str, object]:
    """That one row of a file is deleted; kept in the commit, in Z85, as the protocol has it."""
    bitmap = b"".join(n.to_bytes(4, "little") for n in (12346, 1, 0, 16)) + row.to_bytes(2, "little")
    data = (1681511377).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(4) + bitmap
    padded = data + bytes(-len(data) % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = [int.from_bytes(padded[i : i + 4], "big") for i in range(0, len(padded), 4)]
    text = "".join(digits[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": 1}


def delete_by_vector(path: Path, version: int, row: int, removes: bool = True) -> None:
    """As Spark deletes: the file stays, and is added again with a deletion vector."""
    old, features = added(path, version), ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    remove = {"path": old["path"], "dataChange": True, "deletionTimestamp": 1, "size": old["size"]}
    new = {"add": old | {"deletionVector": deletion_vector(row)}}
    commit(path, {"protocol": protocol}, new, *([{"remove": remove}] if removes else []))


@pytest.mark.parametrize("removes", [False, True])
def test_rows_that_were_deleted_by_a_vector_are_refused(path, removes):
    append(path, "ab", "c")
    delete_by_vector(path, 0, 1, removes)
    assert "version 2: it removed or changed rows" in refusal(opened(path).fresh)


def test_a_snapshot_of_which_rows_are_deleted_by_a_vector_is_refused(path):
    append(path, "ab", "c")
    delete_by_vector(path, 0, 1)
    append(path, "d")
    clean_up(path, 3)
    assert "deletion vectors" in refusal(opened(path).fresh)


# segments  a b │ c d │ e     of version 1, which is one commit of one file in row groups of two
@pytest.mark.parametrize("stop", range(6))
def test_opened_anew_in_the_middle_of_a_version_the_rest_of_it_is_first(path, monkeypatch, stop):
    append(path, "x")
    whole = path / "whole.parquet"
    pq.write_table(rows_of("abcde"), whole, row_group_size=2)
    commit(path, {"add": added(path, 0) | {"path": whole.name, "size": whole.stat().st_size, "stats": None}})
    append(path, "y")
    monkeypatch.setattr(parquet_files, "_ROWS_PER_SEGMENT", 2)
    feed = opened(path)
    found = feed.fresh()
    assert [segment.rows for segment in found] == [1, 2, 2, 1, 1]
    read, rest = found[:stop], found[stop:]
    append(path, "z")
    again = opened(path, *read, version=standing(feed, rest))
    assert ids(read + again.fresh()) == "xabcdeyz"


@pytest.mark.parametrize("row", range(1, 5))
def test_a_file_that_was_read_in_part_goes_on_at_any_row(path, row):
    append(path, "abcde")
    (whole,) = opened(path).fresh()
    part = Segment(whole.path, 0, row, size=whole.size, of_rows=5)
    assert ids(opened(path, part).fresh()) == "abcde"[row:]


def in_days(path: Path, days: str) -> None:
    """One commit of a file a day, all of the same name, as a directory that was converted to a table has them."""
    append(path, "x", partition_by=["day"])
    adds = []
    for day, name in enumerate(days, 1):
        file = path / f"day={day}" / "part-0.parquet"
        file.parent.mkdir()
        pq.write_table(rows_of(name).drop_columns(["day"]), file)
        place = {"path": f"day={day}/part-0.parquet", "partitionValues": {"day": str(day)}, "size": file.stat().st_size}
        adds.append({"add": added(path, 0) | place | {"stats": None}})
    commit(path, *adds)


@pytest.mark.parametrize("stop", range(5))
def test_files_of_the_same_name_are_told_apart(path, stop):
    in_days(path, "abc")
    feed = opened(path)
    found = feed.fresh()
    read, rest = found[:stop], found[stop:]
    assert ids(read + opened(path, *read, version=standing(feed, rest)).fresh()) == "xabc"


def test_a_log_that_was_cleaned_up_after_it_was_read_goes_on(path):
    append(path, "a", "b")
    feed = opened(path)
    found = ids(feed.fresh())
    clean_up(path, 1)
    append(path, "c")
    assert found + ids(feed.fresh()) == "abc"
    clean_up(path, 2)
    assert feed.fresh() == []
    assert opened(path, version=2).fresh() == []


def test_a_log_that_was_cleaned_up_before_it_was_read_is_refused(path):
    append(path, "a")
    feed = opened(path)
    feed.fresh()
    append(path, "b", "c")
    clean_up(path, 2)
    cleaned = f"{path}: version 1: its log was cleaned up before the stream had read it, so tuples would be missing"
    assert refusal(feed.fresh, SourceChanged) == cleaned
    assert refusal(opened(path, version=0).fresh, SourceChanged) == cleaned


ANEW = {"fewer versions": ["d", "e"], "as many": ["d", "e", "f"], "more": ["d", "e", "f", "g", "h"]}


@pytest.mark.parametrize("letters", ANEW.values(), ids=ANEW)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_table_that_was_made_anew_between_two_looks_is_a_loud_stop(path, letters, before):
    """`before`: how often the stream has looked at the old one since it read all of it."""
    append(path, "a", "b", "c")
    feed = opened(path)
    assert ids(feed.fresh()) == "abc"
    assert [feed.fresh() for _ in range(before)] == [[]] * before
    shutil.rmtree(path)
    append(path, *letters)
    for _ in range(2):
        assert "another table" in refusal(feed.fresh, SourceChanged)


@pytest.mark.parametrize("letters", ANEW.values(), ids=ANEW)
def test_an_older_state_of_the_same_table_is_a_loud_stop(path, tmp_path, letters):
    append(path, "a")
    shutil.copytree(path, tmp_path / "backup")
    append(path, "b", "c")
    feed = opened(path)
    assert ids(feed.fresh()) == "abc"
    shutil.rmtree(path)
    (tmp_path / "backup").rename(path)
    append(path, *letters[1:])
    assert "it was restored" in refusal(feed.fresh, SourceChanged)


def test_an_older_state_of_the_same_table_is_a_loud_stop_at_a_restart_where_it_has_fewer_versions(path):
    append(path, "a", "b")
    assert "it was restored" in refusal(opened(path, version=2).fresh, SourceChanged)


def test_a_table_that_is_away_for_a_moment_is_no_other_table(path, tmp_path):
    append(path, "a")
    feed = opened(path)
    feed.fresh()
    path.rename(tmp_path / "away")
    assert "there is no Delta table" in refusal(feed.fresh)
    shutil.copytree(tmp_path / "away", path)  # at another time, with the same bytes
    append(path, "b")
    assert ids(feed.fresh()) == "b"


@pytest.mark.parametrize("failure", [OSError("not now"), refuse("x", "not whole", "whole")])
@pytest.mark.parametrize("snapshot", [False, True])
def test_a_look_that_fails_has_lost_nothing_nor_doubled_it(path, monkeypatch, failure, snapshot):
    append(path, "a", "b", "c")
    if snapshot:
        clean_up(path, 2)
    feed, works, split = opened(path), FORMATS["delta"].split, []

    def fails(self: object, file: Path) -> list[Segment]:
        split.append(file)
        if len(split) % 2 == 0:
            raise failure
        return works(file)

    with monkeypatch.context() as broken:
        broken.setattr(parquet_files.ParquetFiles, "split", fails)
        for _ in range(2):
            with pytest.raises(type(failure)):
                feed.fresh()
            assert (feed.version, feed.types) == (-1, {})
    assert (ids(feed.fresh()), feed.version) == ("abc", 2)


def test_a_look_at_a_log_that_is_not_listed_again_after_it_failed_is_made_again(path, monkeypatch):
    """The listing that was due is due again."""
    monkeypatch.setattr(delta_feed, "time", Clock())
    append(path, "a", "b")
    clean_up(path, 1)
    feed, listed = opened(path), Path.glob

    def fails(self: Path, pattern: str) -> object:
        raise OSError("not now")

    monkeypatch.setattr(Path, "glob", fails)
    with pytest.raises(OSError, match="not now"):
        feed.fresh()
    monkeypatch.setattr(Path, "glob", listed)
    assert ids(feed.fresh()) == "ab"


def test_a_commit_that_comes_while_the_log_is_listed_is_no_gap(path, monkeypatch):
    append(path, "a")
    feed = opened(path)
    found = ids(feed.fresh())
    listed = Path.glob

    def late(self: Path, pattern: str) -> object:
        monkeypatch.setattr(Path, "glob", listed)
        append(path, "b")
        return listed(self, pattern)

    monkeypatch.setattr(Path, "glob", late)
    found += ids(feed.fresh())
    assert (found + ids(feed.fresh()), feed.version) == ("ab", 1)


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def listings(monkeypatch):
    """How often a log was listed."""
    listed, count = Path.glob, []
    monkeypatch.setattr(Path, "glob", lambda self, pattern: count.append(pattern) or listed(self, pattern))
    return count


def test_a_log_is_listed_once_a_minute_and_a_new_commit_is_seen_at_once(path, monkeypatch, listings):
    monkeypatch.setattr(delta_feed, "time", clock := Clock())
    append(path, "a")
    feed, found = opened(path), ""
    found += ids(feed.fresh())
    for _ in range(1200):  # ten minutes
        assert feed.fresh() == []
        clock.now += 0.5
    assert len(listings) == 10
    for name in "bcd":
        append(path, name)
        found += ids(feed.fresh())
    assert (found, len(listings)) == ("abcd", 10), "a commit is found by its name"


def test_a_gap_is_refused_within_a_minute(path, monkeypatch):
    monkeypatch.setattr(delta_feed, "time", clock := Clock())
    append(path, "a")
    feed = opened(path)
    feed.fresh()
    assert feed.fresh() == []
    append(path, "b", "c")
    (path / "_delta_log" / f"{1:020d}.json").unlink()  # while the commits around it are there
    assert feed.fresh() == []
    clock.now += 60.0
    assert "its log was cleaned up before the stream had read it" in refusal(feed.fresh)


def test_where_the_first_commits_are_cleaned_up_it_begins_with_the_table_as_it_stands(path):
    append(path, "a", "b", "c", "d")
    clean_up(path, 2)
    feed = opened(path)
    found = feed.fresh()
    assert (ids(found), feed.version, feed.types) == ("abcd", 3, TYPES)  # by the time of their writing
    append(path, "e")
    assert ids(feed.fresh()) == "e"


def test_what_was_deleted_before_the_table_was_first_seen_is_not_there(path):
    append(path, "a", "b")
    DeltaTable(path).delete("id = 'a'")
    append(path, "c")
    clean_up(path, 3)
    assert ids(opened(path).fresh()) == "bc"


@pytest.mark.parametrize("stop", range(6))
def test_opened_anew_in_the_middle_of_the_table_as_it_stood_the_rest_of_it_is_read(path, stop):
    append(path, "a", "b", "c", "d")
    clean_up(path, 3)
    feed = opened(path)
    found = feed.fresh()
    append(path, "e")
    found += feed.fresh()
    read, rest = found[:stop], found[stop:]
    append(path, "f")
    again = opened(path, *read, version=standing(feed, rest))
    assert ids(read + again.fresh()) == "abcdef"
    assert again.version == 5


def test_files_put_together_in_the_middle_of_the_first_look_are_refused(path):
    append(path, "a", "b", "c")
    clean_up(path, 2)
    feed = opened(path)
    found = feed.fresh()
    DeltaTable(path).optimize.compact()
    message = refusal(opened(path, found[0], version=standing(feed, found[1:])).fresh)
    assert f"{found[0].path}" in message
    assert "compacted" in message


def test_files_of_the_log_that_are_no_commits_are_passed_over(path):
    append(path, "a", "b", "c")
    feed = opened(path)
    feed.fresh()
    DeltaTable(path).compact_logs(0, 2)
    DeltaTable(path).create_checkpoint()
    log = path / "_delta_log"
    assert [file.name for file in log.glob("*.compacted.json")] == [f"{0:020d}.{2:020d}.compacted.json"]
    v2 = log / f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    v2.touch()
    assert feed.fresh() == []
    v2.unlink()  # deltalake would read it
    append(path, "d")
    assert ids(feed.fresh()) == "d"


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("part", ["event", "id", "key", "v"])
def test_a_column_that_the_files_do_not_hold_is_refused(path, part, snapshot):
    append(path, "ab", partition_by=[part])
    if snapshot:
        append(path, "c")
        clean_up(path, 1)
    message = refusal(opened(path).fresh)
    assert message.startswith(f"{path}: it is partitioned by {part}, which the query names as ")


@pytest.mark.parametrize("snapshot", [False, True])
def test_columns_of_other_names_in_the_files_are_refused(path, snapshot):
    append(path, "ab", configuration={"delta.columnMapping.mode": "name"})
    if snapshot:
        append(path, "c")
        clean_up(path, 1)
    assert refusal(opened(path).fresh) == f"{path}: it maps columns to other names in its files"


def test_columns_that_are_mapped_later_are_refused(path):
    append(path, "a")
    feed = opened(path)
    feed.fresh()
    metadata = next(
        json.loads(line)["metaData"]
        for line in (path / "_delta_log" / f"{0:020d}.json").read_bytes().splitlines()
        if b'"metaData"' in line
    )
    commit(path, {"metaData": metadata | {"configuration": {"delta.columnMapping.mode": "name"}}})
    assert "it maps columns" in refusal(feed.fresh)


def test_a_property_that_changes_is_no_fault(path):
    append(path, "a")
    feed = opened(path)
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
    assert sorted(ids(opened(path).fresh())) == sorted(letters + ("x" if snapshot else ""))


def test_a_directory_that_delta_can_not_open_is_refused(tmp_path):
    append(tmp_path / "table", "a")
    (tmp_path / "table").rename(tmp_path / "a%20b")
    assert "can't hold a %" in refusal(lambda: opened(tmp_path / "a%20b"))


def test_text_of_the_rows_in_the_log_does_not_break_its_lines(path):
    """Statistics hold values as they are, and some characters end a line for Python alone."""
    write_deltalake(path, rows_of("ab", key=["\u2028\x85\x0c\x1c", "é\n"]))
    assert ids(opened(path).fresh()) == "ab"


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_path_of_its_own_is_absolute(path, tmp_path, snapshot):
    """As in a table that was cloned: its files are another's."""
    append(path, "a")
    elsewhere = tmp_path / "else where" / "50%25.parquet"
    elsewhere.parent.mkdir()
    pq.write_table(rows_of("b"), elsewhere)
    uri = f"file://{tmp_path}/else%20where/50%2525.parquet"
    commit(path, {"add": added(path, 0) | {"path": uri, "size": elsewhere.stat().st_size, "stats": None}})
    if snapshot:
        clean_up(path, 1)
    assert sorted(ids(opened(path).fresh())) == ["a", "b"]


def test_types_that_disagree_are_refused(path):
    append(path, "a")
    odd = path / "odd.parquet"
    pq.write_table(rows_of("b", key=[7]), odd)
    commit(path, {"add": added(path, 0) | {"path": odd.name, "size": odd.stat().st_size, "stats": None}})
    wrong = f"{odd}: column key: its type is int64, in files before it string"
    assert refusal(opened(path).fresh) == wrong
    assert refusal(DeltaFeed(path, COLUMNS, TYPES, {}, 0).fresh) == wrong
