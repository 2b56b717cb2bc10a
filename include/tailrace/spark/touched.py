"""Which windows a correction gives their next version: those of a range of event time, or of an arrival interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tailrace.duration import format_time
from tailrace.windows.sliding import Sliding

_FAR = 1 << 60


@dataclass(frozen=True)
class Span:
    """[start, end) in ms: of event time, or of arrival. None is unbounded."""

    start: int | None = None
    end: int | None = None
    arrival: bool = False

    def __str__(self) -> str:
        texts = ("…" if point is None else format_time(point) for point in (self.start, self.end))
        return f"{'arrival' if self.arrival else 'event time'} [{', '.join(texts)})"

    @property
    def bounds(self) -> tuple[int, int]:
        return -_FAR if self.start is None else self.start, _FAR if self.end is None else self.end


class Touched(Protocol):
    """A set of windows."""

    def events(self) -> tuple[int, int] | None:
        """The tuples in these windows have event times in [low, high); None: there is no window."""

    def among(self, answers: pd.DataFrame) -> NDArray[np.bool_]:
        """Which of the answers, by `key`, `window_start` and `window_end`, are of these windows."""


@dataclass(frozen=True)
class Closed:
    """Every window that closed (end ≤ frontier) and overlaps a range of event time."""

    span: Span
    windows: Sliding
    frontier: int

    def events(self) -> tuple[int, int] | None:
        start, end = self.span.bounds
        return start - self.windows.size_ms, min(end + self.windows.size_ms, self.frontier)

    def among(self, answers: pd.DataFrame) -> NDArray[np.bool_]:
        start, end = self.span.bounds
        overlaps = (answers["window_end"] > start) & (answers["window_start"] < end)
        return np.asarray(overlaps & (answers["window_end"] <= self.frontier))


@dataclass(frozen=True)
class Missed:
    """The windows that late tuples missed."""

    pairs: pd.DataFrame
    windows: Sliding

    @staticmethod
    def by(late: pd.DataFrame, windows: Sliding) -> Missed:
        """`late` as in the table: of each row the windows over its pane that end at or before `frontier`."""
        row, end = windows.ends(late["pane_start"].to_numpy(), None, late["frontier"].to_numpy())
        pairs = pd.DataFrame({"key": late["key"].to_numpy()[row], "window_end": end})
        return Missed(pairs.drop_duplicates(), windows)

    def events(self) -> tuple[int, int] | None:
        if self.pairs.empty:
            return None
        ends = self.pairs["window_end"]
        return int(ends.min()) - self.windows.size_ms, int(ends.max())

    def among(self, answers: pd.DataFrame) -> NDArray[np.bool_]:
        if answers.empty or self.pairs.empty:
            return np.zeros(len(answers), bool)
        found = answers[["key", "window_end"]].merge(self.pairs, how="left", on=["key", "window_end"], indicator=True)
        return np.asarray(found["_merge"] == "both")
