"""The options of a run: how large its batches are, how soon it looks for input again, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass

BATCH_ROWS = 4_000_000
"""Default upper bound on the rows of one batch."""

BATCH_ANSWERS = 1_000_000
"""Default of the number of partials or answers that a batch may come to: they go through the driver's memory."""


@dataclass(frozen=True)
class RunOptions:
    """The way in which a run is cut into batches.

    No answer depends on the first two, but where an idle stream wakes: it does so with the batch that has its rows.

    Attributes
    ----------
    batch_rows : int
        A batch takes segments up to so many rows, or a part of one; and no more than come to `batch_answers` partials
        or answers, by what the batch before came to, nor than twice as many as that one might.
    pace_ms : int
        A live run looks for more no earlier than so long after it planned a batch; later where batches take longer, see
        `stream/pace.py`.
    live : bool
        The source goes on; its silence is put down. Else the run is over when all that was there is read.
    flush : bool
        Whether a run that is over ends the stream, and closes what is open.
    batch_answers : int
        The number of partials, or answers, that a batch may come to; no answer depends on it.
    grace_s : float
        A batch that still runs so long after a drain request is taken to hang, in the foreground.
    """

    batch_rows: int = BATCH_ROWS
    pace_ms: int = 200
    live: bool = False
    flush: bool = True
    batch_answers: int = BATCH_ANSWERS
    grace_s: float = 60.0
