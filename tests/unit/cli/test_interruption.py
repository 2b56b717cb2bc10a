"""A lost interruption is sent again, once, and no other error of a finalizer is."""

from __future__ import annotations

import signal
import sys
from types import SimpleNamespace

import pytest

from tailrace.cli import interruption
from tailrace.ground.interruptions import raise_if_interrupted

LOST = SimpleNamespace(exc_type=KeyboardInterrupt)


@pytest.fixture
def timers(monkeypatch):
    """The functions of the timers that are started, with their arguments; handlers and hook are restored afterwards."""
    started = []

    def timer(interval_s, function, arguments):
        return SimpleNamespace(start=lambda: started.append((function, arguments)))

    monkeypatch.setattr(interruption, "threading", SimpleNamespace(Timer=timer))
    monkeypatch.setattr(sys, "unraisablehook", started.append)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = [signal.getsignal(number) for number in numbers]
    yield started
    for number, handler in zip(numbers, previous, strict=True):
        signal.signal(number, handler)


def interrupt(number: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_lost_interruption_is_sent_again(timers):
    signals = interruption.interruptible()
    interrupt(signal.SIGTERM)
    sys.unraisablehook(LOST)
    [(send, arguments)] = timers
    with pytest.raises(KeyboardInterrupt):
        send(*arguments)
    assert signals == [signal.SIGTERM] * 2


def test_it_is_not_where_another_one_has_come_meanwhile(timers):
    signals = interruption.interruptible()
    interrupt(signal.SIGINT)
    sys.unraisablehook(LOST)
    interrupt(signal.SIGTERM)
    [(send, arguments)] = timers
    try:
        send(*arguments)
    except KeyboardInterrupt:
        pytest.fail("it would cut the clean-up short")
    assert signals == [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("exc_type", [ValueError, None])
def test_other_errors_of_finalizers_are_reported_as_ever(timers, exc_type):
    interruption.interruptible()
    interrupt(signal.SIGINT)
    swallowed = SimpleNamespace(exc_type=exc_type)
    sys.unraisablehook(swallowed)
    assert timers == [swallowed]


def test_the_interruptions_of_the_tests_above_have_ended_with_them():
    raise_if_interrupted()
