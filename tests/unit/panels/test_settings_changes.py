"""The changes of the settings, from rows of the table `facts`."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kit.runs.late_tables import SCHEMA
from tailrace.ground.arrow.times import with_times
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.panels.settings_changes import QUIET, describe, read_changes, within_range
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


@pytest.fixture
def tables(tmp_path) -> Tables:
    """Facts as the driver stamps them, in files in any order: two settings, a quiet time after each, and a plan."""
    tables = Tables(Layout(tmp_path / "readings"))
    tables.create({"facts": SCHEMA["facts"]})
    first, second = {"policy": "k_slack", "k": "200 ms"}, {"policy": "k_slack", "k": "350 ms"}
    rows = [(2, 50, second, "quiet: up to 5"), (2, 20, second, "found"), (1, 0, first, "declared")]
    rows += [(1, 12, first, "quiet: up to 1")]
    for version, tick, value, evidence in rows:
        row = {"about": "settings", "version": version, "from_tick": tick, "value": json.dumps(value)}
        tables.add("facts", pa.Table.from_pylist([row | {"evidence": evidence}], SCHEMA["facts"]))
    plan = {"about": "plan", "version": 7, "from_segment": 3, "value": "{}", "evidence": "balanced"}
    tables.add("facts", pa.Table.from_pylist([plan], SCHEMA["facts"]))
    return tables


def test_a_quiet_time_is_no_change_of_the_settings(tables):
    changes = read_changes(tables, 100, BEFORE_ALL)
    assert [(change.at, change.version, change.what) for change in changes] == [
        (None, 1, "policy k_slack, K 200 ms"),
        (1_200, 1, QUIET),
        (2_000, 2, "K 200 ms → 350 ms"),
        (5_000, 2, QUIET),
    ]


def test_settings_of_a_tuple_to_come_follow_what_is_committed_and_are_not_from_the_beginning(tables):
    tables.create({"metrics": SCHEMA["metrics"]})
    ticks = [dict.fromkeys(SCHEMA["metrics"].names) | {"newest_tick": n, "committed": 100 * n} for n in (15, 30)]
    tables.add("metrics", with_times(pa.Table.from_pylist(ticks), SCHEMA["metrics"]))
    assert [change.at for change in read_changes(tables, 0, BEFORE_ALL)] == [None, 1_500, 3_000, 3_000]


def test_what_was_in_force_at_the_beginning_of_a_range_is_no_quiet_time(tables):
    changes = read_changes(tables, 100, BEFORE_ALL)
    assert [change.at for change in within_range(changes, 1_500, 3_000)] == [None, 2_000]
    assert [change.at for change in within_range(changes, 2_000, 5_000)] == [2_000, 5_000]


@pytest.mark.parametrize(
    ("since", "read"), [(0, 4), (1_199, 4), (1_500, 4), (1_999, 4), (2_000, 2), (4_000, 2), (9_000, 2)]
)
def test_only_what_is_in_force_at_a_time_and_what_follows_is_read(tables, since, read):
    every = read_changes(tables, 100, BEFORE_ALL)
    assert read_changes(tables, 100, since) == every[-read:]
    for high in (2_000, 9_999):
        assert within_range(every[-read:], since, high) == within_range(every, since, high)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({"policy": "none"}, {"policy": "k_slack", "k": "1 s"}, "policy none → k_slack, K none → 1 s"),
        (
            {"policy": "cache_duration", "initial": "2 s"},
            {"policy": "k_slack", "k": "2 s"},
            "policy cache_duration → k_slack",
        ),
        ({"error": 0.1, "of": None}, {"error": 0.05, "of": ["a", "b"]}, "error 0.1 → 0.05, of none → a, b"),
        ({"error": 0.1}, {"error": 0.1}, "the same settings"),
    ],
)
def test_a_change_is_described_by_what_differs(before, after, what):
    assert describe(before, after) == what


def test_without_facts_there_is_no_change(tmp_path):
    assert read_changes(Tables(Layout(tmp_path / "readings")), 100, BEFORE_ALL) == []
