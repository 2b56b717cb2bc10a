"""Answers by pairs of a left and a right tuple in each window that holds both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_window_pairs import IdentifiedWindowPairs, MissedWindowPairs
from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.by_window import DueAtWindowEnd
from tailrace.answers.identity import PAIR_IN_WINDOW, Identity
from tailrace.ground.columns import Ints
from tailrace.ground.matching import Rows
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class ByPairInWindow(DueAtWindowEnd, PairAnswers):
    """The answer model of kinds that answer each pair in each window that holds it, when the window closes."""

    windows: Sliding

    @property
    def identity(self) -> Identity:
        return PAIR_IN_WINDOW

    @property
    def order(self) -> tuple[str, ...]:
        return "window_end", "left_time", "right_time", "left_id", "right_id"

    def shortest_wait(self, answers: Rows, came: Ints, t_max: Ints) -> Ints:
        """Return the shortest K: a window holds a tuple if F = t_max − K before its tick is below the window's end."""
        return np.asarray(np.maximum(t_max.max(axis=0) - self.horizon(answers) + 1, 0))

    def missed_by(self, late: pa.Table) -> MissedWindowPairs:
        return MissedWindowPairs.from_late(late, self.windows)

    def identified(self, answers: Rows, times: Ints) -> IdentifiedWindowPairs:
        return IdentifiedWindowPairs(pa.table(answers.select(self.identity.determining)), times, self.windows)
