"""The state of a stream in a word: the worst that is true comes first."""

from __future__ import annotations

import pytest

from tailrace.console.stream_state import state_of
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.storage.status import Status

NOW = 1_800_000_000_000


def state(driver="running", exit_code=None, detail="", begun=True, silent_ms=500, report=True, **fields):
    """The state of a stream whose driver reported so long ago."""
    alive = driver in ("starting", "running", "stopping")
    hosted = Driver("readings", driver, 7 if alive else None, exit_code, detail)
    reported = Status(
        **{"state": "streaming", "pid": 7, "started_ms": 0, "at_ms": NOW - silent_ms, "batches": 1, **fields}
    )
    return state_of(DriverStatus(hosted, reported if report else None, NOW), begun)


@pytest.mark.parametrize(
    ("fields", "word", "tone"),
    [
        ({"rows": 5}, "running", "good"),
        ({"state": "waiting", "rows": 5}, "waiting", "good"),
        ({"state": "waiting", "rows": 5, "committed_at_ms": NOW - 9_000}, "running", "good"),
        ({"state": "waiting", "rows": 5, "committed_at_ms": NOW - 10_000}, "waiting", "good"),
        ({"state": "quiet", "rows": 5}, "quiet", "good"),
        ({"state": "starting"}, "starting", "warn"),
        ({"state": "starting", "problem": "disk: full"}, "starting", "bad"),
        ({"report": False}, "starting", "warn"),
        ({"state": "starting", "silent_ms": 300_000}, "starting", "bad"),
        ({"driver": "starting", "rows": 5}, "starting", "warn"),
        ({"state": "drained"}, "starting", "warn"),
        ({"silent_ms": 60_000}, "hung", "bad"),
        ({"busy_ms": 61_000, "batch_ms": 1_000, "busy_rows": 9, "committed_at_ms": 1}, "hung", "bad"),
        ({"busy_ms": 61_000, "batch_ms": 20_000, "busy_rows": 9, "committed_at_ms": 1}, "running", "good"),
        ({"busy_ms": 61_000, "busy_rows": 5_000_000}, "running", "good"),
        ({"busy_ms": 299_000, "busy_rows": 5_000_000}, "running", "good"),
        ({"busy_ms": 301_000, "busy_rows": 9}, "hung", "bad"),
        ({"problem": "source: column x is missing"}, "broken", "bad"),
        ({"problem": "awaited source: /in is gone", "is_awaiting": True}, "waiting", "warn"),
        ({"state": "held", "problem": "buffer of postgres: it lacked answers for more than 1 d"}, "held", "bad"),
        ({"quarantined": 9}, "broken", "bad"),
        ({"quarantined": 9, "rows": 1}, "running", "warn"),
        ({"quarantined": 9, "rows": 10, "recent_rows": 10}, "running", "good"),
        ({"quarantined": 9, "rows": 1_000, "recent_quarantined": 9}, "broken", "bad"),
        ({"quarantined": 9, "rows": 1_000, "recent_quarantined": 9, "recent_rows": 8}, "running", "warn"),
        ({"rows": 9, "at_ms": NOW + 60_000}, "running", "warn"),
        ({"filtered": 9}, "running", "warn"),
        ({"filtered": 9, "unmatched": 9}, "running", "warn"),
        ({"rows": 1, "ahead": "a#1 is a year ahead"}, "running", "warn"),
        ({"driver": "failed", "exit_code": 2, "detail": "exit code 2"}, "broken", "bad"),
        ({"driver": "failed", "exit_code": 3}, "crash loop", "bad"),
        ({"driver": "stopping"}, "stopping", "idle"),
        ({"driver": "stopping", "silent_ms": 120_000}, "stopping", "bad"),
        ({"driver": "absent", "report": False}, "unknown", "bad"),
        ({"driver": "absent", "begun": False, "report": False}, "not deployed", "idle"),
        ({"driver": "ended", "exit_code": 0, "begun": False, "report": False}, "stopped", "idle"),
        ({"driver": "running", "begun": False, "report": False}, "broken", "bad"),
        ({"driver": "absent", "state": "drained"}, "drained", "idle"),
        ({"driver": "ended", "exit_code": 0, "state": "ended"}, "ended", "idle"),
        ({"driver": "ended", "exit_code": 130, "silent_ms": 600_000}, "stopped", "idle"),
        ({"driver": "absent", "silent_ms": 600_000}, "stopped", "bad"),
        ({"driver": "absent", "rows": 3}, "running", "good"),
        ({"driver": "absent", "state": "stopped"}, "stopped", "bad"),
        ({"driver": "ended", "exit_code": 130, "state": "stopped"}, "stopped", "idle"),
        ({"state": "stopped"}, "starting", "warn"),
    ],
)
def test_a_stream_has_the_word_and_the_tone_of_the_worst_that_is_true(fields, word, tone):
    found = state(**fields)
    assert (found.word, found.tone) == (word, tone)


def test_a_problem_with_a_deadline_says_when_the_driver_ends():
    assert state(problem="source: gone", gives_up_ms=NOW).why.splitlines() == [
        "source: gone",
        "unless that is over by 2027-01-15T08:00:00.000Z, its driver ends then",
    ]
    assert state(problem="source: gone").why == "source: gone"


@pytest.mark.parametrize("tone", ["bad", "warn"])
def test_what_needs_attention_says_why(tone):
    found = {
        "bad": state(problem="source: column x is missing", driver="failed", exit_code=2, detail="exit code 2"),
        "warn": state(problem="awaited source: /in is gone", is_awaiting=True),
    }[tone]
    assert found.tone == tone
    assert {"bad": "exit code 2; source: column x is missing", "warn": "/in is gone"}[tone] in found.why


def test_a_driver_that_its_host_forgot_says_when_it_ended_and_with_what_problem():
    found = state("absent", state="stopped", problem="source: column x is missing")
    assert "of 2027-01-15T07:59:59.500Z, says that it was interrupted, or failed; source: column x is miss" in found.why
    assert state("absent", state="stopped").why.endswith("or failed")


@pytest.mark.parametrize("over", ["drained", "ended"])
def test_a_stream_that_rejected_every_record_is_not_well_at_its_end(over):
    found = state("absent", state=over, quarantined=9, rejected_for="9 × v is NaN")
    assert (found.word, found.tone, found.why) == ("broken", "bad", "it has rejected every record: 9 × v is NaN")
    assert state("absent", state=over, quarantined=9, rows=1).tone == "idle"


def test_no_reason_quotes_a_record():
    rejected = {"rejected": "9 × v is NaN, as a#1 SECRET", "rejected_for": "9 × v is NaN", "ahead": "a#1 SECRET"}
    for fields in (
        {"quarantined": 9},
        {"quarantined": 9, "rows": 1},
        {"recent_quarantined": 9, "rows": 5},
        {"rows": 5},
    ):
        found = state(**rejected, **fields)
        assert "SECRET" not in found.why
        assert found.tone in ("bad", "warn")
