"""Sets of windows that a correction recomputes.

They are given by a range of event time, or by identity, such as the windows that late tuples missed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.identity import WINDOW
from tailrace.answers.model import Content
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import Rows
from tailrace.ground.arrow.ranges import Ranges, merge_ranges
from tailrace.windows.windows import Windows


@dataclass(frozen=True)
class ClosedWindows:
    """Every answer of a window that closed (end ≤ frontier) and overlaps the event times [low, high)."""

    event_times: tuple[int, int]
    shape: Windows
    frontier: int

    def ranges(self) -> Ranges:
        low, high = self.event_times
        low, high = self.shape.start(self.shape.end_after(low)), int(self.shape.last_end(np.array([high - 1]))[0])
        high = min(high, self.frontier)
        some = slice(0, int(low < high))
        return np.array([low])[some], np.array([high])[some]

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        low, high = self.event_times
        end = np.asarray(answers.column("window_end"))
        return np.asarray((end > low) & (self.shape.start(end) < high) & (end <= self.frontier))

    def parts(self, content: Content) -> list[Content]:
        return [content]


@dataclass(frozen=True)
class MissedWindows:
    """Single windows: each `key` and `window_end` once."""

    windows: pa.Table
    shape: Windows

    @staticmethod
    def from_rows(rows: Rows, shape: Windows) -> MissedWindows:
        """Return the windows of these rows."""
        return MissedWindows(WINDOW.first_rows(rows.select(WINDOW.determining)), shape)

    def ranges(self) -> Ranges:
        end = np.unique(np.asarray(self.windows.column("window_end")))
        return merge_ranges(self.shape.start(end), end)

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        return np.asarray(WINDOW.find(answers, self.windows) >= 0)

    def parts(self, content: Content) -> list[Content]:
        return [content]


@dataclass(frozen=True)
class WindowsOfAllKeys:
    """Windows by their ends, each with the answers of all keys, as a newer lookup table may change a tuple's key."""

    end: Ints
    shape: Windows

    @staticmethod
    def from_rows(rows: Rows, shape: Windows) -> WindowsOfAllKeys:
        """Return the windows of these rows."""
        return WindowsOfAllKeys(np.unique(np.asarray(rows.column("window_end"))), shape)

    def ranges(self) -> Ranges:
        return merge_ranges(self.shape.start(self.end), self.end)

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        return np.isin(np.asarray(answers.column("window_end")), self.end)

    def parts(self, content: Content) -> list[Content]:
        return [content]
