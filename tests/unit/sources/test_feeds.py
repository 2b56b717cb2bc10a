"""Feeds of files return each record exactly once, in order, over restarts; a replay returns them at a rate."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.ground.errors import Refused, SourceChanged, refuse
from tailrace.sources import file_feed, json_files, parquet_files
from tailrace.sources.check import Columns
from tailrace.sources.feeds import Feed, ReadFile, ReplayFeed, read_files, remaining
from tailrace.sources.file_feed import FileFeed
from tailrace.sources.formats import FORMATS
from tailrace.sources.segments import Segment

COLUMNS = Columns("event", None, "id", "key", {"value": "v"}, 0, 0)
TYPES = {"event": "int64", "id": "string", "key": "string", "v": "double"}
GOOD = {"event": 1, "id": "a", "key": "k", "v": 1.5}


def write(directory: Path, name: str, rows: int, **columns: list[object]) -> Path:
    """A Parquet file in row groups of two."""
    directory.mkdir(exist_ok=True)
    good = {"event": [1] * rows, "id": ["a"] * rows, "key": ["k"] * rows, "v": [1.0] * rows}
    schema = {"event": pa.int64(), "id": pa.string(), "key": pa.string(), "v": pa.float64()}
    table = pa.table({n: pa.array(v, schema[n] if n not in columns else None) for n, v in (good | columns).items()})
    pq.write_table(table, directory / name, row_group_size=2)
    return directory


def write_json(directory: Path, name: str, *records: object) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    return directory


def make_feed(
    path: Path,
    *before: Segment,
    types: dict[str, str] | None = None,
    format_name: str = "parquet",
    at_once: int | None = None,
) -> FileFeed:
    """A feed that resumes after these segments; its clock advances by a second per poll."""
    progress = {Path(path).name: file for path, file in read_files(before, {}).items()}
    clock = itertools.count()
    return FileFeed(path, format_name, COLUMNS, types or (TYPES if before else {}), progress, at_once, clock.__next__)


def rows(segments: list[Segment]) -> list[tuple[str, int]]:
    return [(Path(s.path).name, row) for s in segments for row in range(s.first_row, s.first_row + s.rows)]


def all_rows(**files: int) -> list[tuple[str, int]]:
    """All rows of these files, given by the number of rows of each."""
    return [(f"{name}.parquet", row) for name, count in files.items() for row in range(count)]


def refusal_error(feed: Feed) -> Refused:
    with pytest.raises(Refused) as refusal_error:
        feed.fresh()
    return refusal_error.value


def refusal(feed: Feed, kind: type[Refused] = Refused) -> str:
    error = refusal_error(feed)
    assert isinstance(error, kind)
    (problem,) = error.problems
    assert problem.right
    return f"{problem.where}: {problem.wrong}"


def test_new_files_are_returned_exactly_once_in_the_order_of_their_names(tmp_path):
    write(tmp_path, "b.parquet", 3)
    feed = make_feed(write(tmp_path, "c.parquet", 1))
    calls = [rows(feed.fresh()), rows(feed.fresh())]
    write(tmp_path, "e.parquet", 2)
    write(tmp_path, "a.parquet", 2)  # a new file comes after those already read, whatever its name
    calls += [rows(feed.fresh()), rows(feed.fresh())]
    assert calls == [all_rows(b=3, c=1), [], all_rows(a=2, e=2), []]
    assert feed.version == 0


def test_a_single_file_is_a_feed_too(tmp_path):
    feed = make_feed(write(tmp_path, "b.parquet", 3) / "b.parquet")
    assert (rows(feed.fresh()), feed.fresh()) == (all_rows(b=3), [])


def test_types_are_those_of_the_first_file(tmp_path):
    feed = make_feed(tmp_path)
    assert (feed.fresh(), feed.types) == ([], {})
    write(tmp_path, "b.parquet", 1)
    feed.fresh()
    assert feed.types == TYPES
    write(tmp_path, "c.parquet", 1, event=[pa.scalar(1, pa.timestamp("ms")).as_py()])
    feed.fresh()
    assert feed.types == TYPES


def test_segments_carry_the_size_and_rows_of_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "_ROWS_PER_SEGMENT", 2)
    path = write(tmp_path, "b.parquet", 5) / "b.parquet"
    segments = make_feed(tmp_path).fresh()
    assert [(s.path, s.first_row, s.rows) for s in segments] == [
        (str(path), 0, 2),
        (str(path), 2, 2),
        (str(path), 4, 1),
    ]
    assert {(s.size, s.of_rows, s.version) for s in segments} == {(path.stat().st_size, 5, 0)}


def test_files_without_rows_give_no_segments(tmp_path):
    write(tmp_path, "a.parquet", 0)
    assert rows(make_feed(write(tmp_path, "b.parquet", 1)).fresh()) == all_rows(b=1)
    assert make_feed(write_json(tmp_path / "json", "a.json"), format_name="json").fresh() == []


# segments  b 0 1 │ 2 3 │ 4   c 0 1 │ 2 3      restarted after any of them, when file a has arrived
@pytest.mark.parametrize("stop", range(6))
def test_after_a_restart_the_rest_of_a_file_read_in_part_comes_first(tmp_path, monkeypatch, stop):
    monkeypatch.setattr(parquet_files, "_ROWS_PER_SEGMENT", 2)
    write(tmp_path, "b.parquet", 5)
    read = make_feed(write(tmp_path, "c.parquet", 4)).fresh()[:stop]
    write(tmp_path, "a.parquet", 1)
    in_order = [all_rows(a=1, b=5, c=4), *[all_rows(b=5, a=1, c=4)] * 3, *[all_rows(b=5, c=4, a=1)] * 2]
    assert rows(read + make_feed(tmp_path, *read).fresh()) == in_order[stop]


@pytest.mark.parametrize("row", range(6))
def test_a_file_read_in_part_goes_on_at_any_row(tmp_path, row):
    (whole,) = make_feed(write(tmp_path, "b.parquet", 5)).fresh()
    assert rows(make_feed(tmp_path, replace(whole, rows=row)).fresh()) == all_rows(b=5)[row:]


def test_files_read_in_full_are_not_opened_again(tmp_path, monkeypatch):
    read = make_feed(write(tmp_path, "b.parquet", 5)).fresh()

    def fail(self: object, path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(parquet_files.ParquetFiles, "split", fail)
    monkeypatch.setattr(parquet_files.ParquetFiles, "types", lambda self, path, columns: fail(self, path))
    assert make_feed(tmp_path, *read).fresh() == []


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
    message = refusal(make_feed(tmp_path / "there", *read))
    assert f"read before: {tmp_path}/here/b.parquet" in message


def test_a_missing_source_is_refused(tmp_path):
    assert "no such file or directory" in refusal(make_feed(tmp_path / "none"))


@pytest.mark.parametrize(("name", "values"), [("id", [7]), ("key", [7])])
def test_files_of_different_types_are_refused_whenever_they_arrive(tmp_path, name, values):
    feed = make_feed(write(tmp_path, "b.parquet", 1))
    read = feed.fresh()
    write(tmp_path, "c.parquet", 1, **{name: values})
    wrong = f"{tmp_path}/c.parquet: column {name}: its type is int64, in files before it string"
    assert refusal(feed) == wrong
    assert refusal(make_feed(tmp_path, *read)) == wrong  # after a restart
    (tmp_path / "b.parquet").unlink()
    assert refusal(make_feed(tmp_path, types=TYPES)) == wrong


def test_integers_of_any_width_agree(tmp_path):
    feed = make_feed(write(tmp_path, "b.parquet", 1, id=[7]))
    feed.fresh()
    write(tmp_path, "c.parquet", 1, id=pa.array([7], pa.uint16()))
    assert rows(feed.fresh()) == all_rows(c=1)


def test_a_file_without_a_column_is_refused(tmp_path):
    feed = make_feed(write(tmp_path, "b.parquet", 1))
    feed.fresh()
    pq.write_table(pa.table({"event": [1]}), tmp_path / "c.parquet")
    assert "no column 'id'" in refusal(feed)


def test_a_source_without_a_record_of_fitting_types_is_refused(tmp_path):
    write_json(tmp_path, "a.json", GOOD | {"v": "one"}, GOOD | {"event": None})
    message = refusal(make_feed(tmp_path, format_name="json"))
    assert message == f"{tmp_path}: no record has a value of a fitting type in each of event, id, key, v"


def test_a_file_without_a_fitting_record_is_read_if_another_file_shows_the_types(tmp_path):
    """A malformed record goes to quarantine, and is no reason to refuse its file."""
    write_json(tmp_path, "a.json", GOOD | {"v": "one"})
    feed = make_feed(write_json(tmp_path, "b.json", GOOD, GOOD), format_name="json")
    assert rows(feed.fresh()) == [("a.json", 0), ("b.json", 0), ("b.json", 1)]
    assert feed.types == TYPES
    write_json(tmp_path, "c.json", GOOD | {"v": "one"})
    assert rows(feed.fresh()) == [("c.json", 0)]


def test_a_call_opens_a_limited_number_of_files_and_reports_that_more_are_left(tmp_path, monkeypatch):
    for name in "bcdef":
        write(tmp_path, f"{name}.parquet", 1)
    assert make_feed(tmp_path).holds_back is False
    split, opened_paths = parquet_files.ParquetFiles.split, []
    monkeypatch.setattr(
        parquet_files.ParquetFiles, "split", lambda self, path: opened_paths.append(path) or split(self, path)
    )
    feed = make_feed(tmp_path, at_once=2)
    calls = [(rows(feed.fresh()), feed.holds_back, len(opened_paths))]
    write(tmp_path, "a.parquet", 1)
    for _ in range(3):
        calls.append((rows(feed.fresh()), feed.holds_back, len(opened_paths)))
    write(tmp_path, "g.parquet", 1)
    calls.append((rows(feed.fresh()), feed.holds_back, len(opened_paths)))
    assert calls == [
        (all_rows(b=1, c=1), True, 2),
        (all_rows(a=1, d=1), True, 4),
        (all_rows(e=1, f=1), False, 6),
        ([], False, 6),
        (all_rows(g=1), False, 7),
    ]


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("stop", range(5))
def test_after_a_restart_files_already_read_are_skipped_with_a_limit_per_call_too(tmp_path, stop, at_once):
    for name in "bcde":
        write(tmp_path, f"{name}.parquet", 2)
    read = make_feed(tmp_path).fresh()[:stop]
    write(tmp_path, "a.parquet", 1)  # sorts first, but comes after the rest of a file read in part
    partial = [replace(one, rows=1) for one in read[-1:]]
    feed, segments = make_feed(tmp_path, *read[:-1], *partial, at_once=at_once), []
    while True:
        segments += feed.fresh()
        if not feed.holds_back:
            break
    partial_rest = [(Path(one.path).name, 1) for one in partial]
    assert rows(segments) == partial_rest + all_rows(a=1, **dict.fromkeys("bcde"[stop:], 2))


def test_records_that_fit_no_type_are_refused_once_all_files_were_opened(tmp_path):
    for name in "abc":
        write_json(tmp_path, f"{name}.json", GOOD | {"v": "one"})
    feed = make_feed(tmp_path, format_name="json", at_once=2)
    assert feed.fresh() == []
    assert (rows(feed.fresh()), feed.types, feed.holds_back) == ([("a.json", 0), ("b.json", 0)], {}, True)
    assert feed.fresh() == []
    for _ in range(2):
        assert "no record has a value of a fitting type" in refusal(feed)
    (tmp_path / "c.json").unlink()
    write_json(tmp_path, "c.json", GOOD)
    assert feed.fresh() == []
    assert (rows(feed.fresh()), feed.types) == ([("c.json", 0)], TYPES)


LINE = json.dumps(GOOD).encode()


def test_a_json_file_written_in_place_is_taken_once_it_is_unchanged_for_a_second_and_complete(tmp_path):
    feed, file = make_feed(tmp_path, format_name="json", at_once=9), tmp_path / "b.json"
    waiting = ([], file, True)
    previous = b""
    for text in (LINE[:9], LINE[:9], LINE, LINE + b"\n" + LINE[:1], LINE + b"\n" + LINE[:1]):
        if text != previous:  # rewriting the same bytes would change the modification time
            file.write_bytes(text)
        assert (feed.fresh(), feed.unfinished, feed.holds_back) == waiting
        assert (feed.problem is not None) == (text == previous), "reported once it is unchanged, but incomplete"
        previous = text
    file.write_bytes(LINE + b"\n" + LINE)
    assert (feed.fresh(), feed.unfinished, feed.holds_back) == waiting
    assert (rows(feed.fresh()), feed.unfinished, feed.holds_back) == ([("b.json", 0), ("b.json", 1)], None, False)
    assert feed.fresh() == []


def test_an_incomplete_json_file_holds_back_those_after_it_in_the_order_of_names(tmp_path):
    feed = make_feed(tmp_path, format_name="json", at_once=9)
    for name in "abd":
        write_json(tmp_path, f"{name}.json", GOOD)
    (tmp_path / "c.json").write_bytes(LINE[:9])
    assert feed.fresh() == []
    assert (rows(feed.fresh()), feed.unfinished) == ([("a.json", 0), ("b.json", 0)], tmp_path / "c.json")
    assert feed.fresh() == []
    (tmp_path / "c.json").write_bytes(LINE)
    assert feed.fresh() == []
    assert rows(feed.fresh()) == [("c.json", 0), ("d.json", 0)]


def test_a_bounded_run_takes_incomplete_files_too(tmp_path):
    feed = make_feed(write_json(tmp_path, "a.json", GOOD), format_name="json")
    (tmp_path / "b.json").write_bytes(LINE[:9])
    assert rows(feed.fresh()) == [("a.json", 0), ("b.json", 0)]


def test_an_empty_json_file_holds_back_no_other_and_is_read_when_it_is_filled(tmp_path):
    feed, answers = make_feed(write_json(tmp_path, "a.json"), format_name="json", at_once=1), []
    write_json(tmp_path, "b.json", GOOD)
    for _ in range(4):
        answers += rows(feed.fresh())
    assert (answers, feed.holds_back) == ([("b.json", 0)], False)
    write_json(tmp_path, "a.json", GOOD, GOOD)
    for _ in range(4):
        answers += rows(feed.fresh())
    assert answers == [("b.json", 0), ("a.json", 0), ("a.json", 1)]


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
    (whole,) = FileFeed(tmp_path, suffix, columns, {}, {}).fresh()
    before = {f"a.{suffix}": read_files([replace(whole, rows=1) if is_partial else whole], {})[whole.path]}
    (tmp_path / f"a.{suffix}").unlink()
    feed = FileFeed(tmp_path, suffix, columns, TYPES, before, 9)
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


FAILS = {"an error": OSError("not now"), "a refusal": refuse("x", "not whole", "whole")}


@pytest.mark.parametrize("failure", FAILS)
@pytest.mark.parametrize("where", ["split", "types"])
@pytest.mark.parametrize("at_once", [None, 9])
def test_a_call_that_fails_neither_loses_nor_repeats_a_segment(tmp_path, monkeypatch, where, failure, at_once):
    monkeypatch.setattr(json_files, "_BYTES_PER_SEGMENT", len(LINE) + 9)
    feed = make_feed(write_json(tmp_path, "a.json", GOOD, GOOD), format_name="json", at_once=at_once)
    write_json(tmp_path, "b.json", GOOD, GOOD)
    write_json(tmp_path, "c.json", GOOD)
    original = getattr(json_files.JsonFiles, where)

    def fail(self: object, path: Path, *args: object) -> object:
        if path.name == "b.json":
            raise FAILS[failure]
        return original(self, path, *args)

    monkeypatch.setattr(json_files.JsonFiles, where, fail)
    if at_once:
        feed.fresh()
    for _ in range(2):
        with pytest.raises(type(FAILS[failure])):
            feed.fresh()
    monkeypatch.setattr(json_files.JsonFiles, where, original)
    segments = feed.fresh() + feed.fresh()
    assert rows(segments) == [("a.json", 0), ("a.json", 1), ("b.json", 0), ("b.json", 1), ("c.json", 0)]
    assert rows(make_feed(tmp_path, *segments[:3], format_name="json").fresh()) == rows(segments[3:])


def test_progress_in_a_file_is_its_largest_row_in_any_order_of_segments(tmp_path):
    segments = [
        Segment("/x/a", 0, 3, of_rows=9, size=5),
        Segment("/x/b", 0, 1),
        Segment("/x/a", 3, 2, of_rows=9, size=5),
    ]
    whole = {"/x/a": ReadFile("/x/a", 5, 9, 5), "/x/b": ReadFile("/x/b", 1, 0, 0)}
    for order in (segments, segments[::-1]):
        assert read_files(order, {}) == whole
        for cut in range(len(order) + 1):
            before = read_files(order[:cut], {})
            assert before | read_files(order[cut:], before) == whole, "progress of these files only, and monotone"


def test_files_of_the_same_name_in_other_directories_are_distinct():
    both = read_files([Segment("/x/a", 0, 3), Segment("/y/a", 0, 1)], {"/y/a": ReadFile("/y/a", 2, 9, 5)})
    assert {path: one.rows for path, one in both.items()} == {"/x/a": 3, "/y/a": 2}


@pytest.mark.parametrize("row", range(8))
def test_remaining_segments_after_a_row(row):
    parts = [Segment("a", 0, 3), Segment("a", 3, 0), Segment("a", 3, 4)]
    assert rows(remaining(parts, row)) == [("a", i) for i in range(row, 7)]
    assert all(part.rows for part in remaining(parts, row))


class Clock:
    """A manual clock, in seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def start_replay(path: Path, rate: float, clock: Clock, *before: Segment) -> ReplayFeed:
    """A replay that has polled its log, and starts at the current time."""
    feed = ReplayFeed(make_feed(path, *before), rate, clock)
    clock.now += 100.0  # the time between construction and start is not replayed
    assert feed.fresh() == []
    clock.now += 100.0
    assert feed.fresh() == []
    return feed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name, count in (("a", 5), ("b", 1), ("c", 7)):
        write(tmp_path, f"{name}.parquet", count)
    return tmp_path


WHOLE = all_rows(a=5, b=1, c=7)


@pytest.mark.parametrize("rate", [0.3, 1, 2.5, 1000])
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
def test_a_replay_keeps_its_rate_exactly(log, rate, step):
    clock = Clock()
    feed, segments = start_replay(log, rate, clock), []
    start_s = clock.now
    for _ in range(500):
        clock.now += step
        segments += feed.fresh()
        assert len(rows(segments)) == min(int((clock.now - start_s) * rate), len(WHOLE))
    assert rows(segments) == WHOLE
    assert not any(segment.rows < 1 for segment in segments)


def test_a_replay_knows_the_types_before_it_returns_a_segment(log):
    feed = ReplayFeed(make_feed(log), 1, Clock())
    feed.fresh()
    assert (feed.types, feed.version) == (TYPES, 0)


@pytest.mark.parametrize("stop", range(len(WHOLE) + 1))
def test_a_replay_goes_on_over_a_restart_at_any_row(log, stop):
    clock = Clock()
    feed = start_replay(log, 1, clock)
    read = []
    for _ in range(stop):
        clock.now += 1
        read += feed.fresh()
    assert len(rows(read)) == stop
    feed = start_replay(log, 1, clock, *read)
    for _ in WHOLE:
        clock.now += 1
        new = feed.fresh()
        assert sum(segment.rows for segment in new) <= 1  # downtime is not made up for
        read += new
    assert rows(read) == WHOLE


def test_files_that_arrive_during_a_replay_are_replayed_too(log):
    clock = Clock()
    feed = start_replay(log, 10, clock)
    clock.now += 1.0
    segments = feed.fresh()
    write(log, "d.parquet", 3)
    clock.now += 1.0
    assert rows(segments + feed.fresh()) == WHOLE + all_rows(d=3)


def test_a_replay_holds_back_until_it_has_returned_all(log):
    clock = Clock()
    feed = start_replay(log, 1, clock)
    flags = []
    for _ in range(len(WHOLE) + 1):
        flags.append(feed.holds_back)
        clock.now += 1.0
        feed.fresh()
    assert flags == [True] * len(WHOLE) + [False]
    write(log, "d.parquet", 2)
    assert (rows(feed.fresh()), feed.holds_back) == (all_rows(d=1), True)


def test_a_replay_holds_back_while_its_log_does(log):
    write(log, "d.parquet", 2)
    feed = ReplayFeed(make_feed(log, at_once=1), 1000, clock := Clock())
    assert [feed.fresh(), feed.fresh()] == [[], []]
    clock.now += 100.0
    assert (rows(feed.fresh()), feed.holds_back) == (WHOLE, True)
    assert (rows(feed.fresh()), feed.holds_back) == (all_rows(d=2), False)


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


def test_a_file_must_be_unchanged_for_a_second_however_often_it_is_polled(tmp_path):
    now = [0.0]
    feed = FileFeed(tmp_path, "json", COLUMNS, {}, {}, 9, lambda: now[0])
    (tmp_path / "a.json").write_bytes(LINE + b"\n")
    for _ in range(8):
        assert feed.fresh() == []
        now[0] += 0.125
    assert rows(feed.fresh()) == [("a.json", 0)]


def test_a_file_that_is_written_for_a_minute_is_reported(tmp_path):
    feed, problems = make_feed(tmp_path, format_name="json", at_once=9), []
    for poll in range(70):
        (tmp_path / "a.json").write_bytes((LINE + b"\n") * (poll + 1))
        assert feed.fresh() == []
        problems.append(feed.problem)
    assert problems[:60] == [None] * 60
    assert "still being written after 69 s" in problems[-1]


def test_a_call_that_opens_large_files_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr("tailrace.sources.file_feed._BYTES_AT_ONCE", 1)
    for name in "abc":
        write(tmp_path, f"{name}.parquet", 2)
    feed = make_feed(tmp_path, at_once=9)
    calls = [(rows(feed.fresh()), feed.holds_back) for _ in range(4)]
    assert calls == [(all_rows(a=2), True), (all_rows(b=2), True), (all_rows(c=2), False), ([], False)]
