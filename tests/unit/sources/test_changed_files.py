"""Files that change, move or vanish after they were taken are refused, by feeds and by readers."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kit.runs.file_feeds import COLUMNS, GOOD, LINE, TYPES, make_feed, refusal, refusal_error, write, write_json
from tailrace.ground.errors import Refused, SourceChanged
from tailrace.sources.discovery import file_feed
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.formats import parquet_files
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.reading_progress import read_files


@pytest.mark.parametrize("rows_before", [2, 3])
def test_a_file_that_was_read_and_changed_is_refused(tmp_path, rows_before):
    (whole,) = make_feed(write(tmp_path, "b.parquet", 3)).fresh()
    before = replace(whole, rows=rows_before)
    write(tmp_path, "b.parquet", 70)
    message = refusal(make_feed(tmp_path, before))
    size = (tmp_path / "b.parquet").stat().st_size
    assert f"{tmp_path}/b.parquet: a file of this name was read before" in message
    assert f"{whole.size:,} bytes; here are {size:,}" in message


def test_a_directory_that_was_moved_is_refused(tmp_path):
    read = make_feed(write(tmp_path / "here", "b.parquet", 3)).fresh()
    (tmp_path / "here").rename(tmp_path / "there")
    (problem,) = refusal_error(make_feed(tmp_path / "there", *read)).problems
    assert problem.where == f"{tmp_path}/there/b.parquet"
    assert problem.fault == f"it was read as {tmp_path}/here/b.parquet, and would count twice"
    assert f"that file where it was, beside new ones, and path: {tmp_path}/here" in problem.remedy


def test_the_refusal_of_a_file_that_was_moved_to_a_directory_says_what_works(tmp_path):
    file, all_files = write_json(tmp_path / "one", "data.json", GOOD) / "data.json", tmp_path / "all"
    read = make_feed(file, format_name="json").fresh()
    file.rename(write_json(all_files, "new.json", GOOD) / "data.json")
    (problem,) = refusal_error(make_feed(all_files, *read, format_name="json")).problems
    where_it_was = f"that file where it was, beside new ones, and path: {file.parent}"
    assert problem.remedy.startswith(f"{where_it_was}; or a path to a directory with new files alone")
    (all_files / "data.json").rename(file)
    for directory in (all_files, file.parent):
        (segment,) = make_feed(directory, *read, format_name="json").fresh()
        assert segment.path == str(directory / "new.json")
        (directory / "new.json").rename(file.parent / "new.json")


def rewrite(file: Path) -> None:
    """Write the same bytes again, with a later modification time."""
    later_ns = file.stat().st_mtime_ns + 10**9
    file.write_bytes(file.read_bytes())
    os.utime(file, ns=(later_ns, later_ns))


def replace_file(file: Path) -> None:
    """Replace the file by another one of the same size."""
    (file.parent / ".new").write_bytes(bytes(len(file.read_bytes())))
    (file.parent / ".new").rename(file)


CHANGES = {
    "grown": lambda file: file.write_bytes(file.read_bytes() + LINE),
    "shortened": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "emptied": lambda file: file.write_bytes(b""),
    "rewritten": rewrite,
    "replaced": replace_file,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_file_that_changes_after_it_was_taken_is_refused_by_a_live_run_and_at_a_restart(tmp_path, suffix, change):
    source = write_json(tmp_path, "a.json", GOOD) if suffix == "json" else write(tmp_path, "a.parquet", 3)
    feed = make_feed(source, format_name=suffix, at_once=9)
    read = feed.fresh() + feed.fresh()
    assert read
    CHANGES[change](tmp_path / f"a.{suffix}")
    for each_feed in (feed, feed, make_feed(tmp_path, *read, format_name=suffix, at_once=9)):
        assert "a file of this name was read before" in refusal(each_feed, SourceChanged)


@pytest.mark.parametrize("change", [*CHANGES, "removed"])
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_reader_refuses_a_file_that_is_not_the_one_that_was_taken(tmp_path, suffix, change):
    source = write_json(tmp_path, "a.json", GOOD) if suffix == "json" else write(tmp_path, "a.parquet", 3)
    (segment,) = make_feed(source, format_name=suffix).fresh()
    assert FORMATS[suffix].read(segment, TYPES).table.num_rows == segment.rows
    (CHANGES | {"removed": Path.unlink})[change](tmp_path / f"a.{suffix}")
    for read in (lambda: FORMATS[suffix].read(segment, TYPES), lambda: FORMATS[suffix].records(segment, [0])):
        with pytest.raises(SourceChanged, match="was removed" if change == "removed" else "was changed since"):
            read()


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize(
    ("suffix", "arrival"), [("json", None), ("json", "came"), ("parquet", None), ("parquet", "came")]
)
def test_a_file_read_in_full_may_be_removed_if_it_is_not_the_history(tmp_path, suffix, arrival, is_partial):
    columns = replace(COLUMNS, arrival_time=arrival)
    record = GOOD | {"came": 1}
    if suffix == "json":
        write_json(tmp_path, "a.json", record, record)
    else:
        write(tmp_path, "a.parquet", 2, came=[1, 1])
    (whole,) = FileFeed(tmp_path, suffix, columns, {}, ()).fresh()
    before = read_files([replace(whole, rows=1) if is_partial else whole], {}).values()
    (tmp_path / f"a.{suffix}").unlink()
    feed = FileFeed(tmp_path, suffix, columns, TYPES, before, 9, known_as=f"inode {tmp_path.stat().st_ino}")
    if is_partial or (suffix, arrival) == ("parquet", "came"):
        assert "it was removed" in refusal(feed, SourceChanged)
    else:
        assert feed.fresh() == []


def test_a_missing_directory_is_no_change_of_its_files_and_may_come_back(tmp_path):
    feed = make_feed(write(tmp_path / "in", "a.parquet", 1), at_once=9)
    feed.fresh()
    (tmp_path / "in").rename(tmp_path / "away")
    assert not isinstance(refusal_error(feed), SourceChanged)
    (tmp_path / "away").rename(tmp_path / "in")
    assert feed.fresh() == []


def test_a_call_checks_a_limited_number_of_taken_files_in_turn(tmp_path, monkeypatch):
    for name in "abcdefgh":
        write(tmp_path, f"{name}.parquet", 1)
    read = make_feed(tmp_path).fresh()
    feed, checks, state = make_feed(tmp_path, *read, at_once=3), [], file_feed.state_of
    monkeypatch.setattr(file_feed, "state_of", lambda file: checks.append(file.name[0]) or state(file))
    for calls in range(1, 9):
        assert feed.fresh() == []
        assert len(checks) == 3 * calls
    assert {*"".join(checks)} == {*"abcdefgh"}
    write(tmp_path, "e.parquet", 2)
    with pytest.raises(SourceChanged):
        _ = [feed.fresh() for _ in range(3)]


def test_a_file_that_changes_while_it_is_read_is_taken_in_its_final_state(tmp_path, monkeypatch):
    """Otherwise the journal would hold its size before the last write, by which every reader refuses the file."""
    write(tmp_path, "a.parquet", 3)
    split, touches, times = parquet_files.ParquetFiles.split, [], itertools.count(1)

    def split_then_touch(self, path):
        segments = split(self, path)
        if not touches:
            touches.append(path)
            os.utime(path, ns=(0, next(times)))
        return segments

    monkeypatch.setattr(parquet_files.ParquetFiles, "split", split_then_touch)
    feed = make_feed(tmp_path, at_once=9)
    assert (feed.fresh(), feed.holds_back) == ([], True)
    (segment,) = feed.fresh()
    assert segment.mtime_ns == 1
    assert feed.fresh() == []
    touches.clear()
    with pytest.raises(Refused, match="being written while it is read"):
        make_feed(tmp_path).fresh()
