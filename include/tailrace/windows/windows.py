"""The protocol of windows over event time: `Sliding` windows have one length, `Calendar` windows have several."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Time = TypeVar("Time", int, NDArray[np.int64])


class Windows(Protocol):
    """Windows over event time, in integer milliseconds.

    Every tuple belongs to one pane, and every window consists of whole panes. Windows are identified by their ends,
    panes by their starts. Windows are numbered in the order of their ends; an unused number means the end of the window
    before it. Methods are elementwise.
    """

    @property
    def size_ms(self) -> int:
        """The length of a window; the mean length if lengths differ. It is a scale: no boundary is derived from it."""

    @property
    def slide_ms(self) -> int:
        """The time from one window's start to the next one's; a scale, like `size_ms`."""

    @property
    def pane_ms(self) -> int:
        """The length of a pane; if lengths differ, of a long one."""

    @property
    def pane_step_ms(self) -> int:
        """A length that divides the time between the starts of any two panes."""

    @property
    def end_step_ms(self) -> int:
        """A length that divides the time between the ends of any two windows."""

    @property
    def description(self) -> str:
        """The windows in words, for the explanation of a query."""

    def pane(self, event_ms: Ints) -> Ints:
        """Return the start of the pane that contains each event time."""

    def pane_end(self, pane: Ints) -> Ints:
        """Return the end of each pane."""

    @property
    def scale_step(self) -> int:
        """The length of every pane on the scale of `to_scale`, where pane i is [i·step, (i + 1)·step)."""

    def to_scale(self, event_ms: Ints) -> Ints:
        """Map event times to a scale on which all panes have the same length and order."""

    def from_scale(self, pane: Ints) -> Ints:
        """Return the starts of panes, given their starts on the scale."""

    def first_end(self, pane: Ints) -> Ints:
        """Return the end of the earliest window over each pane."""

    def last_end(self, pane: Ints) -> Ints:
        """Return the end of the latest window over each pane, or over each event time."""

    def start(self, end: Time) -> Time:
        """Return the starts of the windows with these ends."""

    def end_until(self, time: Time) -> Time:
        """Return the latest window end at or before `time`."""

    def end_after(self, time: Time) -> Time:
        """Return the earliest window end after `time`."""

    def number(self, end: Time) -> Time:
        """Return the numbers of the windows with these ends."""

    def end_of(self, number: Time) -> Time:
        """Return the ends of the windows with these numbers."""

    def block(self, time: Ints) -> Ints:
        """Return the number of the stretch that contains each time; stretches are as long as a window and adjoin."""

    def within(self, low: int, high: int) -> tuple[int, int]:
        """Return the first and the last event time whose windows all lie within [low, high]."""

    def ends(self, pane: Ints, after: Ints | int | None, until: Ints | int | None) -> tuple[Ints, Ints]:
        """Enumerate, for each pane, the windows over it that end in (after, until].

        Parameters
        ----------
        pane : ndarray, shape (n,)
        after, until : ndarray of shape (n,), int or None
            Exclusive lower and inclusive upper bound of the ends; None: unbounded.

        Returns
        -------
        row, end : ndarray, shape (m,)
            Pairs of an index into `pane` and the end of a window over it, ordered by row and then by end.
        """
