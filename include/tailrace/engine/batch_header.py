"""What every task is told of a batch, beside the segments that it reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

DECLARED = "declared"

BATCH_ROWS = 4_000_000
"""At most so many rows make a batch, unless something else is said."""


@dataclass(frozen=True)
class BatchHeader:
    """The facts of a batch; they come after its segments, but for the settings.

    Attributes
    ----------
    settings : str
        The slack policy's, as they stood when the batch was planned.
    heartbeat_ms : int or None
        A heartbeat: the source has passed this arrival time, and what comes from it counts as later.
    closes : bool
        All that came is complete, and open windows close: the stream is quiet, or it ends.
    ends : bool
        Whether this is the last batch of a bounded run.
    sample : bool
        Whether a policy that is in force, or will be, needs a sample of the partials.
    evidence : str
        Where the settings are from: declared, or what a calibration has found.
    """

    batch: int
    settings: str
    heartbeat_ms: int | None = None
    closes: bool = False
    ends: bool = False
    sample: bool = False
    evidence: str = DECLARED

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def unpack(data: bytes) -> BatchHeader:
        return BatchHeader(**json.loads(data))
