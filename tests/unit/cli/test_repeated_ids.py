"""Records that repeat an id: `validate --source` and `run` count them by content, `correct` those with another one.

A status counts the answers that hold them.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tailrace.correction import repeated_answers, repeated_ids

FIRST = """\
id,at,came,value
a,2026-03-01T08:00:01Z,2026-03-01T08:00:02Z,1
b,2026-03-01T08:00:02Z,2026-03-01T08:00:03Z,"2"
a,2026-03-01T08:00:01Z,2026-03-01T08:00:04Z,1
a,2026-03-01T08:00:01Z,2026-03-01T08:00:05Z,7
c,2026-03-01T08:01:01Z,2026-03-01T08:01:02Z,3
"""
SECOND = """\
id,at,came,value
d,2026-03-01T08:02:01Z,2026-03-01T08:02:02Z,1
b,2026-03-01T08:00:03Z,2026-03-01T08:02:03Z,2
c,2026-03-01T08:01:01Z,2026-03-01T08:02:04Z,
d,2026-03-01T08:02:01Z,2026-03-01T08:02:05Z,1
"""
QUERY = """\
name: own
kind: aggregate
streams:
  records:
    source: {format: csv, path: in}
    event_time: at
    arrival_time: came
    id: id
window: 10 s
disorder: {policy: k_slack, k: 1 min}
aggregate: {total: {function: sum, column: value}}
"""
OPTIONS = ("own.yaml", "--engine", "local", "--warehouse", "out")
COMMAND = "tailrace correct own.yaml --warehouse out --engine local"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(FIRST)
    (tmp_path / "own.yaml").write_text(QUERY)
    return tmp_path


def said(lines: str) -> list[str]:
    return [line for line in lines.splitlines() if "an id" in line]


def test_they_are_counted_with_the_place_of_the_first(folder, tailrace):
    one = "1 record repeats an id with other content: the first counts"
    equal = one.replace("other", "equal")
    shown = said(tailrace("validate", "own.yaml", "--source").stdout)
    assert shown == [f"  {equal}; it is 1.csv, line 4", f"  {one}; it is 1.csv, line 5"]
    run = tailrace("run", *OPTIONS, "--bounded", "--keep-open").stderr
    once = f"once {COMMAND} has run"
    assert said(run) == [f"{equal} {once}; it is 1.csv, line 4", f"{one} {once}; it is 1.csv, line 5"]
    (folder / "in" / "2.csv").write_text(SECOND)
    run = tailrace("run", *OPTIONS, "--bounded").stderr
    two = "2 records repeat an id with other content: the first counts"
    shown = [f"{equal} {once}; it is 2.csv, line 5", f"{two} {once}; the first of them is 2.csv, line 3"]
    assert said(run) == shown, "those that it has read"
    assert said(tailrace("run", *OPTIONS, "--bounded").stderr) == [], "nothing new was read"
    three = "3 records repeat an id with other content: the first counts"
    assert said(tailrace("correct", *OPTIONS).stderr) == [f"{three}; the first of them is 1.csv, line 5"]
    of_a_minute = tailrace("correct", *OPTIONS, "--from", "2026-03-01T08:01:00Z", "--to", "2026-03-01T08:02:00Z")
    assert said(of_a_minute.stderr) == [f"{one}; it is 2.csv, line 4"]
    assert said(tailrace("validate", "own.yaml", "--source").stdout) == [
        "  2 records repeat an id with equal content: the first counts; the first of them is 1.csv, line 4",
        f"  {three}; the first of them is 1.csv, line 5",
    ]


def test_a_stream_that_drops_repeats_says_how_many_and_needs_no_correction(folder, tailrace):
    (folder / "own.yaml").write_text(QUERY.replace("k: 1 min", "k: 1 min, deduplicate: true"))
    run = tailrace("run", *OPTIONS, "--bounded").stderr
    assert "2 repeats of ids dropped, by deduplicate" in run
    assert said(run) == ["1 record repeats an id with other content: the first counts; it is 1.csv, line 5"]


def test_records_of_a_log_in_parquet_are_named_by_their_rows(folder, tailrace):
    pq.write_table(pa.csv.read_csv(folder / "in" / "1.csv"), folder / "in" / "1.parquet")
    (folder / "in" / "1.csv").unlink()
    (folder / "own.yaml").write_text(QUERY.replace("format: csv", "format: parquet"))
    run = tailrace("run", *OPTIONS, "--bounded", "--correct").stderr
    other = "1 record repeats an id with other content: the first counts; it is 1.parquet, row 4"
    assert said(run) == [other.replace("other", "equal").replace("row 4", "row 3"), other, other]


def test_of_too_many_records_to_read_this_is_said(folder, tailrace, monkeypatch):
    monkeypatch.setattr(repeated_ids, "AT_ONCE", 3)
    run = tailrace("run", *OPTIONS, "--bounded").stderr
    assert said(run) == ["too many records may repeat an id to be read: whether with other content was not looked at"]


def test_a_status_says_how_many_answers_with_repeats_wait_for_a_correction(folder, tailrace, monkeypatch):
    """They came on time: nothing is late, and only a correction drops them."""
    command = f"tailrace correct {folder}/own.yaml --warehouse {folder}/out"

    def waiting() -> list[str]:
        return [
            line for line in tailrace("status", "own", "--warehouse", "out").stdout.splitlines() if "repeat" in line
        ]

    tailrace("run", *OPTIONS, "--bounded")
    assert waiting() == [f"1 answer with repeats of ids to correct: {command}"]
    tailrace("correct", *OPTIONS)
    assert waiting() == []
    (folder / "in" / "2.csv").write_text(SECOND.replace("2026-03-01", "2026-03-02"))
    tailrace("run", *OPTIONS, "--bounded")
    assert waiting() == [f"2 answers with repeats of ids to correct: {command}"], "of windows that closed after it"
    with monkeypatch.context() as patch:
        patch.setattr(repeated_answers, "AT_ONCE", 1)
        assert "whether answers count repeats was not looked at" in waiting()[0]
    tailrace("correct", *OPTIONS, "--arrived-from", "2026-03-02T00:00:00Z", "--arrived-to", "2026-03-02T08:02:06Z")
    assert waiting() == []
    monkeypatch.setattr(repeated_answers, "AT_ONCE", 1)
    assert waiting() == [], "what is corrected is not read, however much it is"
