"""Which windows a correction gives their next version: those of a range of event time, or those late tuples missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tailrace.answers.by_window import missed_by_window
from tailrace.ground.duration import format_time
from tailrace.ground.ranges import Ranges, merge_ranges
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class CorrectionRange:
    """[start, end) in ms: of event time, or of arrival. None is unbounded."""

    start: int | None = None
    end: int | None = None
    arrival: bool = False

    def __str__(self) -> str:
        texts = ("…" if point is None else format_time(point) for point in (self.start, self.end))
        return f"{'arrival' if self.arrival else 'event time'} [{', '.join(texts)})"

    def covered(self, as_of: int) -> tuple[int | None, int | None]:
        """(a, b] of `arrived`, in ms: a run over it corrects every late row of these, whatever windows it missed.

        a is None where there is no bound, b where no such thing can be said: over a part of event time.
        """
        if self.arrival:
            return self.start, self.end
        return None, as_of if self.start is None and self.end is None else None

    @property
    def bounds(self) -> tuple[int, int]:
        return BEFORE_ALL if self.start is None else self.start, AFTER_ALL if self.end is None else self.end


class AffectedWindows(Protocol):
    """A set of windows."""

    def ranges(self) -> Ranges:
        """The event times of the tuples that can be in these windows; none where there is no window."""

    def contains(self, answers: pd.DataFrame) -> NDArray[np.bool_]:
        """Which of the rows, by `key`, `window_start` and `window_end`, are of these windows."""


@dataclass(frozen=True)
class ClosedWindows:
    """Every window that closed (end ≤ frontier) and overlaps a range of event time."""

    range: CorrectionRange
    sliding: Sliding
    frontier: int

    def ranges(self) -> Ranges:
        start, end = self.range.bounds
        low, high = start - self.sliding.size_ms, min(end + self.sliding.size_ms, self.frontier)
        some = slice(0, int(low < high))
        return np.array([low])[some], np.array([high])[some]

    def contains(self, answers: pd.DataFrame) -> NDArray[np.bool_]:
        start, end = self.range.bounds
        overlaps = (answers["window_end"] > start) & (answers["window_start"] < end)
        return np.asarray(overlaps & (answers["window_end"] <= self.frontier))


@dataclass(frozen=True)
class MissedWindows:
    """Windows one by one, as late tuples missed them: each `key` and `window_end` once."""

    windows: pd.DataFrame
    sliding: Sliding

    @staticmethod
    def of_late(late: pd.DataFrame, windows: Sliding) -> MissedWindows:
        """`late` as in the table: the windows that its rows missed."""
        return MissedWindows.of(missed_by_window(late[["key", "pane_start", "frontier"]], windows), windows)

    @staticmethod
    def of(rows: pd.DataFrame, windows: Sliding) -> MissedWindows:
        """The windows of these rows."""
        return MissedWindows(rows[["key", "window_end"]].drop_duplicates(ignore_index=True), windows)

    def ranges(self) -> Ranges:
        end = np.unique(self.windows["window_end"].to_numpy(np.int64))
        return merge_ranges(end - self.sliding.size_ms, end)

    def contains(self, answers: pd.DataFrame) -> NDArray[np.bool_]:
        if answers.empty or self.windows.empty:
            return np.zeros(len(answers), bool)
        found = answers[["key", "window_end"]].merge(self.windows, how="left", on=["key", "window_end"], indicator=True)
        return np.asarray(found["_merge"] == "both")
