"""Files that are still being written are taken once they are unchanged and complete."""

from __future__ import annotations

from kit.runs.file_feeds import COLUMNS, GOOD, LINE, make_feed, rows, write_json
from tailrace.sources.discovery.file_feed import FileFeed


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


def test_a_file_must_be_unchanged_for_a_second_however_often_it_is_polled(tmp_path):
    now = [0.0]
    feed = FileFeed(tmp_path, "json", COLUMNS, {}, (), 9, lambda: now[0])
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
