"""Helpers for tests of queries: a clock, rows that come late or twice, and answers from a slow oracle.

>>> from tailrace import testing
>>> clock = testing.Clock("2024-05-01")
>>> rows = [{"at": clock.advance("1 s"), "id": number, "speed": 1.0} for number in range(20)]
>>> late = testing.late(rows, event_time="at", share=0.3, delay="10 s", seed=1)
>>> import tailrace
>>> readings = tailrace.Stream(late, event_time="at", arrival_time="arrival_time", id="id")
>>> total = {"total": {"function": "sum", "column": "speed"}}
>>> loads = tailrace.query("aggregate", streams={"readings": readings}, window="5 s", aggregate=total)
>>> run = testing.assert_right(loads)
>>> run.summary.late > 0
True
"""

from __future__ import annotations

from tailrace.testing.assertions import assert_answers_equal, assert_right
from tailrace.testing.clock import Clock
from tailrace.testing.disorder import late, repeated
from tailrace.testing.oracle import batch_answers

__all__ = ["Clock", "assert_answers_equal", "assert_right", "batch_answers", "late", "repeated"]
