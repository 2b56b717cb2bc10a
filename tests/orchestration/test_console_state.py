"""The state of a stream in a word: the worst that is true comes first."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.console.stream_state import Observation, state_of
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.launch import starts_file
from tailrace.storage.layout import Layout
from tailrace.storage.status import OVER, Status

NOW = 1_800_000_000_000
STARTED = NOW - 600_000
ALIVE = ("starting", "running", "stopping")
WORDS = {
    *("not deployed", "deploying", "starting", "restarting", "running", "idle", "awaiting its source", "held"),
    *("draining", "stopping", "drained", "ended", "stopped", "given up", "hung", "broken", "unknown"),
}


def observed(driver="running", exit_code=None, detail="", silent_ms=500, report=True, times=(None, None), **fields):
    """A stream whose driver reported so long ago; a host that is down has the driver None."""
    hosted = driver and Driver("readings", driver, 7 if driver in ALIVE else None, exit_code, detail, *times)
    seen = {name: fields.pop(name) for name in Observation.__dataclass_fields__.keys() & fields.keys()}
    at_ms = NOW - silent_ms
    status = {"state": "streaming", "pid": 7, "started_ms": STARTED, "at_ms": at_ms, "batches": 1, "since_ms": STARTED}
    return Observation(hosted, Status(**status | fields) if report else None, NOW, **seen)


def state(*driver, **fields):
    return state_of(observed(*driver, **fields))


@pytest.mark.parametrize(
    ("fields", "word", "tone"),
    [
        ({"rows": 5}, "running", "good"),
        ({"state": "waiting", "rows": 5}, "running", "good"),
        ({"state": "waiting", "rows": 5, "is_idle": True}, "idle", "good"),
        ({"state": "streaming", "rows": 5, "is_idle": True}, "idle", "good"),
        ({"state": "starting"}, "starting", "idle"),
        ({"state": "starting", "problem": "disk: full"}, "starting", "bad"),
        ({"report": False}, "starting", "idle"),
        ({"report": False, "times": (NOW - 300_000, None)}, "starting", "bad"),
        ({"state": "starting", "silent_ms": 300_000}, "starting", "bad"),
        ({"driver": "starting", "rows": 5}, "starting", "idle"),
        ({"driver": "starting", "rows": 5, "times": (STARTED, NOW - 1_000)}, "restarting", "warn"),
        ({"state": "drained"}, "starting", "idle"),
        ({"silent_ms": 60_000}, "hung", "bad"),
        ({"busy_ms": 61_000, "batch_ms": 1_000, "busy_rows": 9, "committed_at_ms": 1}, "hung", "bad"),
        ({"busy_ms": 61_000, "batch_ms": 20_000, "busy_rows": 9, "committed_at_ms": 1}, "running", "good"),
        ({"busy_ms": 61_000, "busy_rows": 5_000_000}, "running", "good"),
        ({"busy_ms": 299_000, "busy_rows": 5_000_000}, "running", "good"),
        ({"busy_ms": 301_000, "busy_rows": 9}, "hung", "bad"),
        ({"problem": "source: column x is missing"}, "broken", "bad"),
        ({"problem": "awaited source: /in is gone", "is_awaiting": True}, "awaiting its source", "warn"),
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
        ({"driver": "failed", "exit_code": 2, "detail": "exit code 2"}, "given up", "bad"),
        ({"driver": "failed", "exit_code": 3}, "given up", "bad"),
        ({"driver": "failed", "exit_code": 3, "deploying_ms": NOW - 9}, "deploying", "idle"),
        ({"driver": "stopping"}, "stopping", "idle"),
        ({"driver": "stopping", "silent_ms": 120_000}, "stopping", "bad"),
        ({"is_draining": True}, "draining", "idle"),
        ({"is_draining": True, "silent_ms": 120_000}, "draining", "bad"),
        ({"is_draining": True, "state": "starting"}, "draining", "idle"),
        ({"is_draining": True, "state": "drained"}, "draining", "idle"),
        ({"is_draining": True, "driver": "absent"}, "draining", "idle"),
        ({"driver": "absent", "report": False}, "unknown", "bad"),
        ({"driver": "absent", "has_run": False, "report": False}, "not deployed", "idle"),
        ({"driver": "absent", "has_run": False, "report": False, "deploying_ms": NOW - 9}, "deploying", "idle"),
        ({"driver": "absent", "report": False, "deploying_ms": NOW - 300_000}, "deploying", "warn"),
        ({"driver": "absent", "state": "drained", "deploying_ms": NOW - 9}, "deploying", "idle"),
        ({"driver": "ended", "exit_code": 0, "is_begun": False, "has_run": False, "report": False}, "stopped", "idle"),
        ({"driver": "running", "is_begun": False, "has_run": False, "report": False}, "broken", "bad"),
        ({"driver": "absent", "state": "drained"}, "drained", "idle"),
        ({"driver": "ended", "exit_code": 0, "state": "ended"}, "ended", "idle"),
        ({"driver": "ended", "exit_code": 130, "silent_ms": 600_000}, "stopped", "idle"),
        ({"driver": "ended", "exit_code": -1, "times": (STARTED, NOW - 1)}, "stopped", "idle"),
        ({"driver": "ended", "exit_code": -1, "times": (1_000, STARTED)}, "running", "good"),
        ({"driver": "failed", "exit_code": 3, "times": (1_000, STARTED)}, "running", "good"),
        ({"driver": "ended", "state": "starting", "times": (1_000, STARTED)}, "starting", "idle"),
        ({"driver": "absent", "silent_ms": 600_000}, "stopped", "bad"),
        ({"driver": "absent", "rows": 3}, "running", "good"),
        ({"driver": "absent", "state": "failed"}, "stopped", "bad"),
        ({"driver": "ended", "exit_code": 130, "state": "interrupted"}, "stopped", "idle"),
        ({"state": "failed"}, "starting", "idle"),
        ({"state": "failed", "times": (STARTED, None)}, "restarting", "warn"),
        ({"state": "ended", "times": (STARTED, None)}, "ended", "idle"),
        ({"driver": None}, "running", "good"),
        ({"driver": None, "problem": "source: column x is missing"}, "broken", "bad"),
        ({"driver": None, "silent_ms": 60_000}, "unknown", "idle"),
        ({"driver": None, "state": "failed"}, "unknown", "idle"),
        ({"driver": None, "state": "drained"}, "drained", "idle"),
        ({"driver": None, "report": False}, "unknown", "idle"),
        ({"driver": None, "has_run": False, "report": False}, "not deployed", "idle"),
    ],
)
def test_a_stream_has_the_word_and_the_tone_of_the_worst_that_is_true(fields, word, tone):
    found = state(**fields)
    assert (found.word, found.tone) == (word, tone)


@pytest.mark.parametrize(
    ("fields", "word", "since_ms"),
    [
        ({"since_ms": NOW - 9_000}, "running", NOW - 9_000),
        ({"since_ms": NOW - 9_000, "is_idle": True}, "idle", NOW - 9_000),
        ({"since_ms": NOW + 9_000}, "running", NOW),
        ({}, "running", STARTED),
        ({"since_ms": NOW - 9_000, "problem": "gone", "is_awaiting": True}, "awaiting its source", NOW - 9_000),
        ({"since_ms": NOW - 9_000, "problem": "disk: full"}, "broken", NOW - 9_000),
        ({"silent_ms": 70_000}, "hung", NOW - 70_000),
        ({"busy_ms": 400_000, "busy_rows": 9}, "hung", NOW - 400_500),
        ({"is_draining": True, "drain_ms": NOW - 5_000}, "draining", NOW - 5_000),
        ({"report": False, "times": (NOW - 3_000, None)}, "starting", NOW - 3_000),
        ({"state": "starting"}, "starting", STARTED),
        ({"driver": "starting", "times": (STARTED, NOW - 2_000)}, "restarting", NOW - 2_000),
        ({"times": (NOW - 1_000, NOW - 3_000)}, "restarting", NOW - 3_000),
        ({"state": "starting", "times": (STARTED, STARTED - 1_000)}, "restarting", STARTED - 1_000),
        ({"times": (NOW - 9_000, None), "restarts_s": [1.0, NOW / 1000 - 8]}, "restarting", NOW - 8_000),
        ({"times": (NOW - 9_000, None), "restarts_s": [1.0]}, "restarting", NOW - 9_000),
        ({"times": (NOW - 9_000, None), "restarts_s": []}, "starting", NOW - 9_000),
        ({"driver": "failed", "times": (STARTED, NOW - 4_000)}, "given up", NOW - 4_000),
        ({"driver": "ended", "times": (STARTED, NOW - 4_000)}, "stopped", NOW - 4_000),
        ({"driver": "absent", "state": "drained", "silent_ms": 7_000}, "drained", NOW - 7_000),
        ({"driver": "absent", "report": False, "deploying_ms": NOW - 6_000}, "deploying", NOW - 6_000),
        ({"driver": "stopping"}, "stopping", None),
        ({"driver": "stopping", "is_draining": True, "drain_ms": NOW - 5_000}, "stopping", NOW - 5_000),
        ({"quarantined": 9, "since_ms": NOW - 9_000}, "broken", None),
    ],
)
def test_a_state_has_a_beginning_where_that_is_known(fields, word, since_ms):
    found = state(**fields)
    assert (found.word, found.since_ms) == (word, since_ms)


def test_the_report_of_a_dead_process_says_nothing_about_the_next_one():
    """Whatever it said: the next one boots."""
    for fields in ({}, {"problem": "disk: full"}, {"state": "waiting", "is_idle": True}, {"state": "failed"}):
        found = state(times=(NOW - 2_000, NOW - 3_000), silent_ms=3_100, **fields)
        assert (found.word, found.tone, found.since_ms) == ("restarting", "warn", NOW - 3_000), fields
    assert "disk: full" in state(times=(NOW - 2_000, NOW - 3_000), problem="disk: full").why


def test_a_driver_whose_clock_is_behind_its_hosts_is_not_starting_for_ever():
    assert state(times=(STARTED + 5_000, None), silent_ms=600_000 - 64_999).word == "starting"
    assert state(times=(STARTED + 5_000, None), silent_ms=500).word == "running"


def moments(first, last=NOW):
    return st.integers(first, max(first, last))


@st.composite
def observations(draw):
    """All that can be seen of a stream: any state of its driver on the host beside any report."""
    begin, flags = NOW - 86_400_000, st.booleans()
    times = [draw(st.none() | moments(begin // 1000).map(lambda s: s * 1000)) for _ in range(2)]
    states = st.sampled_from(["absent", *ALIVE, "ended", "failed"])
    hosted = st.builds(Driver, st.just("q"), states, st.none(), st.sampled_from([None, 0, 3]), st.just(""))
    driver = draw(st.none() | hosted.map(lambda each: replace(each, started_ms=times[0], stopped_ms=times[1])))
    started_ms = draw(moments(begin, NOW + 120_000))
    at_ms = draw(moments(started_ms, NOW + 120_000))
    report = st.builds(
        Status,
        st.sampled_from(["starting", "streaming", "waiting", "quiet", "held", *OVER]),
        st.just(7),
        st.just(started_ms),
        st.just(at_ms),
        st.just(1),
        since_ms=moments(started_ms, at_ms),
        is_idle=flags,
        is_awaiting=flags,
        problem=st.none() | st.just("disk: full"),
        busy_ms=st.none() | st.integers(0, at_ms - started_ms),
        rows=st.integers(0, 9),
        quarantined=st.integers(0, 9),
    )
    reported, is_begun = draw(st.none() | report), draw(flags)
    return Observation(
        driver,
        reported if is_begun else None,
        NOW,
        is_begun,
        is_begun and (reported is not None or draw(flags)),
        draw(st.none() | moments(begin)),
        draw(flags),
        draw(st.none() | moments(begin)),
        draw(st.none() | st.lists(moments(begin).map(lambda ms: ms / 1000), max_size=3).map(sorted)),
    )


@given(observations())
def test_each_observation_has_one_word_and_a_beginning_that_was(seen):
    found = state_of(seen)
    assert found.word in WORDS
    assert found.tone == "good" or found.why, "what is not well says why"
    if found.since_ms is not None:
        known = [seen.deploying_ms, seen.drain_ms, *[round(at * 1000) for at in seen.restarts_s or ()]]
        known += [] if seen.reported is None else [seen.reported.started_ms]
        known += [] if seen.driver is None else [seen.driver.started_ms, seen.driver.stopped_ms]
        assert min(ms for ms in [*known, NOW] if ms is not None) <= found.since_ms <= NOW


@given(observations())
def test_what_a_report_says_is_since_its_drivers_start(seen):
    found = state_of(seen)
    if found.word in ("running", "idle", "held", "awaiting its source", "hung") and found.since_ms is not None:
        assert min(seen.reported.started_ms, NOW) <= found.since_ms


@given(observations())
def test_only_what_reports_now_is_well(seen):
    """No word of a report outlives its driver, and a host that does not answer makes no stream red."""
    found = state_of(seen)
    if found.tone == "good":
        assert seen.reported.state not in OVER
        assert NOW - seen.reported.at_ms < 60_000
        if seen.driver is not None and seen.driver.state == "running" and seen.driver.started_ms is not None:
            assert max(seen.reported.started_ms, seen.reported.at_ms - 60_000) >= seen.driver.started_ms
    says_nothing = seen.reported is None or NOW - seen.reported.at_ms >= 60_000
    if seen.driver is None and says_nothing and found.why != "it has rejected every record: see Quarantine":
        assert found.tone in ("idle", "warn")
    if not seen.has_run and (seen.driver is None or seen.driver.state == "absent"):
        assert found.word in ("not deployed", "deploying")


@given(observations())
def test_a_state_does_not_change_by_looking_again(seen):
    """Neither its reason nor its beginning moves while nothing happens, so that the page stays as it is."""
    assert state_of(replace(seen, now_ms=NOW)) == state_of(seen)
    found, later = state_of(seen), state_of(replace(seen, now_ms=NOW + 1))
    if (found.word, found.tone) == (later.word, later.tone) and (found.since_ms or 0) < NOW:
        assert found.since_ms == later.since_ms


def test_what_a_warehouse_holds_of_a_stream_is_observed(tmp_path):
    layout = Layout(tmp_path / "readings")
    driver = Driver("readings", "running", 7, None, "")
    assert not Observation.read(layout, driver, None, None).is_begun
    layout.stream.mkdir(parents=True)
    seen = Observation.read(layout, driver, None, None)
    assert (seen.is_begun, seen.has_run, seen.is_draining) == (True, False, False), "a deployment made its directory"
    layout.status.write_text("")
    layout.request_drain()
    os.utime(layout.drain, (9, 9))
    layout.request_drain()
    seen = Observation.read(layout, driver, None, None)
    assert (seen.has_run, seen.is_draining, seen.drain_ms) == (True, True, 9_000), "since the first request"
    starts_file(layout.home).write_text('{"restarts": [5, NaN, Infinity]}')
    assert Observation.read(layout, driver, None, None).restarts_s == [5.0], "whoever wrote the file"
    drained = replace(driver, state="ended"), Status("drained", 7, 1, 2, 3)
    assert not Observation.read(layout, *drained, None).is_draining, "the request stays until the next deployment"


def test_a_problem_with_a_deadline_says_when_the_driver_ends():
    assert state(problem="source: gone", gives_up_ms=NOW).why.splitlines() == [
        "source: gone",
        "its driver ends at 2027-01-15T08:00:00.000Z unless that is over by then",
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
    found = state("absent", state="failed", problem="source: column x is missing")
    assert "of 2027-01-15T07:59:59.500Z, says that it failed; source: column x is missing" in found.why
    assert state("absent", state="interrupted").why.endswith("was interrupted")


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


@pytest.mark.parametrize(
    ("fields", "tone", "says"),
    [
        ({"drain_ms": NOW - 3_000, "rows": 5}, "idle", "it ends after its batch"),
        ({"drain_ms": NOW - 7_200_000, "problem": "disk: full"}, "bad", "disk: full"),
        ({"drain_ms": NOW - 3_000, "busy_ms": 7_200_000, "busy_rows": 9}, "bad", "does not end"),
        ({"drain_ms": NOW - 7_200_000, "rows": 5}, "warn", "it ends after its batch"),
        ({"drain_ms": NOW - 7_200_000, "report": False}, "bad", "has said nothing since"),
        ({"drain_ms": NOW - 7_200_000, "silent_ms": 7_300_000}, "bad", "has said nothing since"),
        # A driver that boots: the report is from yesterday's.
        (
            {"drain_ms": NOW - 3_000, "state": "drained", "silent_ms": 80_000_000, "times": (NOW - 8_000, None)},
            "idle",
            "it ends after its batch",
        ),
    ],
)
def test_a_drain_hides_no_problem_and_is_no_problem_itself(fields, tone, says):
    found = state(is_draining=True, **fields)
    assert (found.word, found.tone) == ("draining", tone)
    assert says in found.why
