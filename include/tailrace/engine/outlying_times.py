"""Finds event times that lie implausibly far from the others, such as from a clock that was never set.

A time is implausible when it lies farther from the middle 90 % than ten times their span, and than 30 days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.duration import format_time
from tailrace.ground.words import counted

DAY_MS = 86_400_000
LEAST_MS = 30 * DAY_MS
"""An event time nearer than this to the middle 90 % is never implausible."""

_LEAST_TUPLES, _TAIL, _SPANS = 8, 20, 10


@dataclass(frozen=True)
class OutlyingTimes:
    """The implausible event times of a stream.

    Attributes
    ----------
    low, high : int
        The ends of the middle 90 % of the event times, in ms.
    old, new : int
        The number of times that lie implausibly far before the middle 90 %, and after it.
    oldest, newest : (int, str)
        The oldest and the newest event time, in ms, each with the place of its record.
    """

    stream: str
    low: int
    high: int
    old: int
    new: int
    oldest: tuple[int, str]
    newest: tuple[int, str]

    def lines(self) -> Iterator[str]:
        """Yield a line for the old and one for the new times, each with the setting that keeps them out."""
        middle = f"90% of them lie between {format_time(self.low)} and {format_time(self.high)}"
        if self.old:
            earliest = format_time(self.low - max(self.high - self.low, DAY_MS))[:10]
            bounds = f"bounds: {{earliest: {earliest}}} below streams.{self.stream} sends earlier times to quarantine"
            yield f"{_words(self.old, 'old', 'oldest', self.oldest)}; {middle}. {bounds}"
        if self.new:
            where = f"a condition where below streams.{self.stream} leaves such records out"
            yield f"{_words(self.new, 'new', 'newest', self.newest)}; {middle}. {where}"


def find_outlying(stream: str, tuples: pa.RecordBatch, place: Callable[[int], str]) -> OutlyingTimes | None:
    """Find the implausible event times of tuples with `event_time` (ms) and `position`; None where there are none.

    `place` returns the place of the record at a position.
    """
    event = np.asarray(tuples.column("event_time"))
    if (ends := _plausible(event)) is None:
        return None
    low, high, far = ends
    old, new = int(np.count_nonzero(event < low - far)), int(np.count_nonzero(event > high + far))
    if not old and not new:
        return None
    position = np.asarray(tuples.column("position"))
    oldest, newest = (
        (int(event[row]), place(int(position[row]))) for row in (int(event.argmin()), int(event.argmax()))
    )
    return OutlyingTimes(stream, low, high, old, new, oldest, newest)


def _plausible(event: Ints) -> tuple[int, int, int] | None:
    """Return the ends of the middle 90 %, and the greatest plausible distance from them; None if all are plausible."""
    n = len(event)
    if n < _LEAST_TUPLES or event.max() - event.min() <= LEAST_MS:
        return None
    tail = max(1, n // _TAIL)
    parted = np.partition(event, [tail, n - 1 - tail])
    low, high = int(parted[tail]), int(parted[n - 1 - tail])
    return low, high, max(_SPANS * (high - low), LEAST_MS)


def _words(number: int, age: str, extreme: str, example: tuple[int, str]) -> str:
    time, place = example
    if number == 1:
        return f"1 event time is implausibly {age}: {format_time(time)}, in {place}"
    return f"{counted(number, 'event time')} are implausibly {age}, the {extreme} {format_time(time)}, in {place}"
