"""The log of a watch: warnings first, then a short line for each fact that has changed."""

from __future__ import annotations

import pytest

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.health_log import FACTS_EVERY_S, HealthLog
from tailrace.storage.status import Status

WRONG = "source: /in/b.csv: it has no column 'v'\n    right would be: w"


@pytest.fixture
def log(place, layout):
    return HealthLog(layout, place / "queries" / "readings.yaml", hang_after_s=60, patience_s=1800)


def status(at_ms=1, pid=1, **reported):
    state = reported.pop("state", "streaming")
    return DriverStatus(Driver("readings", "running", pid, None, ""), Status(state, 1, 0, at_ms, 3, **reported), at_ms)


def test_the_first_lines_of_a_stream_with_a_wrong_column_are_warnings_of_it(log):
    lines = log.observe(status(problem=WRONG, gives_up_ms=60_000, state="waiting"), "", 0)
    end = (
        "put right before 1970-01-01T00:01:00.000Z, the stream goes on; else its driver ends then, and supervise fails"
    )
    assert [line.text for line in lines if line.is_warning] == [
        "readings: source: /in/b.csv: it has no column 'v'",
        "    right would be: w",
        f"    {end}",
    ]
    assert [line.is_warning for line in lines[:4]] == [True, True, True, False]
    assert lines[3].text == "readings: running, pid 1"


def test_each_fact_is_a_short_line_of_its_own(log):
    lines = log.observe(status(rows=1000, late=3, filtered=5, committed=0, frontier=0, k_ms=200, coverage=0.5), "", 0)
    assert [line.text for line in lines] == [
        "readings: running, pid 1",
        "streaming",
        "3 batches",
        "0 rows to read",
        "committed up to 1970-01-01T00:00:00.000Z",
        "frontier 1970-01-01T00:00:00.000Z",
        "K 200 ms",
        "coverage 50.00%",
        "0 streamed answers",
        "1,000 accepted, 3 late",
        "5 filtered",
    ]


def test_facts_come_once_a_minute_and_only_those_that_have_changed(log):
    log.observe(status(rows=1), "", 0)
    assert log.observe(status(2, rows=2), "", FACTS_EVERY_S - 1) == []
    later = log.observe(status(3, rows=2), "", FACTS_EVERY_S)
    assert [line.text for line in later] == ["readings: running, pid 1", "2 accepted, 0 late"]
    unchanged = log.observe(status(4, rows=2), "", 2 * FACTS_EVERY_S)
    assert [line.text for line in unchanged] == ["readings: running, pid 1"], (
        "so that the log shows that someone watches"
    )


def test_a_change_of_the_driver_comes_at_once(log):
    log.observe(status(), "", 0)
    lines = log.observe(status(2, state="quiet"), "", 1)
    assert [line.text for line in lines][1].startswith("quiet: nothing came for so long")


def test_a_host_that_does_not_answer_is_warned_of_in_lines_of_their_own(log):
    lines = log.observe(None, "no answer", 0)
    assert len(lines) == 2
    assert all(line.is_warning and "\n" not in line.text for line in lines)
    assert log.observe(None, "no answer at all", 5) == []
