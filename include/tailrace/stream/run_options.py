"""The options of a run: the size of its batches, its polling interval, and its end."""

from __future__ import annotations

from dataclasses import dataclass

BATCH_ROWS = 4_000_000
"""Default upper bound on the rows of one batch."""

BATCH_ANSWERS = 1_000_000
"""Default number of partials or answers of a batch, which pass through the driver's memory."""


@dataclass(frozen=True)
class RunOptions:
    """The way in which a run is cut into batches.

    No answer depends on the first two, except that an idle stream wakes with the batch that has its rows.

    Attributes
    ----------
    batch_rows : int
        A batch takes segments up to this number of rows, or a part of one. It also takes at most `batch_answers`
        partials or answers, estimated from the previous batch, and at most twice as many rows as the previous batch
        could.
    pace_ms : int
        The least time between a live run's plan of a batch and its next poll; longer if batches take longer, see
        `stream/pace.py`.
    live : bool
        Whether the source continues and its silence is recorded; otherwise the run ends when all existing records are
        read.
    flush : bool
        Whether the end of the run ends the stream, and closes open windows.
    batch_answers : int
        The most partials, or answers, of a batch; no answer depends on it.
    grace_s : float
        The time after a drain request after which a running batch counts as hanging, in the foreground.
    """

    batch_rows: int = BATCH_ROWS
    pace_ms: int = 200
    live: bool = False
    flush: bool = True
    batch_answers: int = BATCH_ANSWERS
    grace_s: float = 60.0
