"""Answers by pairs of a left and a right tuple in each window that holds both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_window_pairs import IdentifiedWindowPairs, MissedWindowPairs
from tailrace.answers.affected_windows import ClosedWindows
from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.identity import PAIR_IN_WINDOW, Identity
from tailrace.ground.columns import Ints
from tailrace.ground.matching import Rows
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class ByPairInWindow(PairAnswers):
    """The answer model of kinds that answer each pair in each window that holds it, when the window closes."""

    windows: Sliding

    @property
    def identity(self) -> Identity:
        return PAIR_IN_WINDOW

    def horizon(self, answers: Rows) -> Ints:
        return np.asarray(answers.column("window_end"))

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        return ("window_end",)

    def expiry_frontier(self, event_times: Ints, side: int) -> Ints:
        return self.windows.last_end(event_times)

    def close_frontier(self, event_time: int) -> int:
        return int(self.windows.last_end(np.array([event_time]))[0])

    @property
    def order(self) -> tuple[str, ...]:
        return "window_end", "left_time", "right_time", "left_id", "right_id"

    def shortest_wait(self, answers: Rows, came: Ints, t_max: Ints) -> Ints:
        """Return the shortest K: a window holds a tuple if F = t_max − K before its tick is below the window's end."""
        return np.asarray(np.maximum(t_max.max(axis=0) - self.horizon(answers) + 1, 0))

    def missed_by(self, late: pa.Table) -> MissedWindowPairs:
        return MissedWindowPairs.from_late(late, self.windows)

    def closed(self, event_times: tuple[int, int], frontier: int) -> ClosedWindows:
        return ClosedWindows(event_times, self.windows, frontier)

    def identified(self, answers: Rows, times: Ints) -> IdentifiedWindowPairs:
        return IdentifiedWindowPairs(pa.table(answers.select(self.identity.determining)), times, self.windows)
