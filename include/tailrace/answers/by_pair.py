"""Answers by pairs of a left and a right tuple."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.answers.identity import Identity
from tailrace.ground.matching import Rows

PAIR = Identity(("left_id", "right_id", "left_time", "right_time"), ("left_id", "right_id"))


@dataclass(frozen=True)
class ByPair:
    reach_ms: int

    @property
    def identity(self) -> Identity:
        return PAIR

    @property
    def horizon(self) -> str:
        return "left_time"

    def due(self, event_time: int) -> int:
        return event_time + 1

    def once(self, answers: Rows) -> Rows:
        return answers
