"""Sliding windows and their panes, in integer milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.duration import format_duration
from tailrace.windows.windows import Ints, Time


@dataclass(frozen=True)
class Sliding:
    """Sliding windows [offset + j·slide, offset + j·slide + size) for every integer j, with slide ≤ size.

    A pane is [offset + i·p, offset + (i+1)·p) with p = gcd(size, slide). The protocol `Windows` describes the methods.
    """

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    @property
    def pane_ms(self) -> int:
        return gcd(self.size_ms, self.slide_ms)

    @property
    def pane_step_ms(self) -> int:
        return self.pane_ms

    @property
    def end_step_ms(self) -> int:
        return self.slide_ms

    @property
    def description(self) -> str:
        moved = f", moved by {format_duration(self.offset_ms)}" if self.offset_ms else ""
        return f"panes of {format_duration(self.pane_ms)}, {self.size_ms // self.pane_ms} to a window{moved}"

    def pane(self, event_ms: Ints) -> Ints:
        return self.from_scale(self.to_scale(event_ms) // self.pane_ms * self.pane_ms)

    def pane_end(self, pane: Ints) -> Ints:
        return pane + self.pane_ms

    @property
    def scale_step(self) -> int:
        return self.pane_ms

    def to_scale(self, event_ms: Ints) -> Ints:
        return event_ms - self.offset_ms if self.offset_ms else event_ms

    def from_scale(self, pane: Ints) -> Ints:
        return pane + self.offset_ms if self.offset_ms else pane

    def first_end(self, pane: Ints) -> Ints:
        first = self._first_end_ms
        return -((first - self.pane_ms - pane) // self.slide_ms) * self.slide_ms + first

    def last_end(self, pane: Ints) -> Ints:
        return np.asarray(self.to_scale(pane) // self.slide_ms * self.slide_ms + self._first_end_ms)

    def share(self, one: Ints, other: Ints) -> NDArray[np.bool_]:
        """Test which pairs of event times share a window."""
        return np.asarray(np.maximum(one, other) < self.last_end(np.minimum(one, other)))

    def start(self, end: Time) -> Time:
        return end - self.size_ms

    def end_until(self, time: Time) -> Time:
        return self.end_of(self.number(time))

    def end_after(self, time: Time) -> Time:
        return self.end_of(self.number(time) + 1)

    def number(self, end: Time) -> Time:
        return (end - self._first_end_ms) // self.slide_ms

    def end_of(self, number: Time) -> Time:
        return number * self.slide_ms + self._first_end_ms

    def block(self, time: Ints) -> Ints:
        return self.to_scale(time) // self.size_ms

    def within(self, low: int, high: int) -> tuple[int, int]:
        first = self.end_after(low - 1 + self.size_ms)  # of the first window that starts at or after low
        return first - self.slide_ms, self.end_until(high) - self.size_ms + self.slide_ms - 1

    def ends(self, pane: Ints, after: Ints | int | None, until: Ints | int | None) -> tuple[Ints, Ints]:
        first, last, zero = self.first_end(pane), self.last_end(pane), self._first_end_ms
        if after is not None:
            first = np.maximum(first, ((after - zero) // self.slide_ms + 1) * self.slide_ms + zero)
        if until is not None:
            last = np.minimum(last, (until - zero) // self.slide_ms * self.slide_ms + zero)
        counts = np.maximum((last - first) // self.slide_ms + 1, 0)
        row = np.repeat(np.arange(len(pane)), counts)
        step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, first[row] + step * self.slide_ms

    @property
    def _first_end_ms(self) -> int:
        """The end of the window of number 0."""
        return self.size_ms + self.offset_ms
