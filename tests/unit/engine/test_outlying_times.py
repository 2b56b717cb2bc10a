"""Implausible event times, against a definition by sorting."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.engine.outlying_times import find_outlying
from tailrace.ground.duration import parse_time_ms

DAY_MS = 86_400_000
YEARS_MS = 20 * 365 * DAY_MS


def outlying(times: list[int]):
    """Find the implausible ones of event times at positions that are their numbers."""
    tuples = pa.RecordBatch.from_pydict(
        {"event_time": pa.array(times, pa.int64()), "position": pa.array(range(len(times)), pa.int64())}
    )
    return find_outlying("records", tuples, "record {}".format)


@given(
    st.lists(
        st.one_of(st.integers(0, DAY_MS), st.integers(0, 400 * DAY_MS), st.integers(-YEARS_MS, YEARS_MS)), max_size=60
    )
)
def test_times_far_from_the_middle_are_found(times):
    found, ordered = outlying(times), sorted(times)
    tail = max(1, len(times) // 20)
    middle = ordered[tail : len(times) - tail] if len(times) >= 8 else []
    if not middle:
        assert found is None
        return
    far = max(10 * (middle[-1] - middle[0]), 30 * DAY_MS)
    old = [time for time in times if middle[0] - time > far]
    new = [time for time in times if time - middle[-1] > far]
    if not old and not new:
        assert found is None
        return
    assert (found.old, found.new, found.low, found.high) == (len(old), len(new), middle[0], middle[-1])
    assert found.oldest == (ordered[0], f"record {times.index(ordered[0])}")
    assert found.newest == (ordered[-1], f"record {times.index(ordered[-1])}")


def test_they_are_said_with_their_place_and_what_keeps_them_out():
    start = parse_time_ms("2026-03-01T00:00:00Z")
    times = [start + 60_000 * number for number in range(40)]
    old, new = start - YEARS_MS, start + YEARS_MS
    (line,) = outlying([*times[:5], old, *times[5:]]).lines()
    assert line.startswith(
        "1 event time is implausibly old: 2006-03-06T00:00:00.000Z, in record 5; 90% of them lie between"
    )
    assert line.endswith("bounds: {earliest: 2026-02-28} below streams.records sends earlier times to quarantine")
    first, second = outlying([old, old + 1, *times, new]).lines()
    assert first.startswith("2 event times are implausibly old, the oldest 2006-03-06T00:00:00.000Z, in record 0; ")
    assert second.startswith("1 event time is implausibly new: 2046-02-24T00:00:00.000Z, in record 42; ")
    assert second.endswith("a condition where below streams.records leaves such records out")


def test_a_year_of_records_and_a_late_week_are_plausible():
    assert outlying([number * DAY_MS for number in range(365)]) is None
    assert outlying([*range(100), -7 * DAY_MS]) is None
    assert outlying([*range(100), -20 * DAY_MS, 20 * DAY_MS]) is None
    assert outlying([]) is None
