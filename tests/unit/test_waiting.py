"""A wait returns what came, and says in the end what came instead."""

from __future__ import annotations

import pytest

from kit.suite.waiting import WaitedInVain, until


def test_a_wait_returns_the_first_true_value():
    answers = iter([None, 0, [], "it", "more"])
    assert until(lambda: next(answers), every_s=0.0) == "it"


def test_what_is_there_is_returned_without_patience():
    assert until(lambda: 7, patience_s=0.0) == 7


def test_a_wait_in_vain_says_for_what_and_what_is_there_instead():
    with pytest.raises(WaitedInVain, match="waited 0 s in vain: a driver is back; instead: failed"):
        until(lambda: False, "a driver is back", seen=lambda: "failed", patience_s=0.0)
