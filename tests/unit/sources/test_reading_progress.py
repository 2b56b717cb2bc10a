"""Reading progress in files, and the segments that remain after it."""

from __future__ import annotations

import pytest

from kit.runs.file_feeds import rows
from tailrace.sources.reading_progress import ReadFile, read_files, remaining
from tailrace.sources.segments import Segment


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
