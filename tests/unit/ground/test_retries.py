"""Exponential backoff between retries: growing pauses, and their reset after a success."""

from __future__ import annotations

from tailrace.ground.retries import LONGEST_S, Retries, pause_s


def test_pauses_grow_up_to_a_minute():
    assert [pause_s(failures) for failures in range(9)] == [0, 1, 2, 4, 8, 16, 32, LONGEST_S, LONGEST_S]
    assert pause_s(100_000) == LONGEST_S


def test_a_retry_is_due_when_its_pause_is_over():
    now = [50.0]
    retries = Retries(lambda: now[0])
    assert retries.due
    for pause in (1, 2, 4):
        retries.fail()
        now[0] += pause - 0.01
        assert not retries.due
        now[0] += 0.01
        assert retries.due
    assert retries.failures == 3
    retries.fail()
    retries.succeed()
    assert retries.due
    assert not retries.failures
