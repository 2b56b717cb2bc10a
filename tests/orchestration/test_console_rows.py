"""The rows of Streams: what they say of a query's driver and tables."""

from __future__ import annotations

import json

import pytest

from tailrace.console.stream_rows import restarts_lately
from tailrace.drivers.launch import pause, starts_file

NOW_S = 1_700_000_000.0
DAY_S = 86_400


@pytest.mark.parametrize(
    ("restarts", "number"),
    [([], 0), ([NOW_S - DAY_S - 1], 0), ([NOW_S - DAY_S - 1, NOW_S - DAY_S + 1, NOW_S, NOW_S + 60], 2)],
)
def test_the_restarts_of_the_last_day_count(layout, restarts, number):
    file = starts_file(layout.home)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"restarts": restarts, "given_up": False}))
    assert restarts_lately(layout, NOW_S) == number


def test_a_first_start_is_no_restart(layout):
    assert restarts_lately(layout, NOW_S) is None, "none was counted"
    pause(layout.home, 5, 600, NOW_S - 10)
    assert restarts_lately(layout, NOW_S) == 0
    pause(layout.home, 5, 600, NOW_S - 5)
    assert restarts_lately(layout, NOW_S) == 1


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"restarts": ["a"]}'])
def test_a_damaged_count_is_unknown(layout, text):
    file = starts_file(layout.home)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert restarts_lately(layout, NOW_S) is None
