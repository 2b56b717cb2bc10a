"""A feed of files returns each record exactly once, in order, over restarts."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.parts.source_mappings import with_uses
from kit.runs.file_feeds import COLUMNS, GOOD, LINE, TYPES, all_rows, make_feed, refusal, rows, write, write_json
from tailrace.ground.errors import Refused, Unfit, refuse
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.formats import json_files, parquet_files
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.formats.required_columns import MissingColumn


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
    monkeypatch.setattr(parquet_files, "ROWS_PER_SEGMENT", 2)
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
    monkeypatch.setattr(parquet_files, "ROWS_PER_SEGMENT", 2)
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
    pq.write_table(pa.table({"event": [1], "key": ["a"], "v": [1.0]}), tmp_path / "c.parquet")
    assert "no column 'id'" in refusal(feed)


def test_a_source_without_a_record_of_fitting_types_is_refused(tmp_path):
    write_json(tmp_path, "a.json", GOOD | {"v": "one"}, GOOD | {"event": None})
    message = refusal(make_feed(tmp_path, format_name="json"))
    assert message == f"{tmp_path}: no record has a value of a fitting type in each of event, id, key, v"


def test_a_column_that_records_may_leave_out_is_missing_where_no_file_has_it(tmp_path):
    more = with_uses(COLUMNS, carried={"left_more": "more"})
    for number, value in enumerate([{}, {}, {"More": 1}]):
        write_json(tmp_path, f"{number}.json", GOOD | value)
    feed = FileFeed(tmp_path, "json", more, {}, (), 2, count(0, 10).__next__)
    assert (len(feed.fresh()), feed.holds_back) == (0, True), "it is seen for the first time"
    assert (len(feed.fresh()), feed.types) == (2, {})
    feed.fresh()
    with pytest.raises(MissingColumn) as refused:
        feed.fresh()
    (problem,) = refused.value.problems
    assert (problem.where, problem.remedy.partition(";")[0]) == (str(tmp_path), "More")
    (tmp_path / "0.json").unlink()
    assert "no record has a value" in refusal(feed), "a file that was read and is gone may have had it"
    write_json(tmp_path, "0.json", GOOD | {"more": None})
    assert "no record has a value" in refusal(FileFeed(tmp_path, "json", more, {}, ())), "it is null so far"


def test_a_column_whose_type_is_known_is_not_missing_beside_another_that_a_later_file_lacks(tmp_path):
    write_json(tmp_path, "0.json", GOOD | {"more": 1})
    feed = FileFeed(tmp_path, "json", with_uses(COLUMNS, carried={"left_more": "more"}), {}, ())
    assert len(feed.fresh()) == 1
    (tmp_path / "0.json").unlink()
    write_json(tmp_path, "1.json", {"event": 1, "key": "a", "v": 1.0})
    feed = FileFeed(tmp_path, "json", feed.columns, feed.types, ())
    with pytest.raises(MissingColumn) as refused:
        feed.fresh()
    assert ["no column 'id'" in problem.fault for problem in refused.value.problems] == [True]


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    "write_unfit",
    [
        lambda path: pq.write_table(pa.table({"event": [1]}), path / "a.parquet"),
        lambda path: write(path, "a.parquet", 1, v=pa.array(["one"])),
        lambda path: write(path, "a.parquet", 1, event=pa.array(["soon"])),
    ],
    ids=["no column", "a text for a number", "a text for a time"],
)
def test_columns_and_types_that_do_not_fit_are_told_from_a_source_that_is_away(tmp_path, write_unfit, live):
    with pytest.raises(Refused) as away:
        make_feed(tmp_path / "gone", at_once=9 if live else None).fresh()
    assert type(away.value) is Refused
    write_unfit(tmp_path)
    with pytest.raises(Unfit):
        make_feed(tmp_path, at_once=9 if live else None).fresh()


def test_records_without_a_fitting_value_are_unfit_and_a_damaged_file_is_not(tmp_path):
    write_json(tmp_path / "json", "a.json", GOOD | {"v": "one"})
    with pytest.raises(Unfit):
        make_feed(tmp_path / "json", format_name="json").fresh()
    (tmp_path / "a.parquet").write_bytes(b"PAR1 half")
    with pytest.raises(Refused) as damaged:
        make_feed(tmp_path).fresh()
    assert type(damaged.value) is Refused, "it may be whole soon"


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


FAILS = {"an error": OSError("not now"), "a refusal": refuse("x", "not whole", "whole")}


@pytest.mark.parametrize("failure", FAILS)
@pytest.mark.parametrize("where", ["split", "types"])
@pytest.mark.parametrize("at_once", [None, 9])
def test_a_call_that_fails_neither_loses_nor_repeats_a_segment(tmp_path, monkeypatch, where, failure, at_once):
    monkeypatch.setattr(json_files, "BYTES_PER_SEGMENT", len(LINE) + 9)
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


def test_a_call_that_opens_large_files_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr("tailrace.sources.discovery.file_feed.BYTES_AT_ONCE", 1)
    for name in "abc":
        write(tmp_path, f"{name}.parquet", 2)
    feed = make_feed(tmp_path, at_once=9)
    calls = [(rows(feed.fresh()), feed.holds_back) for _ in range(4)]
    assert calls == [(all_rows(a=2), True), (all_rows(b=2), True), (all_rows(c=2), False), ([], False)]


MORE = with_uses(COLUMNS, carried={"left_more": "more"})


def feed_of(directory, types=None, before=(), at_once=None) -> FileFeed:
    return FileFeed(directory, "parquet", MORE, types or {}, {}, at_once)


def values_of(feed: FileFeed, name: str) -> list[object]:
    segments = feed.fresh()
    tables = [FORMATS["parquet"].read(segment, feed.types).table for segment in segments]
    return [value for table in tables for value in table[name].to_pylist()]


@pytest.mark.parametrize("at_once", [None, 2])
def test_files_older_than_an_added_column_have_null_there(tmp_path, at_once) -> None:
    for name in "abc":
        write(tmp_path, f"{name}.parquet", 1)
    write(tmp_path, "d.parquet", 2, more=[7, None])
    feed = feed_of(tmp_path, at_once=at_once)
    values = values_of(feed, "more")
    assert feed.types["more"] == "int64"
    assert values + (values_of(feed, "more") if at_once else []) == [None, None, None, 7, None]


def test_a_column_that_no_file_has_or_that_the_newest_lacks_is_refused(tmp_path) -> None:
    write(tmp_path, "a.parquet", 1)
    assert (
        refusal(feed_of(tmp_path))
        == f"{tmp_path}/a.parquet: it has no column 'more', which the query names as left_more"
    )
    write(tmp_path, "b.parquet", 1, more=[7])
    feed = feed_of(tmp_path)
    assert len(feed.fresh()) == 2
    write(tmp_path, "c.parquet", 1)
    assert refusal(feed).startswith(f"{tmp_path}/c.parquet: it has no column 'more'")


def test_a_column_of_answers_that_is_null_throughout_is_text_or_what_a_later_file_says(tmp_path) -> None:
    write(tmp_path, "a.parquet", 2, more=[None, None])
    feed = feed_of(tmp_path)
    assert (values_of(feed, "more"), feed.types["more"]) == ([None, None], "string")
    write(tmp_path, "b.parquet", 1, more=[1.5])
    write(tmp_path, "c.parquet", 1, more=[None])
    for at_once in (None, 2):
        assert values_of(feed := feed_of(tmp_path, at_once=at_once), "more")[:3] == [None, None, 1.5]
        assert feed.types["more"] == "double"
    write(tmp_path, "c.parquet", 1, more=[2.5])
    values_of(feed := feed_of(tmp_path, at_once=1), "more")
    assert feed.types["more"] == "double", "of the newest file, where no other is read yet"


def test_a_column_of_values_that_is_null_throughout_tells_no_types(tmp_path) -> None:
    write(tmp_path, "a.parquet", 2, v=[None, None], more=[1, 2])
    assert "no record has a value of a fitting type in each of event, id, key, v, more" in refusal(feed_of(tmp_path))
    write(tmp_path, "b.parquet", 1, v=[1.5], more=[1])
    feed = feed_of(tmp_path)
    assert (values_of(feed, "v"), feed.types["v"]) == ([None, None, 1.5], "double")
