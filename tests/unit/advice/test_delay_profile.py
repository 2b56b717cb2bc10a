"""The delay profile of a sample, against a slow one that counts record by record."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tailrace.advice.delay_profile import SHARES, DelayProfile, rounded_up

YEARS = 20 * 365 * 86_400_000
events = st.integers(0, 300_000) | st.just(-YEARS)
records = st.lists(st.tuples(events, st.integers(0, 300_000)), min_size=1, max_size=60)


def waits(records: list[tuple[int, int]]) -> list[int]:
    """Return how far each record, in order of arrival, is behind the latest event before it or its own."""
    latest, found = None, []
    for event, arrival in sorted(records, key=lambda record: record[1]):
        counted = event if event <= arrival + 60_000 else arrival + 60_000
        latest = counted if latest is None or counted > latest else latest
        found.append(latest - event if latest > event else 0)
    return found


@given(records)
def test_the_slack_is_the_least_with_which_so_few_records_come_behind_the_frontier(records):
    event, arrival = (np.array(column, np.int64) for column in zip(*records, strict=True))
    profile = DelayProfile.measure(event, arrival)
    waited = waits(records)
    assert profile.wait.tolist() == waited
    for share in SHARES:
        slack, allowed = profile.slack_ms(share), int(share * len(waited))
        assert sum(wait > slack for wait in waited) <= allowed
        assert slack == 0 or sum(wait > slack - 1 for wait in waited) > allowed


@given(records)
def test_each_record_stands_in_one_bar(records):
    event, arrival = (np.array(column, np.int64) for column in zip(*records, strict=True))
    lines = [*DelayProfile.measure(event, arrival).lines()]
    bars = [line for line in lines if line.startswith("  ") and "median" not in line]
    assert sum(int(line.split()[-1].replace(",", "")) for line in bars) == len(records)
    assert "█" in "".join(bars)


def test_without_arrival_times_the_order_of_the_file_counts():
    profile = DelayProfile.measure(np.array([5000, 1000, 6000]), None)
    assert profile.wait.tolist() == [0, 4000, 0]
    assert profile.delay is None
    assert "in order of the file" in "\n".join(profile.lines())


@given(st.integers(0, 10**12))
@example(10_001)
@example(60_001)
@example(600_001)
@example(36_000_001)
def test_a_rounded_duration_is_never_shorter(value):
    assert value <= rounded_up(value) <= value * 1.1 + 100
