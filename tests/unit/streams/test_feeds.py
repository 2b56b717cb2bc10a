"""Files that keep coming, each record given once, in order; and a log that is given out at a rate."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.errors import Refused
from tailrace.streams import parquet_files
from tailrace.streams.check import Columns
from tailrace.streams.feeds import Feed, FileFeed, ReplayFeed, Taken, after, taken
from tailrace.streams.segments import Segment

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
    by_name = {Path(path).name: one for path, one in taken(before, {}).items()}
    return FileFeed(path, format_name, COLUMNS, types or (TYPES if before else {}), by_name, at_once)


def rows(segments: list[Segment]) -> list[tuple[str, int]]:
    return [(Path(s.path).name, row) for s in segments for row in range(s.first_row, s.first_row + s.rows)]


def of(**files: int) -> list[tuple[str, int]]:
    """All rows of files of so many."""
    return [(f"{name}.parquet", row) for name, many in files.items() for row in range(many)]


def refusal(feed: Feed) -> str:
    with pytest.raises(Refused) as refused:
        feed.fresh()
    (problem,) = refused.value.problems
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
    first = Segment(whole.path, 0, row, size=whole.size, of_rows=5)
    assert rows(opened(tmp_path, first).fresh()) == of(b=5)[row:]


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
    before = Segment(whole.path, 0, rows_before, size=whole.size, of_rows=3)
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
    part = [Segment(one.path, 0, 1, size=one.size, of_rows=2) for one in read[-1:]]
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
    assert (rows(feed.fresh()), feed.types, feed.holds_back) == ([("a.json", 0), ("b.json", 0)], {}, True)
    assert "no record has a value of a fitting type" in refusal(feed)
    (tmp_path / "c.json").unlink()
    write_json(tmp_path, "c.json", GOOD)
    feed = opened(tmp_path, format_name="json", at_once=2)
    assert len(feed.fresh() + feed.fresh()) == 3
    assert feed.types == TYPES


def test_what_was_taken_of_a_file_is_as_far_as_it_was_read(tmp_path):
    segments = [
        Segment("/x/a", 0, 3, of_rows=9, size=5),
        Segment("/x/b", 0, 1),
        Segment("/x/a", 3, 2, of_rows=9, size=5),
    ]
    whole = {"/x/a": Taken("/x/a", 5, 9, 5), "/x/b": Taken("/x/b", 1, 0, 0)}
    for order in (segments, segments[::-1]):
        assert taken(order, {}) == whole
        for cut in range(len(order) + 1):
            before = taken(order[:cut], {})
            assert before | taken(order[cut:], before) == whole, "only of these files, and no less than before"


def test_files_of_the_same_name_in_other_directories_are_told_apart():
    both = taken([Segment("/x/a", 0, 3), Segment("/y/a", 0, 1)], {"/y/a": Taken("/y/a", 2, 9, 5)})
    assert {path: one.rows for path, one in both.items()} == {"/x/a": 3, "/y/a": 2}


@pytest.mark.parametrize("row", range(8))
def test_what_comes_after_a_row(row):
    parts = [Segment("a", 0, 3), Segment("a", 3, 0), Segment("a", 3, 4)]
    assert rows(after(parts, row)) == [("a", i) for i in range(row, 7)]
    assert all(part.rows for part in after(parts, row))


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
