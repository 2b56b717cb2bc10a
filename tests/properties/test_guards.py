"""Mutation tests: without a guard of the tick rule an answer is wrong, so the tests of the guard can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.oracles.oracle import Settings, Tuple, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.harness import run
from tailrace.engine import next_facts
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground.facts import stamp

#   arrival   0 ─────── tick 0 ─────── 100 ─ tick 1 ─
#   event        250 │ 40                  300        one tick, cut in two batches at │
# F is 250 after tick 0: 40 is in time for [0, 100), and would be late only if the first batch completed the tick.
TUPLES = [
    Tuple(250, 10, "a", "k", 1.0),
    Tuple(40, 50, "b", "k", 2.0),
    Tuple(300, 110, "c", "k", 4.0),
]
SETTINGS = Settings(100, 100, 100, "sum", "none")


def passed(buffer: TickBuffer, tick: int) -> TickBuffer:
    """The buffer, when its stream is taken to stand in a tick."""
    return replace(buffer, streams=(replace(buffer.streams[0], newest=(tick, tick)),))


def test_a_tick_cut_in_two_batches_stays_one_tick():
    outcome = stream(TUPLES, SETTINGS)
    assert not outcome.late
    assert_streamed(run(TUPLES, SETTINGS, cuts=[1]), outcome)


def test_without_the_tick_rule_the_cut_changes_an_answer(monkeypatch):
    split = TickBuffer.split
    monkeypatch.setattr(TickBuffer, "split", lambda self: split(passed(self, self.streams[0].newest[0] + 1)))
    with pytest.raises(AssertionError):
        assert_streamed(run(TUPLES, SETTINGS, cuts=[1]), stream(TUPLES, SETTINGS))


def test_without_the_newest_tick_carried_over_backward_arrival_changes_an_answer(monkeypatch):
    tuples = [Tuple(250, 310, "a", "k", 1.0), Tuple(260, 110, "b", "k", 2.0), Tuple(40, 320, "c", "k", 4.0)]
    assert_streamed(run(tuples, SETTINGS, cuts=[1]), stream(tuples, SETTINGS))
    append = TickBuffer.append
    monkeypatch.setattr(TickBuffer, "append", lambda self, segments: append(passed(self, -1), segments))
    with pytest.raises(AssertionError):
        assert_streamed(run(tuples, SETTINGS, cuts=[1]), stream(tuples, SETTINGS))


def test_settings_that_hold_a_tick_too_early_change_an_answer(monkeypatch):
    """A fact that held from the newest tick, instead of the next one, would change a tick in progress."""
    changes = [(1, ("k_slack", 1000))]
    rows = run(TUPLES, SETTINGS, cuts=[1], batch_of=lambda segment: segment, changes=changes)
    (fact,) = [fact for fact in rows["facts"] if fact["version"] == 2]
    expected_settings = Settings(100, 100, 100, "sum", "none", ((fact["from_tick"], ("k_slack", 1000)),))
    assert fact["from_tick"] == 1
    assert_streamed(rows, stream(TUPLES, expected_settings))
    early = lambda facts, about, value, since, *more: stamp(facts, about, value, since - 1, *more)  # noqa: E731
    monkeypatch.setattr(next_facts, "stamp", early)
    early = run(TUPLES, SETTINGS, cuts=[1], batch_of=lambda segment: segment, changes=changes)
    with pytest.raises(AssertionError):
        assert_streamed(early, stream(TUPLES, expected_settings))
