"""Files that keep coming, each record given once, in order; and a log that is given out at a rate."""

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


def opened(
    path: Path,
    *before: Segment,
    types: dict[str, str] | None = None,
    format_name: str = "parquet",
    at_once: int | None = None,
) -> FileFeed:
    """A feed that begins after what was read before."""
    by_name = {Path(path).name: one for path, one in read_files(before, {}).items()}
    looks = itertools.count()  # a second from look to look
    return FileFeed(path, format_name, COLUMNS, types or (TYPES if before else {}), by_name, at_once, looks.__next__)


def rows(segments: list[Segment]) -> list[tuple[str, int]]:
    return [(Path(s.path).name, row) for s in segments for row in range(s.first_row, s.first_row + s.rows)]


def of(**files: int) -> list[tuple[str, int]]:
    """All rows of files of so many."""
    return [(f"{name}.parquet", row) for name, many in files.items() for row in range(many)]


def refused(feed: Feed) -> Refused:
    with pytest.raises(Refused) as refused:
        feed.fresh()
    return refused.value


def refusal(feed: Feed, kind: type[Refused] = Refused) -> str:
    error = refused(feed)
    assert isinstance(error, kind)
    (problem,) = error.problems
    assert problem.right
    return f"{problem.where}: {problem.wrong}"


def test_files_that_keep_coming_are_given_once_by_their_names(tmp_path):
    write(tmp_path, "b.parquet", 3)
    feed = opened(write(tmp_path, "c.parquet", 1))
    found = [rows(feed.fresh()), rows(feed.fresh())]
    write(tmp_path, "e.parquet", 2)
    write(tmp_path, "a.parquet", 2)  # after those before it, whatever its name
    found += [rows(feed.fresh()), rows(feed.fresh())]
    assert found == [of(b=3, c=1), [], of(a=2, e=2), []]
    assert feed.version == 0


def test_a_file_alone_is_a_feed_too(tmp_path):
    feed = opened(write(tmp_path, "b.parquet", 3) / "b.parquet")
    assert (rows(feed.fresh()), feed.fresh()) == (of(b=3), [])


def test_types_are_those_of_the_first_file(tmp_path):
    feed = opened(tmp_path)
    assert (feed.fresh(), feed.types) == ([], {})
    write(tmp_path, "b.parquet", 1)
    feed.fresh()
    assert feed.types == TYPES
    write(tmp_path, "c.parquet", 1, event=[pa.scalar(1, pa.timestamp("ms")).as_py()])
    feed.fresh()
    assert feed.types == TYPES


def test_segments_know_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "_ROWS_PER_SEGMENT", 2)
    path = write(tmp_path, "b.parquet", 5) / "b.parquet"
    found = opened(tmp_path).fresh()
    assert [(s.path, s.first_row, s.rows) for s in found] == [(str(path), 0, 2), (str(path), 2, 2), (str(path), 4, 1)]
    assert {(s.size, s.of_rows, s.version) for s in found} == {(path.stat().st_size, 5, 0)}


def test_files_without_rows_give_no_segments(tmp_path):
    write(tmp_path, "a.parquet", 0)
    assert rows(opened(write(tmp_path, "b.parquet", 1)).fresh()) == of(b=1)
    assert opened(write_json(tmp_path / "json", "a.json"), format_name="json").fresh() == []


# segments  b 0 1 │ 2 3 │ 4   c 0 1 │ 2 3      stopped after any of them; then a comes
@pytest.mark.parametrize("stop", range(6))
def test_opened_anew_the_rest_of_what_was_begun_is_first(tmp_path, monkeypatch, stop):
    monkeypatch.setattr(parquet_files, "_ROWS_PER_SEGMENT", 2)
    write(tmp_path, "b.parquet", 5)
    read = opened(write(tmp_path, "c.parquet", 4)).fresh()[:stop]
    write(tmp_path, "a.parquet", 1)
    in_order = [of(a=1, b=5, c=4), *[of(b=5, a=1, c=4)] * 3, *[of(b=5, c=4, a=1)] * 2]
    assert rows(read + opened(tmp_path, *read).fresh()) == in_order[stop]


@pytest.mark.parametrize("row", range(6))
def test_a_file_that_was_read_in_part_goes_on_at_any_row(tmp_path, row):
    (whole,) = opened(write(tmp_path, "b.parquet", 5)).fresh()
    assert rows(opened(tmp_path, replace(whole, rows=row)).fresh()) == of(b=5)[row:]


def test_what_was_read_is_not_opened_again(tmp_path, monkeypatch):
    read = opened(write(tmp_path, "b.parquet", 5)).fresh()

    def opens(self: object, path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(parquet_files.ParquetFiles, "split", opens)
    monkeypatch.setattr(parquet_files.ParquetFiles, "types", lambda self, path, columns: opens(self, path))
    assert opened(tmp_path, *read).fresh() == []


@pytest.mark.parametrize("rows_before", [2, 3])
def test_a_file_that_was_read_and_changed_is_refused(tmp_path, rows_before):
    (whole,) = opened(write(tmp_path, "b.parquet", 3)).fresh()
    before = replace(whole, rows=rows_before)
    write(tmp_path, "b.parquet", 70)
    message = refusal(opened(tmp_path, before))
    size = (tmp_path / "b.parquet").stat().st_size
    assert f"{tmp_path}/b.parquet: a file of this name was read before" in message
    assert f"{whole.size:,} bytes; here are {size:,}" in message


def test_a_directory_that_was_moved_is_refused(tmp_path):
    read = opened(write(tmp_path / "here", "b.parquet", 3)).fresh()
    (tmp_path / "here").rename(tmp_path / "there")
    message = refusal(opened(tmp_path / "there", *read))
    assert f"read before: {tmp_path}/here/b.parquet" in message


def test_a_source_that_is_not_there_is_refused(tmp_path):
    assert "no such file or directory" in refusal(opened(tmp_path / "none"))


@pytest.mark.parametrize(("name", "values"), [("id", [7]), ("key", [7])])
def test_types_that_disagree_are_refused_whenever_they_come(tmp_path, name, values):
    feed = opened(write(tmp_path, "b.parquet", 1))
    read = feed.fresh()
    write(tmp_path, "c.parquet", 1, **{name: values})
    wrong = f"{tmp_path}/c.parquet: column {name}: its type is int64, in files before it string"
    assert refusal(feed) == wrong
    assert refusal(opened(tmp_path, *read)) == wrong  # opened anew
    (tmp_path / "b.parquet").unlink()
    assert refusal(opened(tmp_path, types=TYPES)) == wrong


def test_integers_of_any_width_agree(tmp_path):
    feed = opened(write(tmp_path, "b.parquet", 1, id=[7]))
    feed.fresh()
    write(tmp_path, "c.parquet", 1, id=pa.array([7], pa.uint16()))
    assert rows(feed.fresh()) == of(c=1)


def test_a_file_without_a_column_is_refused(tmp_path):
    feed = opened(write(tmp_path, "b.parquet", 1))
    feed.fresh()
    pq.write_table(pa.table({"event": [1]}), tmp_path / "c.parquet")
    assert "no column 'id'" in refusal(feed)


def test_records_of_which_none_fits_are_refused(tmp_path):
    write_json(tmp_path, "a.json", GOOD | {"v": "one"}, GOOD | {"event": None})
    message = refusal(opened(tmp_path, format_name="json"))
    assert message == f"{tmp_path}: no record has a value of a fitting type in each of event, id, key, v"


def test_a_file_of_which_no_record_fits_is_read_where_another_tells_the_types(tmp_path):
    """A wrong record is no refusal: it goes to quarantine."""
    write_json(tmp_path, "a.json", GOOD | {"v": "one"})
    feed = opened(write_json(tmp_path, "b.json", GOOD, GOOD), format_name="json")
    assert rows(feed.fresh()) == [("a.json", 0), ("b.json", 0), ("b.json", 1)]
    assert feed.types == TYPES
    write_json(tmp_path, "c.json", GOOD | {"v": "one"})
    assert rows(feed.fresh()) == [("c.json", 0)]


def test_a_call_looks_into_so_many_files_and_tells_that_there_are_more(tmp_path, monkeypatch):
    for name in "bcdef":
        write(tmp_path, f"{name}.parquet", 1)
    assert opened(tmp_path).holds_back is False
    split, opens = parquet_files.ParquetFiles.split, []
    monkeypatch.setattr(parquet_files.ParquetFiles, "split", lambda self, path: opens.append(path) or split(self, path))
    feed = opened(tmp_path, at_once=2)
    found = [(rows(feed.fresh()), feed.holds_back, len(opens))]
    write(tmp_path, "a.parquet", 1)
    for _ in range(3):
        found.append((rows(feed.fresh()), feed.holds_back, len(opens)))
    write(tmp_path, "g.parquet", 1)
    found.append((rows(feed.fresh()), feed.holds_back, len(opens)))
    assert found == [
        (of(b=1, c=1), True, 2),
        (of(a=1, d=1), True, 4),
        (of(e=1, f=1), False, 6),
        ([], False, 6),
        (of(g=1), False, 7),
    ]


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("stop", range(5))
def test_opened_anew_what_was_read_is_passed_over_some_at_once(tmp_path, stop, at_once):
    for name in "bcde":
        write(tmp_path, f"{name}.parquet", 2)
    read = opened(tmp_path).fresh()[:stop]
    write(tmp_path, "a.parquet", 1)  # after the rest of what was begun, though its name is before
    part = [replace(one, rows=1) for one in read[-1:]]
    feed, found = opened(tmp_path, *read[:-1], *part, at_once=at_once), []
    while True:
        found += feed.fresh()
        if not feed.holds_back:
            break
    last = [(Path(one.path).name, 1) for one in part]
    assert rows(found) == last + of(a=1, **dict.fromkeys("bcde"[stop:], 2))


def test_of_records_that_fit_none_it_is_refused_once_all_files_were_looked_into(tmp_path):
    for name in "abc":
        write_json(tmp_path, f"{name}.json", GOOD | {"v": "one"})
    feed = opened(tmp_path, format_name="json", at_once=2)
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


def test_a_json_file_that_is_written_in_place_is_taken_once_it_stood_still_and_is_whole(tmp_path):
    feed, file = opened(tmp_path, format_name="json", at_once=9), tmp_path / "b.json"
    waits = ([], file, True)
    before = b""
    for text in (LINE[:9], LINE[:9], LINE, LINE + b"\n" + LINE[:1], LINE + b"\n" + LINE[:1]):
        if text != before:  # else its time would change
            file.write_bytes(text)
        assert (feed.fresh(), feed.unfinished, feed.holds_back) == waits
        assert (feed.problem is not None) == (text == before), "told when it stood still, and is not whole"
        before = text
    file.write_bytes(LINE + b"\n" + LINE)
    assert (feed.fresh(), feed.unfinished, feed.holds_back) == waits
    assert (rows(feed.fresh()), feed.unfinished, feed.holds_back) == ([("b.json", 0), ("b.json", 1)], None, False)
    assert feed.fresh() == []


def test_json_files_wait_behind_one_that_is_not_whole_for_names_tell_the_order(tmp_path):
    feed = opened(tmp_path, format_name="json", at_once=9)
    for name in "abd":
        write_json(tmp_path, f"{name}.json", GOOD)
    (tmp_path / "c.json").write_bytes(LINE[:9])
    assert feed.fresh() == []
    assert (rows(feed.fresh()), feed.unfinished) == ([("a.json", 0), ("b.json", 0)], tmp_path / "c.json")
    assert feed.fresh() == []
    (tmp_path / "c.json").write_bytes(LINE)
    assert feed.fresh() == []
    assert rows(feed.fresh()) == [("c.json", 0), ("d.json", 0)]


def test_a_bounded_run_takes_what_is_there(tmp_path):
    feed = opened(write_json(tmp_path, "a.json", GOOD), format_name="json")
    (tmp_path / "b.json").write_bytes(LINE[:9])
    assert rows(feed.fresh()) == [("a.json", 0), ("b.json", 0)]


def test_a_json_file_that_is_empty_keeps_none_waiting_and_is_read_when_it_is_filled(tmp_path):
    feed, found = opened(write_json(tmp_path, "a.json"), format_name="json", at_once=1), []
    write_json(tmp_path, "b.json", GOOD)
    for _ in range(4):
        found += rows(feed.fresh())
    assert (found, feed.holds_back) == ([("b.json", 0)], False)
    write_json(tmp_path, "a.json", GOOD, GOOD)
    for _ in range(4):
        found += rows(feed.fresh())
    assert found == [("b.json", 0), ("a.json", 0), ("a.json", 1)]


def rewrite(file: Path) -> None:
    """The same bytes at another time."""
    after_it = file.stat().st_mtime_ns + 10**9
    file.write_bytes(file.read_bytes())
    os.utime(file, ns=(after_it, after_it))


def put_another(file: Path) -> None:
    """A file of the same size in its place."""
    (file.parent / ".new").write_bytes(bytes(len(file.read_bytes())))
    (file.parent / ".new").rename(file)


CHANGES = {
    "grown": lambda file: file.write_bytes(file.read_bytes() + LINE),
    "shortened": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "emptied": lambda file: file.write_bytes(b""),
    "rewritten": rewrite,
    "replaced": put_another,
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_file_that_changes_after_it_was_taken_is_a_loud_stop_live_and_at_a_restart(tmp_path, suffix, how):
    good = write_json(tmp_path, "a.json", GOOD) if suffix == "json" else write(tmp_path, "a.parquet", 3)
    feed = opened(good, format_name=suffix, at_once=9)
    read = feed.fresh() + feed.fresh()
    assert read
    CHANGES[how](tmp_path / f"a.{suffix}")
    for again in (feed, feed, opened(tmp_path, *read, format_name=suffix, at_once=9)):
        assert "a file of this name was read before" in refusal(again, SourceChanged)


@pytest.mark.parametrize("how", [*CHANGES, "removed"])
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_reader_refuses_a_file_that_is_not_the_one_that_was_taken(tmp_path, suffix, how):
    good = write_json(tmp_path, "a.json", GOOD) if suffix == "json" else write(tmp_path, "a.parquet", 3)
    (segment,) = opened(good, format_name=suffix).fresh()
    assert FORMATS[suffix].read(segment, TYPES).table.num_rows == segment.rows
    (CHANGES | {"removed": Path.unlink})[how](tmp_path / f"a.{suffix}")
    for read in (lambda: FORMATS[suffix].read(segment, TYPES), lambda: FORMATS[suffix].records(segment, [0])):
        with pytest.raises(SourceChanged, match="was removed" if how == "removed" else "was changed since"):
            read()


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("suffix", "arrival"), [("json", None), ("json", "came"), ("parquet", None), ("parquet", "came")]
)
def test_a_file_may_go_once_it_was_read_where_it_is_not_the_history(tmp_path, suffix, arrival, begun):
    columns = replace(COLUMNS, arrival_time=arrival)
    record = GOOD | {"came": 1}
    if suffix == "json":
        write_json(tmp_path, "a.json", record, record)
    else:
        write(tmp_path, "a.parquet", 2, came=[1, 1])
    (whole,) = FileFeed(tmp_path, suffix, columns, {}, {}).fresh()
    before = {f"a.{suffix}": read_files([replace(whole, rows=1) if begun else whole], {})[whole.path]}
    (tmp_path / f"a.{suffix}").unlink()
    feed = FileFeed(tmp_path, suffix, columns, TYPES, before, 9)
    if begun or (suffix, arrival) == ("parquet", "came"):
        assert "it was removed" in refusal(feed, SourceChanged)
    else:
        assert feed.fresh() == []


def test_files_that_go_with_their_directory_may_come_back(tmp_path):
    feed = opened(write(tmp_path / "in", "a.parquet", 1), at_once=9)
    feed.fresh()
    (tmp_path / "in").rename(tmp_path / "away")
    assert not isinstance(refused(feed), SourceChanged)
    (tmp_path / "away").rename(tmp_path / "in")
    assert feed.fresh() == []


def test_of_many_files_that_were_taken_a_look_looks_at_some_in_turn(tmp_path, monkeypatch):
    for name in "abcdefgh":
        write(tmp_path, f"{name}.parquet", 1)
    read = opened(tmp_path).fresh()
    feed, looked, state = opened(tmp_path, *read, at_once=3), [], file_feed.state_of
    monkeypatch.setattr(file_feed, "state_of", lambda file: looked.append(file.name[0]) or state(file))
    for looks in range(1, 9):
        assert feed.fresh() == []
        assert len(looked) == 3 * looks
    assert {*"".join(looked)} == {*"abcdefgh"}
    write(tmp_path, "e.parquet", 2)
    with pytest.raises(SourceChanged):
        _ = [feed.fresh() for _ in range(3)]


FAILS = {"an error": OSError("not now"), "a refusal": refuse("x", "not whole", "whole")}


@pytest.mark.parametrize("failure", FAILS)
@pytest.mark.parametrize("where", ["split", "types"])
@pytest.mark.parametrize("at_once", [None, 9])
def test_a_look_that_fails_has_lost_nothing_nor_doubled_it(tmp_path, monkeypatch, where, failure, at_once):
    monkeypatch.setattr(json_files, "_BYTES_PER_SEGMENT", len(LINE) + 9)
    feed = opened(write_json(tmp_path, "a.json", GOOD, GOOD), format_name="json", at_once=at_once)
    write_json(tmp_path, "b.json", GOOD, GOOD)
    write_json(tmp_path, "c.json", GOOD)
    works = getattr(json_files.JsonFiles, where)

    def fails(self: object, path: Path, *more: object) -> object:
        if path.name == "b.json":
            raise FAILS[failure]
        return works(self, path, *more)

    monkeypatch.setattr(json_files.JsonFiles, where, fails)
    if at_once:
        feed.fresh()
    for _ in range(2):
        with pytest.raises(type(FAILS[failure])):
            feed.fresh()
    monkeypatch.setattr(json_files.JsonFiles, where, works)
    found = feed.fresh() + feed.fresh()
    assert rows(found) == [("a.json", 0), ("a.json", 1), ("b.json", 0), ("b.json", 1), ("c.json", 0)]
    assert rows(opened(tmp_path, *found[:3], format_name="json").fresh()) == rows(found[3:])


def test_what_was_taken_of_a_file_is_as_far_as_it_was_read(tmp_path):
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
            assert before | read_files(order[cut:], before) == whole, "only of these files, and no less than before"


def test_files_of_the_same_name_in_other_directories_are_told_apart():
    both = read_files([Segment("/x/a", 0, 3), Segment("/y/a", 0, 1)], {"/y/a": ReadFile("/y/a", 2, 9, 5)})
    assert {path: one.rows for path, one in both.items()} == {"/x/a": 3, "/y/a": 2}


@pytest.mark.parametrize("row", range(8))
def test_what_comes_after_a_row(row):
    parts = [Segment("a", 0, 3), Segment("a", 3, 0), Segment("a", 3, 4)]
    assert rows(remaining(parts, row)) == [("a", i) for i in range(row, 7)]
    assert all(part.rows for part in remaining(parts, row))


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def replayed(path: Path, rate: float, clock: Clock, *before: Segment) -> ReplayFeed:
    """A replay that begins now."""
    feed = ReplayFeed(opened(path, *before), rate, clock)
    clock.now += 100.0  # what it takes to start is not replayed
    assert feed.fresh() == []
    clock.now += 100.0
    assert feed.fresh() == []
    return feed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name, many in (("a", 5), ("b", 1), ("c", 7)):
        write(tmp_path, f"{name}.parquet", many)
    return tmp_path


WHOLE = of(a=5, b=1, c=7)


@pytest.mark.parametrize("rate", [0.3, 1, 2.5, 1000])
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
def test_a_replay_is_never_ahead_of_its_rate_nor_behind(log, rate, step):
    clock = Clock()
    feed, found = replayed(log, rate, clock), []
    begun = clock.now
    for _ in range(500):
        clock.now += step
        found += feed.fresh()
        assert len(rows(found)) == min(int((clock.now - begun) * rate), len(WHOLE))
    assert rows(found) == WHOLE
    assert not any(segment.rows < 1 for segment in found)


def test_a_replay_tells_the_types_before_it_gives_anything(log):
    feed = ReplayFeed(opened(log), 1, Clock())
    feed.fresh()
    assert (feed.types, feed.version) == (TYPES, 0)


@pytest.mark.parametrize("stop", range(len(WHOLE) + 1))
def test_a_replay_goes_on_over_a_restart_at_any_row(log, stop):
    clock = Clock()
    feed = replayed(log, 1, clock)
    read = []
    for _ in range(stop):
        clock.now += 1
        read += feed.fresh()
    assert len(rows(read)) == stop
    feed = replayed(log, 1, clock, *read)
    for _ in WHOLE:
        clock.now += 1
        more = feed.fresh()
        assert sum(segment.rows for segment in more) <= 1  # the time that it was down is not made up for
        read += more
    assert rows(read) == WHOLE


def test_files_that_come_during_a_replay_are_replayed_too(log):
    clock = Clock()
    feed = replayed(log, 10, clock)
    clock.now += 1.0
    found = feed.fresh()
    write(log, "d.parquet", 3)
    clock.now += 1.0
    assert rows(found + feed.fresh()) == WHOLE + of(d=3)


def test_a_replay_holds_back_until_it_has_given_out_all(log):
    clock = Clock()
    feed = replayed(log, 1, clock)
    left = []
    for _ in range(len(WHOLE) + 1):
        left.append(feed.holds_back)
        clock.now += 1.0
        feed.fresh()
    assert left == [True] * len(WHOLE) + [False]
    write(log, "d.parquet", 2)
    assert (rows(feed.fresh()), feed.holds_back) == (of(d=1), True)


def test_a_replay_holds_back_what_its_log_does(log):
    write(log, "d.parquet", 2)
    feed = ReplayFeed(opened(log, at_once=1), 1000, clock := Clock())
    assert [feed.fresh(), feed.fresh()] == [[], []]
    clock.now += 100.0
    assert (rows(feed.fresh()), feed.holds_back) == (WHOLE, True)
    assert (rows(feed.fresh()), feed.holds_back) == (of(d=2), False)


def test_a_file_that_is_finished_while_it_is_looked_at_is_taken_as_it_is_in_the_end(tmp_path, monkeypatch):
    """Else its size before the last write would stand in the journal, and every reader would refuse it for ever."""
    write(tmp_path, "a.parquet", 3)
    split, looks, times = parquet_files.ParquetFiles.split, [], itertools.count(1)

    def finished_meanwhile(self, path):
        found = split(self, path)
        if not looks:
            looks.append(path)
            os.utime(path, ns=(0, next(times)))
        return found

    monkeypatch.setattr(parquet_files.ParquetFiles, "split", finished_meanwhile)
    feed = opened(tmp_path, at_once=9)
    assert (feed.fresh(), feed.holds_back) == ([], True)
    (segment,) = feed.fresh()
    assert segment.mtime_ns == 1
    assert feed.fresh() == []
    looks.clear()
    with pytest.raises(Refused, match="being written while it is read"):
        opened(tmp_path).fresh()


def test_a_file_must_stand_still_for_a_second_however_fast_the_looks_follow_each_other(tmp_path):
    now = [0.0]
    feed = FileFeed(tmp_path, "json", COLUMNS, {}, {}, 9, lambda: now[0])
    (tmp_path / "a.json").write_bytes(LINE + b"\n")
    for _ in range(8):
        assert feed.fresh() == []
        now[0] += 0.125
    assert rows(feed.fresh()) == [("a.json", 0)]


def test_a_file_that_is_written_for_long_is_told(tmp_path):
    feed, told = opened(tmp_path, format_name="json", at_once=9), []
    for look in range(70):
        (tmp_path / "a.json").write_bytes((LINE + b"\n") * (look + 1))
        assert feed.fresh() == []
        told.append(feed.problem)
    assert told[:60] == [None] * 60
    assert "still being written after 69 s" in told[-1]


def test_a_look_into_large_files_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr("tailrace.sources.file_feed._BYTES_AT_ONCE", 1)
    for name in "abc":
        write(tmp_path, f"{name}.parquet", 2)
    feed = opened(tmp_path, at_once=9)
    looks = [(rows(feed.fresh()), feed.holds_back) for _ in range(4)]
    assert looks == [(of(a=2), True), (of(b=2), True), (of(c=2), False), ([], False)]
