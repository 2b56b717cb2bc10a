"""The pace of a live run: when it polls for input again, by the cost of its batches and polls."""

from __future__ import annotations

from dataclasses import dataclass

_WHOLE = 1.5  # duration of a batch and the rest after it, in multiples of the batch's duration
_MOST_MS = 1000  # least time from one entry to the next poll
_LOOKS = 4  # the wait between two polls that find nothing, in multiples of a poll's duration
_LOOK_MS, _MOST_LOOK_MS = 50, 200


@dataclass
class Pace:
    """When a live run plans its next batch, in ms after the plan of the one before.

    After each batch the run rests for half of the batch's duration, and collects input. The rest after a short batch is
    short, so that it hardly delays answers. It grows with the duration of a batch, up to two thirds of a second. After
    a batch of a second or more there is none.

    A rest and a least pace are needed because every batch, however small, adds a commit to each Delta table and an
    entry to the journal, and opening a table reads its log. At 200 ms there are at most 18,000 commits an hour, which
    make opening a table some milliseconds slower; with 36,000 it is three times as slow. And a dripping source should
    not keep all cores busy with small batches.

    Without rows, the cost of a poll decides how often a source is polled: polls take at most a fifth of the time, as
    long as one takes 50 ms or less.

    Attributes
    ----------
    least_ms : int
        The pace after a batch of no duration.
    """

    least_ms: int
    _pace_ms: int = 0
    _look_ms: int = 0

    def batch_took(self, ms: int) -> None:
        """Record the time from the newest batch's plan to its commit."""
        self._pace_ms = min(round(_WHOLE * ms), _MOST_MS)

    def look_took(self, ms: int) -> None:
        """Record the duration of a poll of the feeds for new segments."""
        self._look_ms = ms

    def until_look_ms(self, since_ms: int) -> int:
        """Return the time until the next poll, given the time since the newest plan; 0 or less means that it is due."""
        return max(self.least_ms, self._pace_ms) - since_ms

    def wait_ms(self, since_ms: int) -> int:
        """Return the time to wait after a call that has planned nothing; drain requests are not seen during it."""
        left = self.until_look_ms(since_ms)
        return min(left if left > 0 else max(_LOOKS * self._look_ms, _LOOK_MS), _MOST_LOOK_MS)
