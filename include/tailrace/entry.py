"""What every task is told of a batch, beside the segments that it reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Head:
    """The facts of a batch; they come after its segments, but for the settings.

    Attributes
    ----------
    settings : str
        The slack policy's, as declared when the batch was planned.
    passed_ms : int or None
        A heartbeat: the source has passed this arrival time, and what comes from it counts as later.
    closes : bool
        All that came is complete, and open windows close: the stream is quiet, or it ends.
    ends : bool
        Whether this is the last batch of a bounded run.
    """

    batch: int
    settings: str
    passed_ms: int | None = None
    closes: bool = False
    ends: bool = False

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def unpack(data: bytes) -> Head:
        return Head(**json.loads(data))
