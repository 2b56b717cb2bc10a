"""The pace of a live run: when it looks for input again, by what its batches and its looks cost."""

from __future__ import annotations

from dataclasses import dataclass

_WHOLE = 1.5  # of a batch and the rest after it, in the batch's duration
_MOST_MS = 1000  # from one entry to the next look, where the batch takes no longer
_LOOKS = 4  # of a wait between two looks that find nothing, in a look's duration
_LOOK_MS, _MOST_LOOK_MS = 50, 200


@dataclass
class Pace:
    """When a live run plans its next batch, in ms after the plan of the one before.

    Batches follow each other as fast as they are done, less a rest of half a batch's duration, in which input comes
    together. The rest is short where batches are, so an answer is hardly later for it. It grows with what a batch costs
    to commit, up to two thirds of a second. A batch of a second or more has none.

    Why a rest, and a least pace, at all: every batch adds a commit to each Delta table and an entry to the journal,
    whatever it carries, and whoever opens a table reads what its log remembers. At 200 ms that is 18,000 commits an
    hour at most: opening a table takes some milliseconds more then, with 36,000 three times as long. And a source that
    drips shall not keep all cores busy with small batches.

    Without rows, a source is looked at as often as its looks are cheap: at most a fifth of the time goes into them, as
    long as one takes 50 ms or less.

    Attributes
    ----------
    least_ms : int
        The pace after a batch that took no time.
    """

    least_ms: int
    _pace_ms: int = 0
    _look_ms: int = 0

    def batch_took(self, ms: int) -> None:
        """Take note of the time from the newest batch's plan to its commit."""
        self._pace_ms = min(round(_WHOLE * ms), _MOST_MS)

    def look_took(self, ms: int) -> None:
        """Take note of the time for which the feeds were asked for new segments."""
        self._look_ms = ms

    def until_look_ms(self, since_ms: int) -> int:
        """Return the time until the next look, so long after the newest plan; 0 or less: it is due."""
        return max(self.least_ms, self._pace_ms) - since_ms

    def wait_ms(self, since_ms: int) -> int:
        """Return the time to wait after a call that has planned nothing; in between, nobody sees a drain request."""
        left = self.until_look_ms(since_ms)
        return min(left if left > 0 else max(_LOOKS * self._look_ms, _LOOK_MS), _MOST_LOOK_MS)
