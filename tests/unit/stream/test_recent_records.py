"""Counts of the newest records: what goes wrong now is not hidden by a long good life."""

from __future__ import annotations

import pytest

from tailrace.stream.recent_records import RecentRecords


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([], (0, 0)),
        ([(0, 5, 1)], (5, 1)),
        ([(0, 5, 1), (59, 2, 0)], (7, 1)),
        ([(0, 5, 1), (60, 2, 0)], (2, 0)),
        ([(0, 1_000_000, 0), (90, 0, 7)], (0, 7)),
        ([(0, 0, 7), (500, 0, 0)], (0, 7)),
        ([(0, 0, 7), (30, 0, 0), (70, 0, 2)], (0, 2)),
    ],
)
def test_the_batches_of_the_minute_before_the_newest_with_records_count(batches, expected):
    recent = RecentRecords()
    for now_s, accepted, rejected in batches:
        recent.add(accepted, rejected, now_s)
    assert tuple(recent.counts.values()) == expected
