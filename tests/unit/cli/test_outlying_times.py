"""One tuple of twenty years ago: `init`, `validate --source` and `run` name it, its record and the bounds."""

from __future__ import annotations

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import tailrace
from tailrace.correction import outlying_events

HEAD = "id,at,came,value"
OPTIONS = ("own.yaml", "--engine", "local", "--warehouse", "out", "--bounded")
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
aggregate: {total: {function: sum, column: value}}
"""
OLD = "is implausibly old: 2006-03-01T08:00:05.000Z, in 1.csv, line 7; 90% of them lie between 2026-03-01T08:00:00.000Z"


def rows(number: int, old: bool = False) -> str:
    """Return the lines of a file, of one minute, with one record of twenty years ago."""
    times = [f"2026-03-01T08:{number:02}:{second:02}Z" for second in range(20)]
    years = ["2006" if old and second == 5 else "2026" for second in range(20)]
    lines = [
        f"{number}-{each},{year}{time[4:]},{time},1" for each, (time, year) in enumerate(zip(times, years, strict=True))
    ]
    return "\n".join([HEAD, *lines, ""])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(rows(0, old=True))
    (tmp_path / "own.yaml").write_text(QUERY)
    return tmp_path


def said(lines: str) -> list[str]:
    return [line for line in lines.splitlines() if "implausibly" in line]


@pytest.mark.parametrize("has_arrival", [True, False])
def test_it_is_named_with_the_bounds_that_keep_it_out(folder, tailrace, has_arrival):
    if not has_arrival:  # then the stream writes history itself
        (folder / "own.yaml").write_text(QUERY.replace("    arrival_time: came\n", ""))
    for output in (
        tailrace("init", "in").stdout,
        tailrace("validate", "own.yaml", "--source").stdout,
        tailrace("run", *OPTIONS).stderr,
    ):
        (line,) = said(output)
        assert f"1 event time {OLD}" in line
        assert "bounds: {earliest: 2026-02-28} below streams.records sends earlier times to quarantine" in line
    bounded = (folder / "own.yaml").read_text().replace("    id: id", "    id: id\n    bounds: {earliest: 2026-02-28}")
    (folder / "own.yaml").write_text(bounded.replace("name: own", "name: other"))
    run = tailrace("run", *OPTIONS).stderr
    assert said(run) == []
    assert "1 × at out of bounds" in run


def test_a_run_looks_at_what_it_has_read_alone(folder, tailrace):
    assert len(said(tailrace("run", *OPTIONS, "--keep-open").stderr)) == 1
    (folder / "in" / "2.csv").write_text(rows(1))
    assert said(tailrace("run", *OPTIONS, "--keep-open").stderr) == []
    assert said(tailrace("run", *OPTIONS, "--keep-open").stderr) == []


def test_a_record_that_is_alone_in_its_file_is_held_against_the_others(folder, tailrace):
    lines = (folder / "in" / "1.csv").read_text().splitlines()
    for number, line in enumerate(lines[1:]):
        (folder / "in" / f"{number:02}.csv").write_text(f"{HEAD}\n{line}\n")
    (folder / "in" / "1.csv").unlink()
    (line,) = said(tailrace("run", *OPTIONS).stderr)
    assert "in 05.csv, line 2" in line


def test_nothing_is_read_where_no_time_is_far_away(folder, tailrace, monkeypatch):
    (folder / "in" / "1.csv").write_text(rows(0))
    monkeypatch.setattr(outlying_events, "find_outlying", lambda *_: pytest.fail("it was read"))
    assert said(tailrace("run", *OPTIONS).stderr) == []


def test_of_too_many_records_nothing_is_said(folder, tailrace, monkeypatch):
    monkeypatch.setattr(outlying_events, "MOST_ROWS", 19)
    assert said(tailrace("run", *OPTIONS).stderr) == []


def test_a_file_that_was_removed_since_is_a_warning_as_the_answers_are_written(folder):
    records = pc.read_csv(folder / "in" / "1.csv")
    (folder / "in" / "1.csv").unlink()
    pq.write_table(records, folder / "in" / "1.parquet")
    (folder / "own.yaml").write_text(QUERY.replace("format: csv", "format: parquet"))
    run = tailrace.load("own.yaml").run("out", engine="local")
    before = run.lines()
    (folder / "in" / "1.parquet").unlink()
    (warning,) = set(run.lines()) - set(before)
    assert warning.startswith("warning: repeats and implausible times were not looked for, and a correction may fail: ")
    assert warning.endswith("1.parquet: it was removed, and the stream has still to read it, or to correct by it")
    assert run.lines()[0] == before[0]
