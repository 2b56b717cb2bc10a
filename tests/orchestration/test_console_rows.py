"""The rows of Streams: what they say of a query's driver and tables."""

from __future__ import annotations

import pytest

from tailrace.console.stream_rows import restarts_lately
from tailrace.console.stream_state import Observation
from tailrace.drivers.launch import earlier_restarts_file, pause, reset_restarts, starts_file

NOW_S = 1_700_000_000.0
DAY_S = 86_400


@pytest.mark.parametrize(
    ("restarts", "number"),
    [([], 0), ([NOW_S - DAY_S - 1], 0), ([NOW_S - DAY_S - 1, NOW_S - DAY_S + 1, NOW_S, NOW_S + 60], 2)],
)
def test_the_restarts_of_the_last_day_count(layout, restarts, number):
    assert restarts_lately(restarts, NOW_S) == number


def counted(layout, now_s=NOW_S):
    return restarts_lately(Observation.read(layout, None, None, None).all_restarts_s, now_s)


def test_a_first_start_is_no_restart(layout):
    assert counted(layout) is None, "none was counted"
    pause(layout.home, 5, 600, NOW_S - 10)
    assert counted(layout) == 0
    pause(layout.home, 5, 600, NOW_S - 5)
    assert counted(layout) == 1


def test_a_restart_counts_for_a_day_also_where_no_crash_loop_is_as_long(layout):
    for ago_s in (DAY_S + 1, 7_200, 3_600, 0):
        assert pause(layout.home, 1, 600, NOW_S - ago_s) is not None
    assert counted(layout) == 3


def test_a_restart_counts_for_a_day_also_after_deployments(layout):
    for ago_s in (DAY_S + 1, 7_200, 3_600):
        pause(layout.home, 5, 600, NOW_S - ago_s)
    for ago_s in (3_000, 2_999):  # the second one without a start between
        reset_restarts(layout.home, NOW_S - ago_s)
    assert pause(layout.home, 1, 600, NOW_S - 2_000) == 0, "for a crash loop the count begins anew"
    assert counted(layout) == 2
    pause(layout.home, 5, 600, NOW_S - 1_000)
    assert counted(layout) == 3
    assert Observation.read(layout, None, None, None).restarts_s == [NOW_S - 1_000], "its driver died once"
    earlier_restarts_file(layout.home).write_text("{}")
    assert counted(layout) is None, "damaged: more than are counted"
    reset_restarts(layout.home, NOW_S + DAY_S)
    assert pause(layout.home, 5, 600, NOW_S + DAY_S) == 0
    assert counted(layout, NOW_S + DAY_S) == 0, "a deployment begins a file that can be read"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"restarts": ["a"]}'])
def test_a_damaged_count_is_unknown(layout, text):
    file = starts_file(layout.home)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert counted(layout) is None
