"""Take a guard out, and an answer is wrong: the tests that hold the guard can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from expect import assert_streamed
from harness import run
from oracle import Settings, Tuple, stream
from tailrace.engine import batch_header
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground.facts import stamp

#   arrival   0 ─────── tick 0 ─────── 100 ─ tick 1 ─
#   event        250 │ 40                  300        one tick, cut in two batches at │
# F goes to 250 at the end of tick 0: 40 is in time for [0, 100), and late only if the first batch closed the tick.
TUPLES = [
    Tuple(250, 10, "a", "k", 1.0),
    Tuple(40, 50, "b", "k", 2.0),
    Tuple(300, 110, "c", "k", 4.0),
]
SETTINGS = Settings(100, 100, 100, "sum", "none")


def test_the_tick_rule_holds_a_cut_tick_together():
    outcome = stream(TUPLES, SETTINGS)
    assert not outcome.late
    assert_streamed(run(TUPLES, SETTINGS, cuts=[1]), outcome)


def test_without_the_tick_rule_the_cut_tells(monkeypatch):
    split = TickBuffer.split
    monkeypatch.setattr(TickBuffer, "split", lambda self: split(replace(self, newest=(self.newest[0] + 1, 0))))
    with pytest.raises(AssertionError):
        assert_streamed(run(TUPLES, SETTINGS, cuts=[1]), stream(TUPLES, SETTINGS))


def test_without_the_carried_tick_arrival_that_goes_backwards_tells(monkeypatch):
    tuples = [Tuple(250, 310, "a", "k", 1.0), Tuple(260, 110, "b", "k", 2.0), Tuple(40, 320, "c", "k", 4.0)]
    assert_streamed(run(tuples, SETTINGS, cuts=[1]), stream(tuples, SETTINGS))
    follow = TickBuffer.append
    monkeypatch.setattr(TickBuffer, "append", lambda self, segments: follow(replace(self, newest=(-1, -1)), segments))
    with pytest.raises(AssertionError):
        assert_streamed(run(tuples, SETTINGS, cuts=[1]), stream(tuples, SETTINGS))


def test_settings_that_touch_what_was_seen_tell(monkeypatch):
    """A fact that held from the newest tick on, and not from the next one, would change a tick that is begun."""
    changes = [(1, ("k_slack", 1000))]
    rows = run(TUPLES, SETTINGS, cuts=[1], batch_of=lambda segment: segment, changes=changes)
    (fact,) = [fact for fact in rows["facts"] if fact["version"] == 2]
    held = Settings(100, 100, 100, "sum", "none", ((fact["from_tick"], ("k_slack", 1000)),))
    assert fact["from_tick"] == 1
    assert_streamed(rows, stream(TUPLES, held))
    early = lambda facts, about, value, since, *more: stamp(facts, about, value, since - 1, *more)  # noqa: E731
    monkeypatch.setattr(batch_header, "stamp", early)
    early = run(TUPLES, SETTINGS, cuts=[1], batch_of=lambda segment: segment, changes=changes)
    with pytest.raises(AssertionError):
        assert_streamed(early, stream(TUPLES, held))
