"""Limits of time hold on a quiet machine alone; elsewhere tests wait long."""

from __future__ import annotations

import pytest

from time_limits import HANG_S, TIMED, limit_s


def test_a_limit_holds_where_the_machine_is_said_to_be_quiet(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(TIMED, raising=False)
    assert limit_s(60) == HANG_S
    monkeypatch.setenv(TIMED, "1")
    assert limit_s(60) == 60
