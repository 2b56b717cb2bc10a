"""Calls in a thread of their own: their result or error, and one that hangs."""

from __future__ import annotations

from threading import Event

import pytest

from kit.suite.waiting import PATIENCE_S
from tailrace.ground.background import Background


def test_a_call_gives_its_result_or_its_error_once_it_has_ended():
    call = Background(lambda: 7, "seven")
    assert call.wait(PATIENCE_S)
    assert [call.result(), call.result()] == [7, 7]
    failed = Background(lambda: 1 // 0, "fails")
    assert failed.wait(PATIENCE_S)
    with pytest.raises(ZeroDivisionError):
        failed.result()


def test_an_error_that_no_handler_sees_is_passed_on():
    def interrupted() -> None:
        raise KeyboardInterrupt

    call = Background(interrupted, "interrupted")
    assert call.wait(PATIENCE_S)
    with pytest.raises(KeyboardInterrupt):
        call.result()


def test_a_call_that_hangs_is_not_waited_for():
    goes_on = Event()
    call = Background(lambda: goes_on.wait(PATIENCE_S), "hangs")
    assert not call.wait(0.01)
    goes_on.set()
    assert call.wait(PATIENCE_S)
    assert call.result() is True
