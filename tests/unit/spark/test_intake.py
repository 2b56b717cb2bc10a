"""The journal and what the driver plans: each row is read once, in the order of the log, wherever planning stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.errors import Refused
from tailrace.spark.intake import Intake
from tailrace.spark.journal import Journal
from tailrace.spark.source import share
from tailrace.streams.segments import Segment

# file → the rows of its segments
FILES = {"a": [3, 3, 2], "b": [4], "c": [0], "d": [1, 1]}
WHOLE = [(name, first) for name, rows in FILES.items() for first in range(0, sum(rows))]


def split(file: Path) -> list[Segment]:
    rows = FILES[file.name]
    return [Segment(str(file), sum(rows[:part]), size) for part, size in enumerate(rows)]


def intake(
    directory: Path, names: str = "abcd", settings: str = "{}", batch_rows: int = 4, flush: bool = True
) -> Intake:
    files = [Path("/somewhere") / name for name in names]
    return Intake(Journal(directory), files, split, settings, batch_rows, flush, None)


def rows_read(directory: Path) -> list[tuple[str, int]]:
    """The rows that the journal names, and each segment's place in the log right."""
    found, position = [], 0
    segments = [segment for entry in Journal(directory) for segment in entry.segments]
    for ordinal, segment in enumerate(segments):
        assert (segment.ordinal, segment.position) == (ordinal, position)
        position += segment.rows
        first = segment.first_row
        found += [(Path(segment.path).name, row) for row in range(first, first + segment.rows)]
    return found


@pytest.mark.parametrize("stop", range(6))
@pytest.mark.parametrize("batch_rows", [1, 4, 6, 100])
def test_planning_that_stops_anywhere_goes_on_with_the_next_row(tmp_path, stop, batch_rows):
    first = intake(tmp_path, batch_rows=batch_rows)
    for _ in range(stop):
        first.plan()
    second = intake(tmp_path, batch_rows=batch_rows)
    while second.plan() is not None:
        pass
    assert rows_read(tmp_path) == [row for row in WHOLE if row[0] != "c"]
    entries = list(Journal(tmp_path))
    assert [entry.flush for entry in entries] == [False] * (len(entries) - 1) + [True]
    assert [entry.batch for entry in entries] == list(range(len(entries)))


def test_settings_are_told_once_and_when_they_change(tmp_path):
    first = intake(tmp_path, names="a", flush=False)
    while first.plan() is not None:
        pass
    assert [entry.settings for entry in Journal(tmp_path)] == ["{}", None, None]
    assert intake(tmp_path, names="a", flush=False).plan() is None
    changed = intake(tmp_path, names="a", settings='{"k": 1}', flush=False).plan()
    assert changed is not None
    assert (changed.segments, changed.settings, changed.flush) == ((), '{"k": 1}', False)


def test_nothing_to_read_is_one_batch_that_ends_the_stream(tmp_path):
    entry = intake(tmp_path, names="").plan()
    assert entry is not None
    assert entry.flush
    assert intake(tmp_path, names="").plan() is None  # it has ended


def test_a_file_that_comes_later_is_read_after_those_before_it_whatever_its_name(tmp_path):
    while intake(tmp_path, names="b", flush=False).plan() is not None:
        pass
    while intake(tmp_path, names="ab", flush=False).plan() is not None:
        pass
    assert [name for name, _ in rows_read(tmp_path)] == ["b"] * 4 + ["a"] * 8


def test_a_file_that_comes_between_does_not_hide_the_rest_of_one_that_was_begun(tmp_path):
    intake(tmp_path, names="a", batch_rows=1, flush=False).plan()
    intake(tmp_path, names="ab", batch_rows=1, flush=False).plan()
    while intake(tmp_path, names="abd", batch_rows=1, flush=False).plan() is not None:
        pass
    assert rows_read(tmp_path) == [row for row in WHOLE if row[0] != "c"]
    assert [name for name, _ in rows_read(tmp_path)][:8] == ["a"] * 8


def test_a_file_that_comes_after_the_end_was_planned_is_refused(tmp_path):
    assert intake(tmp_path, names="b").plan().flush
    with pytest.raises(Refused, match="it came after the end of the stream was planned"):
        intake(tmp_path, names="bd")


@pytest.mark.parametrize("readers", [1, 2, 3, 8])
def test_readers_share_an_entry_in_order_and_one_tells_the_head(tmp_path, readers):
    entry = intake(tmp_path, batch_rows=100).plan()
    assert entry is not None
    parts = share(entry, readers)
    assert [segment for _, part in parts for segment in part] == list(entry.segments)
    assert [head is not None for head, _ in parts] == [True] + [False] * (len(parts) - 1)
    assert 1 <= len(parts) <= readers
